//! Measures how often a split into several new shards reads the blocks of the source.
//!
//! Three quarters of the tenants leave the source in three equal parts, which one agent copies concurrently. The blocks
//! are counted from the submission until every row is copied and the sessions have reported their statistics, 1.2
//! seconds later. If the indexes are built in less than this time, the count contains the first blocks of the
//! comparison.

use super::database::Database;
use super::figures::{Figure, Goal, Report, Samples};
use super::setup::BenchmarkSetup;
use super::{Options, raw, routed, shardwright};
use anyhow::{Context, bail};
use std::time::{Duration, Instant};

/// The shards, the new ones first, and the keys that each owns after the split.
const PARTS: [(&str, &str); 4] = [
    ("b", "{to: 251}"),
    ("c", "{from: 251, to: 501}"),
    ("d", "{from: 501, to: 751}"),
    ("a", "{from: 751}"),
];
/// The longest wait for the copy.
const LIMIT: Duration = Duration::from_secs(1800);
/// The time between two reads of the state of the migration.
const PAUSE: Duration = Duration::from_millis(200);
/// The wait for the statistics of all sessions. A session reports its statistics at most once per second.
const REPORT_WAIT: Duration = Duration::from_millis(1200);

/// The number of blocks that were read from all tables.
const BLOCKS_READ: &str =
    "select coalesce(sum(heap_blks_read + heap_blks_hit), 0) from pg_statio_user_tables";
const TABLE_BLOCKS: &str = "select sum(pg_relation_size(relid) / current_setting('block_size')::int) from pg_statio_user_tables";

/// Measures `options.rounds()` rounds and adds their samples and figures to the report.
pub(crate) fn measure(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    let setup = BenchmarkSetup::start_with_one(&options.programs)?;
    let source = Database::new(&setup.source, "bench")?;
    source.recreate()?;
    source.script(include_str!("data.sql"), &[("items", options.items())])?;
    let database = |name| {
        let database = Database::new(&setup.target, name)?;
        database.recreate()?;
        anyhow::Ok(database)
    };
    let parts = [
        database("part_b")?,
        database("part_c")?,
        database("part_d")?,
    ];
    shardwright::register(&setup, &source, &parts[0])?;
    for ((name, _), part) in PARTS.iter().zip(&parts).skip(1) {
        setup.shardwright(&["shard", "add", name, "--dsn", &part.dsn()])?;
    }
    for round in 1..=options.rounds() {
        eprintln!(
            "round {round} of {}: a split into three new shards",
            options.rounds()
        );
        self::round(&setup, &source, &mut report.samples)?;
        copy_through_pipes(&source, &parts, &mut report.samples)?;
    }
    report.figures.push(Figure {
        key: "read_amplification",
        value: report.samples.median("parts.read_amplification"),
        goal: Goal::AtMost(1.05),
        about: "blocks that the source reads while three new shards are copied / blocks of its tables",
        parts: &["parts.copy"],
    });
    report.figures.push(Figure {
        key: "raw_parts_ratio",
        value: report.samples.ratio("raw.parts_each", "raw.parts_once"),
        goal: Goal::None,
        about: "time of raw pipes: one read of the source for each of three parts / one read for all",
        parts: &["raw.parts_once"],
    });
    Ok(())
}

/// Measures one split up to the end of the copy, then aborts it.
fn round(setup: &BenchmarkSetup, source: &Database, samples: &mut Samples) -> anyhow::Result<()> {
    let before = source.number(BLOCKS_READ)?;
    let (from, begun) = (samples.cpu.take_sample(), Instant::now());
    let id = setup.submit(&request())?;
    let (moves, longest) = wait_until_copied(setup, &id)?;
    samples.add("parts.copy_longest", longest);
    samples.add("parts.copy", begun.elapsed().as_secs_f64());
    samples.add_profile("parts.copy", (from, samples.cpu.take_sample()));
    std::thread::sleep(REPORT_WAIT);
    let read = source.number(BLOCKS_READ)? - before;
    samples.add(
        "parts.read_amplification",
        read / source.number(TABLE_BLOCKS)?,
    );
    for migration in moves {
        shardwright::abort(setup, &migration)?;
    }
    Ok(())
}

/// Copies the same parts with `COPY` through pipes: first with one read of the source for each part, then with one read
/// for all parts.
fn copy_through_pipes(
    source: &Database,
    parts: &[Database; 3],
    samples: &mut Samples,
) -> anyhow::Result<()> {
    let empty = || {
        parts.iter().try_for_each(|part| {
            part.recreate()?;
            raw::make_tables(source, part)
        })
    };
    empty()?;
    samples.time("raw.parts_each", || {
        let mut ranges = parts
            .iter()
            .zip(["1 and 250", "251 and 500", "501 and 750"]);
        ranges.try_for_each(|(part, keys)| {
            raw::copy(source, part, &format!("tenant_id between {keys}"))
        })
    })?;
    empty()?;
    let number = "case when tenant_id <= 750 then ((tenant_id - 1) / 250)::int end";
    samples.time("raw.parts_once", || routed::copy(source, parts, number))?;
    parts.iter().try_for_each(Database::recreate)
}

/// Returns the request. All parts are moved concurrently.
fn request() -> String {
    let mut request = "operation: split\nmap: bench\nsource: a\ninto:\n".to_owned();
    for (shard, keys) in PARTS {
        request += &format!("- {{shard: {shard}, keys: {keys}}}\n");
    }
    request + "options: {moves_at_once: 3, moves_per_shard: 3}\n"
}

/// Waits until the rows of all moves are copied. Returns the ids of the moves, and the duration of the longest copy in
/// seconds.
fn wait_until_copied(setup: &BenchmarkSetup, id: &str) -> anyhow::Result<(Vec<String>, f64)> {
    let begun = Instant::now();
    let shown = setup.show(id)?;
    let moves = shown["moves"]
        .as_array()
        .context("the operation has no moves")?;
    let ids = moves
        .iter()
        .map(|migration| migration["id"].as_str().map(str::to_owned));
    let ids: Vec<String> = ids.collect::<Option<_>>().context("a move without an id")?;
    let mut longest = 0.0_f64;
    for migration in &ids {
        let mut shown = setup.show(migration)?;
        while !shardwright::is_copied(&shown) {
            if begun.elapsed() > LIMIT {
                bail!("{migration} is not copied after {LIMIT:?}");
            }
            std::thread::sleep(PAUSE);
            shown = setup.show(migration)?;
        }
        let copy = &shardwright::step(&shown, "copy")?["output"];
        longest = longest.max(copy["seconds"].as_f64().context("no seconds")?);
    }
    Ok((ids, longest))
}
