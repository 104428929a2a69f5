//! Compares the two ways in which the target of a split gets its rows: by a copy, and as a promoted standby of the
//! source. For three sizes of the source it measures the time from the submission until the migration waits for the
//! approval of its cutover: rows, indexes, changes and verification are complete then.
//!
//! A standby is created by `pg_basebackup` for each round. Its time is reported separately and added.

use super::database::Database;
use super::figures::{Figure, Goal, Report, Samples};
use super::setup::{BenchmarkSetup, settings};
use super::{Options, shardwright};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The sizes: names of the samples, and the number of items in eighths of the other parts' number.
const SIZES: [(Names, u64); 3] = [
    (
        Names {
            copied: "seeding.copied_small",
            seeded: "seeding.seeded_small",
            backed_up: "seeding.with_backup_small",
        },
        1,
    ),
    (
        Names {
            copied: "seeding.copied_medium",
            seeded: "seeding.seeded_medium",
            backed_up: "seeding.with_backup_medium",
        },
        6,
    ),
    (
        Names {
            copied: "seeding.copied_large",
            seeded: "seeding.seeded_large",
            backed_up: "seeding.with_backup_large",
        },
        24,
    ),
];

/// The names of the samples of one size.
#[derive(Debug, Clone, Copy)]
struct Names {
    copied: &'static str,
    seeded: &'static str,
    /// The seeded split, with the time of the base backup.
    backed_up: &'static str,
}

/// PostgreSQL's default. A server that has just started uses its buffers for the first time, and a virtual machine gets
/// this memory slowly. With large buffers this part would measure the machine.
const SMALL_BUFFERS: &str = "alter system set shared_buffers = '128MB'";
/// Each number of items is a multiple of this (`data.sql`).
const ITEMS_STEP: u64 = 20_000;
/// The shard that is a standby.
const STANDBY: &str = "seeded";
/// The longest wait until the standby streams.
const STREAM_LIMIT: Duration = Duration::from_secs(60);
const STREAMS: &str = "select count(*) from pg_stat_wal_receiver where status = 'streaming'";

/// Measures `options.rounds()` rounds at each size, and adds the samples and figures to the report.
pub(crate) fn measure(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    let setup = BenchmarkSetup::start_with_one(&options.programs)?;
    for server in [&setup.source, &setup.target] {
        Database::new(server, "postgres")?.run(&[SMALL_BUFFERS])?;
        server.restart()?;
    }
    let source = Database::new(&setup.source, "bench")?;
    let target = Database::new(&setup.target, "ours")?;
    source.recreate()?;
    target.recreate()?;
    source.script(include_str!("data.sql"), &[("items", ITEMS_STEP)])?;
    shardwright::register(&setup, &source, &target)?;
    for (names, eighths) in SIZES {
        let items = whole_tenants(options.items() / 8 * eighths);
        eprintln!("a split of {items} items, copied and seeded");
        fill(&source, items)?;
        for _ in 0..options.rounds() {
            copied(&setup, names, &mut report.samples)?;
            seeded(&setup, &source, names, &mut report.samples)?;
        }
    }
    add_figures(report);
    Ok(())
}

/// Rounds down to a number of items with which every reference stays within its tenant.
fn whole_tenants(items: u64) -> u64 {
    items.max(ITEMS_STEP) / ITEMS_STEP * ITEMS_STEP
}

/// Replaces the rows of the source, which keeps its database and its id.
fn fill(source: &Database, items: u64) -> anyhow::Result<()> {
    source.run(&["drop schema public cascade", "create schema public"])?;
    source.script(include_str!("data.sql"), &[("items", items)])?;
    source.run(&["checkpoint"]).map(|_| ())
}

/// Submits a split and waits until it can be approved. Returns its id.
fn until_ready(setup: &BenchmarkSetup, request: &str) -> anyhow::Result<String> {
    let id = setup.submit(request)?;
    shardwright::print_steps(&setup.wait(&id, "waiting")?);
    Ok(id)
}

fn copied(setup: &BenchmarkSetup, names: Names, samples: &mut Samples) -> anyhow::Result<()> {
    // A standby is a server that has just started.
    setup.target.restart()?;
    let request = shardwright::half_request();
    let id = samples.time(names.copied, || until_ready(setup, &request))?;
    shardwright::abort(setup, &id)
}

fn seeded(
    setup: &BenchmarkSetup,
    source: &Database,
    names: Names,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let standby = setup.source.standby(STANDBY, settings(STANDBY))?;
    standby.start()?;
    let standby = Arc::new(standby);
    let target = Database::new(&standby, &source.name)?;
    while target.number(STREAMS)? < 1.0 {
        anyhow::ensure!(
            began.elapsed() < STREAM_LIMIT,
            "the standby does not stream"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let backup = began.elapsed().as_secs_f64();
    setup.shardwright(&["shard", "add", STANDBY, "--dsn", &target.dsn()])?;
    let request = shardwright::half_request().replace("shard: b", &format!("shard: {STANDBY}"))
        + "options: {seed: standby}\n";
    let began = Instant::now();
    let id = samples.time(names.seeded, || until_ready(setup, &request))?;
    samples.add(names.backed_up, backup + began.elapsed().as_secs_f64());
    shardwright::abort(setup, &id)?;
    setup.shardwright(&["shard", "remove", STANDBY, "--yes"])?;
    Ok(())
}

fn add_figures(report: &mut Report) {
    let samples = &report.samples;
    let growth = |of: fn(Names) -> &'static str| {
        let ends = samples
            .median(of(SIZES[2].0))
            .zip(samples.median(of(SIZES[0].0)));
        ends.map(|(large, small)| large / small)
    };
    let large = SIZES[2].0;
    let figures = [
        (
            "seeded_ratio",
            samples.ratio(large.seeded, large.copied),
            Goal::AtMost(0.35),
            "time until a split can be approved at the largest size: from a standby / by a copy",
        ),
        (
            "seeded_with_backup_ratio",
            samples.ratio(large.backed_up, large.copied),
            Goal::AtMost(0.6),
            "the same with the base backup of the standby",
        ),
        (
            "copied_growth",
            growth(|names| names.copied),
            Goal::None,
            "the same by a copy: largest / smallest of three sizes (24 times as many rows)",
        ),
        (
            "seeded_growth",
            growth(|names| names.seeded),
            Goal::None,
            "the same from a standby",
        ),
    ];
    for (key, value, goal, about) in figures {
        report.figures.push(Figure {
            key,
            value,
            goal,
            about,
            parts: &["seeding.copied_large"],
        });
    }
}
