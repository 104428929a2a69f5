//! Measures the maximum memory of an agent for three kinds of tables: many narrow rows, rows of one kibibyte, and a few
//! very wide rows.

use super::database::Database;
use super::figures::{Figure, Goal, Report};
use super::resident::resident;
use super::setup::BenchmarkSetup;
use super::{Options, shardwright};
use anyhow::Context;

/// A table that moves, and a statement that changes its rows after the copy, so that the stream must apply them.
struct TableKind {
    table: &'static str,
    script: &'static str,
    change: &'static str,
    /// The key of the maximum memory up to the approval.
    copied_key: &'static str,
    /// The key of the maximum memory up to the end.
    max_key: &'static str,
    about: &'static str,
}

const KINDS: [TableKind; 3] = [
    TableKind {
        table: "narrow",
        script: "create table narrow (tenant_id bigint primary key, value integer not null);
insert into narrow select n, n % 1000 from generate_series(1, :rows) n;
vacuum analyze;",
        change: "update narrow set value = value + 1 where tenant_id % 10 = 0",
        copied_key: "memory.narrow_copied_mib",
        max_key: "memory.narrow_mib",
        about: "maximum memory of an agent up to the approval, narrow rows",
    },
    TableKind {
        table: "kibibyte",
        script: "create table kibibyte (tenant_id bigint primary key, value text not null);
insert into kibibyte select n, repeat(md5(n::text), 32) from generate_series(1, :rows / 30) n;
vacuum analyze;",
        change: "update kibibyte set value = reverse(value)",
        copied_key: "memory.kibibyte_copied_mib",
        max_key: "memory.kibibyte_mib",
        about: "the same, rows of one kibibyte",
    },
    TableKind {
        table: "wide",
        script: "create table wide (tenant_id bigint primary key, value text not null);
alter table wide alter value set storage external;
insert into wide select n, repeat(md5(n::text), 2097152) from generate_series(1, 8) n;
analyze;",
        change: "update wide set value = 'x' || value",
        copied_key: "memory.wide_copied_mib",
        max_key: "memory.wide_mib",
        about: "the same, values of 64 MiB",
    },
];

/// Moves each table with new agents, and adds the figures to the report.
pub(crate) fn measure(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    for kind in &KINDS {
        let (copied, max) = move_table(options, kind)?;
        for (key, value, about) in [
            (kind.copied_key, copied, kind.about),
            (
                kind.max_key,
                max,
                "the same, up to the end of the cutover, with changes",
            ),
        ] {
            report.samples.add(key, value);
            report.figures.push(Figure {
                key,
                value: Some(value),
                goal: Goal::AtMost(128.0),
                about,
                parts: &[],
            });
        }
    }
    Ok(())
}

/// Moves one table. Returns the maximum memory of an agent in MiB, up to the approval and up to the end.
fn move_table(options: &Options, kind: &TableKind) -> anyhow::Result<(f64, f64)> {
    let table = kind.table;
    let setup = BenchmarkSetup::start(&options.programs)?;
    let source = Database::new(&setup.source, "memory_a")?;
    let target = Database::new(&setup.target, "memory_b")?;
    source.recreate()?;
    target.recreate()?;
    eprintln!("creating table {table}");
    source.script(kind.script, &[("rows", options.narrow_rows())])?;
    shardwright::register_as(&setup, table, [("a", &source), ("b", &target)], &[table])?;
    let request = format!("operation: move\nmap: {table}\nmoves: [{{source: a, target: b}}]\n");
    let id = setup.submit(&request)?;
    setup.wait(&id, "waiting")?;
    let copied = max_agent_memory(&setup)?;
    source.run(&[kind.change])?;
    setup.shardwright(&["approve", &id, "--yes"])?;
    setup.wait(&id, "flipped")?;
    Ok((copied, max_agent_memory(&setup)?))
}

/// Returns the largest of the agents' maximum memory, in MiB.
fn max_agent_memory(setup: &BenchmarkSetup) -> anyhow::Result<f64> {
    let agents = setup.agents().into_iter().map(resident);
    let agents: Vec<f64> = agents
        .map(|agent| agent.map(|agent| agent.max))
        .collect::<anyhow::Result<_>>()?;
    agents.into_iter().reduce(f64::max).context("no agent runs")
}
