//! Measures the maximum memory of an agent for three kinds of tables: many narrow rows, rows of one kibibyte, and a few
//! very wide rows.

use super::figures::{Figure, Goal, Report};
use super::ground::Ground;
use super::place::Place;
use super::resident::resident;
use super::{Options, ours};
use anyhow::Context;

/// A table that moves, and a statement that changes its rows after the copy, so that the stream must apply them.
struct Kind {
    table: &'static str,
    script: &'static str,
    change: &'static str,
    /// The key of the maximum memory up to the approval.
    copied: &'static str,
    /// The key of the maximum memory up to the end.
    most: &'static str,
    about: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind {
        table: "narrow",
        script: "create table narrow (tenant_id bigint primary key, value integer not null);
insert into narrow select n, n % 1000 from generate_series(1, :rows) n;
vacuum analyze;",
        change: "update narrow set value = value + 1 where tenant_id % 10 = 0",
        copied: "memory.narrow_copied_mib",
        most: "memory.narrow_mib",
        about: "the most that an agent had in memory up to the approval, narrow rows",
    },
    Kind {
        table: "kibibyte",
        script: "create table kibibyte (tenant_id bigint primary key, value text not null);
insert into kibibyte select n, repeat(md5(n::text), 32) from generate_series(1, :rows / 30) n;
vacuum analyze;",
        change: "update kibibyte set value = reverse(value)",
        copied: "memory.kibibyte_copied_mib",
        most: "memory.kibibyte_mib",
        about: "the same, rows of a kibibyte",
    },
    Kind {
        table: "wide",
        script: "create table wide (tenant_id bigint primary key, value text not null);
alter table wide alter value set storage external;
insert into wide select n, repeat(md5(n::text), 2097152) from generate_series(1, 8) n;
analyze;",
        change: "update wide set value = 'x' || value",
        copied: "memory.wide_copied_mib",
        most: "memory.wide_mib",
        about: "the same, values of 64 MiB",
    },
];

/// Moves each table with new agents, and adds the figures to the report.
pub(crate) fn measure(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    for kind in &KINDS {
        let (copied, most) = one(options, kind)?;
        for (key, value, about) in [
            (kind.copied, copied, kind.about),
            (kind.most, most, "the same with changes and the cutover"),
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
fn one(options: &Options, kind: &Kind) -> anyhow::Result<(f64, f64)> {
    let table = kind.table;
    let ground = Ground::start(&options.programs)?;
    let source = Place::new(&ground.source, "memory_a")?;
    let target = Place::new(&ground.target, "memory_b")?;
    source.remake()?;
    target.remake()?;
    eprintln!("making table {table}");
    source.script(kind.script, &[("rows", options.narrow_rows())])?;
    ours::register_as(&ground, table, [("a", &source), ("b", &target)], &[table])?;
    let request = format!("operation: move\nmap: {table}\nmoves: [{{source: a, target: b}}]\n");
    let id = ground.submit(&request)?;
    ground.wait(&id, "waiting")?;
    let copied = most(&ground)?;
    source.run(&[kind.change])?;
    ground.shardwright(&["approve", &id, "--yes"])?;
    ground.wait(&id, "flipped")?;
    Ok((copied, most(&ground)?))
}

/// Returns the largest of the agents' maximum memory, in MiB.
fn most(ground: &Ground) -> anyhow::Result<f64> {
    let agents = ground.agents().into_iter().map(resident);
    let agents: Vec<f64> = agents
        .map(|agent| agent.map(|agent| agent.most))
        .collect::<anyhow::Result<_>>()?;
    agents.into_iter().reduce(f64::max).context("no agent")
}
