//! What an agent has in memory at most: while many narrow rows move, and while few very wide ones do.

use super::figures::{Figure, Goal, Report};
use super::ground::Ground;
use super::place::Place;
use super::resident::resident;
use super::{Options, ours};
use anyhow::Context;

/// Rows of 64 MiB.
const WIDE: &str = "create table wide (tenant_id bigint primary key, value text not null);
alter table wide alter value set storage external;
insert into wide select n, repeat(md5(n::text), 2097152) from generate_series(1, 8) n;
analyze;";

const NARROW: &str = "create table narrow (tenant_id bigint primary key, value integer not null);
insert into narrow select n, n % 1000 from generate_series(1, :rows) n;
vacuum analyze;";

/// Moves both tables, each with agents of its own.
pub(crate) fn measure(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    let kinds = [("narrow", NARROW), ("wide", WIDE)];
    for (table, script) in kinds {
        let (copied, most) = one(options, (table, script))?;
        report
            .samples
            .add(&format!("memory.{table}_copied_mib"), copied);
        report.samples.add(&format!("memory.{table}_mib"), most);
    }
    for (key, about) in [
        (
            "memory.narrow_copied_mib",
            "the most that an agent had in memory up to the approval, narrow rows",
        ),
        ("memory.narrow_mib", "the same with changes and the cutover"),
        (
            "memory.wide_copied_mib",
            "the most that an agent had in memory up to the approval, values of 64 MiB",
        ),
        ("memory.wide_mib", "the same with changes and the cutover"),
    ] {
        report.figures.push(Figure {
            key,
            value: report.samples.median(key),
            goal: Goal::AtMost(128.0),
            about,
            parts: &[],
        });
    }
    Ok(())
}

/// MiB that the agent that moved the table had at most: when it was copied and compared, and in the end.
fn one(options: &Options, (table, script): (&str, &str)) -> anyhow::Result<(f64, f64)> {
    let ground = Ground::start(&options.programs)?;
    let source = Place::new(&ground.source, "memory_a")?;
    let target = Place::new(&ground.target, "memory_b")?;
    source.remake()?;
    target.remake()?;
    eprintln!("making table {table}");
    source.script(script, &[("rows", options.narrow_rows())])?;
    ours::register_as(&ground, table, [("a", &source), ("b", &target)], &[table])?;
    let request = format!("operation: move\nmap: {table}\nmoves: [{{source: a, target: b}}]\n");
    let id = ground.submit(&request)?;
    ground.wait(&id, "waiting")?;
    let copied = most(&ground)?;
    // The stream goes on: one transaction changes every tenth row, or every wide one.
    let change = match table {
        "wide" => "update wide set value = 'x' || value",
        _ => "update narrow set value = value + 1 where tenant_id % 10 = 0",
    };
    source.run(&[change])?;
    ground.shardwright(&["approve", &id, "--yes"])?;
    ground.wait(&id, "flipped")?;
    Ok((copied, most(&ground)?))
}

fn most(ground: &Ground) -> anyhow::Result<f64> {
    let agents = ground.agents().into_iter().map(resident);
    let agents: Vec<f64> = agents
        .map(|agent| agent.map(|agent| agent.most))
        .collect::<anyhow::Result<_>>()?;
    agents.into_iter().reduce(f64::max).context("no agent")
}
