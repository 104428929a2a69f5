//! Measures what a second agent gains: two independent moves run one after the other, and then concurrently.
//!
//! Each of the two servers holds the source of one move and the target of the other.

use super::database::Database;
use super::figures::{Figure, Goal, Report, Samples};
use super::setup::BenchmarkSetup;
use super::shardwright;
use anyhow::{Context, ensure};
use std::path::Path;
use std::time::Instant;

/// The names of the maps. Each map has its own two shards.
const MAPS: [&str; 2] = ["left", "right"];
/// The maximum number of tries until each agent has one of the moves.
const MAX_TRIES: u32 = 8;

/// Measures `rounds` rounds with `items` rows in the largest table, and adds their samples and figures to the report.
pub(crate) fn measure(
    programs: &Path,
    (items, rounds): (u64, u32),
    report: &mut Report,
) -> anyhow::Result<()> {
    let setup = BenchmarkSetup::start(programs)?;
    for (map, [source, target]) in MAPS.into_iter().zip(shards_of_moves(&setup)?) {
        source.recreate()?;
        target.recreate()?;
        source.script(include_str!("data.sql"), &[("items", items)])?;
        let names = ["a", "b"].map(|end| format!("{map}-{end}"));
        let shards = [(names[0].as_str(), &source), (names[1].as_str(), &target)];
        shardwright::register_as(&setup, map, shards, &super::raw::TABLES)?;
    }
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}: two moves");
        one_after_the_other(&setup, &mut report.samples)?;
        concurrently(&setup, &mut report.samples)?;
    }
    let figure = Figure {
        key: "agents_speedup",
        value: report.samples.ratio("agents.in_turn", "agents.together"),
        goal: Goal::AtLeast(1.0),
        about: "time of two moves: one after the other / concurrently on two agents",
        parts: &["agents.together"],
    };
    report.figures.push(figure);
    Ok(())
}

/// Returns the source and the target of each move.
fn shards_of_moves(setup: &BenchmarkSetup) -> anyhow::Result<[[Database; 2]; 2]> {
    let (first, second) = (&setup.source, &setup.target);
    Ok([
        [
            Database::new(first, "left_a")?,
            Database::new(second, "left_b")?,
        ],
        [
            Database::new(second, "right_a")?,
            Database::new(first, "right_b")?,
        ],
    ])
}

fn request(map: &str) -> String {
    format!("operation: move\nmap: {map}\nmoves: [{{source: {map}-a, target: {map}-b}}]\n")
}

/// Runs the two moves one after the other, and aborts each when it waits for its approval.
fn one_after_the_other(setup: &BenchmarkSetup, samples: &mut Samples) -> anyhow::Result<()> {
    let mut sum = 0.0;
    for map in MAPS {
        let began = Instant::now();
        let id = setup.submit(&request(map))?;
        setup.wait(&id, "waiting")?;
        sum += began.elapsed().as_secs_f64();
        shardwright::abort(setup, &id)?;
    }
    samples.add("agents.in_turn", sum);
    Ok(())
}

/// Runs both moves concurrently. Repeats this until each agent has one of the moves, because an agent can claim both.
fn concurrently(setup: &BenchmarkSetup, samples: &mut Samples) -> anyhow::Result<()> {
    for _ in 0..MAX_TRIES {
        let from = samples.cpu.take_sample();
        let began = Instant::now();
        let ids = [
            setup.submit(&request(MAPS[0]))?,
            setup.submit(&request(MAPS[1]))?,
        ];
        let mut agents = Vec::new();
        for id in &ids {
            let shown = setup.wait(id, "waiting")?;
            agents.push(
                shown["owner"]["agent"]
                    .as_str()
                    .context("the migration has no owner")?
                    .to_owned(),
            );
        }
        let seconds = began.elapsed().as_secs_f64();
        let to = samples.cpu.take_sample();
        for id in &ids {
            shardwright::abort(setup, id)?;
        }
        if agents[0] != agents[1] {
            samples.add("agents.together", seconds);
            samples.add_profile("agents.together", (from, to));
            return Ok(());
        }
        samples.add("agents.together_on_one", seconds);
    }
    ensure!(false, "one agent claimed both moves {MAX_TRIES} times");
    Ok(())
}
