//! Measures what a second agent gains: two independent moves run one after the other, and then concurrently.
//!
//! Each of the two servers holds the source of one move and the target of the other.

use super::figures::{Figure, Goal, Report, Samples};
use super::ground::Ground;
use super::ours;
use super::place::Place;
use anyhow::{Context, ensure};
use std::path::Path;
use std::time::Instant;

/// The names of the maps. Each map has its own two shards.
const MAPS: [&str; 2] = ["left", "right"];
/// The maximum number of tries until each agent has one of the moves.
const TRIES: u32 = 8;

/// Measures `rounds` rounds with `items` rows in the largest table, and adds their samples and figures to the report.
pub(crate) fn measure(
    programs: &Path,
    (items, rounds): (u64, u32),
    report: &mut Report,
) -> anyhow::Result<()> {
    let ground = Ground::start(programs)?;
    for (map, [source, target]) in MAPS.into_iter().zip(places(&ground)?) {
        source.remake()?;
        target.remake()?;
        source.script(include_str!("data.sql"), &[("items", items)])?;
        let names = ["a", "b"].map(|end| format!("{map}-{end}"));
        let shards = [(names[0].as_str(), &source), (names[1].as_str(), &target)];
        ours::register_as(&ground, map, shards, &super::raw::TABLES)?;
    }
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}: two moves");
        one_after_the_other(&ground, &mut report.samples)?;
        side_by_side(&ground, &mut report.samples)?;
    }
    let figure = Figure {
        key: "agents_speedup",
        value: report.samples.ratio("agents.in_turn", "agents.together"),
        goal: Goal::AtLeast(1.0),
        about: "time of two moves one after the other / side by side on two agents",
        parts: &["agents.together"],
    };
    report.figures.push(figure);
    Ok(())
}

/// Returns the source and the target of each move.
fn places(ground: &Ground) -> anyhow::Result<[[Place; 2]; 2]> {
    let (one, other) = (&ground.source, &ground.target);
    Ok([
        [Place::new(one, "left_a")?, Place::new(other, "left_b")?],
        [Place::new(other, "right_a")?, Place::new(one, "right_b")?],
    ])
}

fn request(map: &str) -> String {
    format!("operation: move\nmap: {map}\nmoves: [{{source: {map}-a, target: {map}-b}}]\n")
}

/// Runs the two moves one after the other, and aborts each when it waits for its approval.
fn one_after_the_other(ground: &Ground, samples: &mut Samples) -> anyhow::Result<()> {
    let mut all = 0.0;
    for map in MAPS {
        let began = Instant::now();
        let id = ground.submit(&request(map))?;
        ground.wait(&id, "waiting")?;
        all += began.elapsed().as_secs_f64();
        ours::take_back(ground, &id)?;
    }
    samples.add("agents.in_turn", all);
    Ok(())
}

/// Runs both moves concurrently. Repeats this until each agent has one of the moves, because an agent can claim both.
fn side_by_side(ground: &Ground, samples: &mut Samples) -> anyhow::Result<()> {
    for _ in 0..TRIES {
        let from = samples.watch.take_sample();
        let began = Instant::now();
        let ids = [
            ground.submit(&request(MAPS[0]))?,
            ground.submit(&request(MAPS[1]))?,
        ];
        let mut agents = Vec::new();
        for id in &ids {
            let shown = ground.wait(id, "waiting")?;
            agents.push(
                shown["owner"]["agent"]
                    .as_str()
                    .context("no agent")?
                    .to_owned(),
            );
        }
        let took = began.elapsed().as_secs_f64();
        let to = samples.watch.take_sample();
        for id in &ids {
            ours::take_back(ground, id)?;
        }
        if agents[0] != agents[1] {
            samples.add("agents.together", took);
            samples.profile("agents.together", (from, to));
            return Ok(());
        }
        samples.add("agents.together_on_one", took);
    }
    ensure!(false, "one agent took both moves {TRIES} times");
    Ok(())
}
