//! Runs migrations with Shardwright's own programs, and reads how long their steps took.

use super::database::Database;
use super::setup::BenchmarkSetup;
use anyhow::Context;
use chrono::{DateTime, FixedOffset};
use serde_json::Value;

/// The largest key that moves if half of the database moves.
pub(crate) const LAST_MOVING: u32 = 500;

/// The beginning and the end of a period, in microseconds since 1970.
pub(crate) type Span = (u128, u128);

/// The durations of parts of a migration in seconds, and the periods in which steps ran.
#[derive(Debug)]
pub(crate) struct StepTimes {
    /// The copy of the rows, without indexes.
    pub(crate) copy: f64,
    /// The tables, rows, indexes and foreign keys together.
    pub(crate) database: f64,
    /// The comparison of all rows of both shards.
    pub(crate) verify: f64,
    /// When the step `copy` ran.
    pub(crate) copy_span: Span,
    /// When the step `build_indexes` ran.
    pub(crate) build_span: Span,
    /// When the step `verify` ran.
    pub(crate) verify_span: Span,
}

impl StepTimes {
    /// Returns the period from the beginning of the copy until the last index and foreign key was built.
    pub(crate) fn copy_and_build_span(&self) -> Span {
        (self.copy_span.0, self.build_span.1)
    }
}

/// Registers both shards, and creates a map in which shard `a` owns all keys.
pub(crate) fn register(setup: &BenchmarkSetup, a: &Database, b: &Database) -> anyhow::Result<()> {
    register_as(setup, "bench", [("a", a), ("b", b)], &super::raw::TABLES)
}

/// Registers both shards, and creates a map with this name and these tables. The first shard owns all keys.
pub(crate) fn register_as(
    setup: &BenchmarkSetup,
    map: &str,
    shards: [(&str, &Database); 2],
    tables: &[&str],
) -> anyhow::Result<()> {
    for (name, database) in shards {
        setup.shardwright(&["shard", "add", name, "--dsn", &database.dsn()])?;
    }
    let tables = tables.iter().map(|table| format!("{table}=tenant_id"));
    let tables: Vec<String> = tables.collect();
    let all = format!("..={}", shards[0].0);
    let mut create = vec!["map", "create", map, "--key", "bigint", "--range", &all];
    for table in &tables {
        create.extend(["--table", table]);
    }
    setup.shardwright(&create)?;
    Ok(())
}

/// Returns the SQL condition for the rows that [`half_request`] moves.
pub(crate) fn moving_predicate() -> String {
    format!("tenant_id <= {LAST_MOVING}")
}

/// Returns the request that moves half of the tenants.
pub(crate) fn half_request() -> String {
    let next = LAST_MOVING + 1;
    format!(
        "operation: split\nmap: bench\nsource: a\ninto:\n- {{shard: a, keys: {{from: {next}}}}}\n\
         - {{shard: b, keys: {{to: {next}}}}}\n"
    )
}

/// Returns the request that moves all tenants.
pub(crate) fn whole_request() -> String {
    "operation: move\nmap: bench\nmoves: [{source: a, target: b}]\n".to_owned()
}

/// Writes how long each step has taken that is done.
pub(crate) fn print_steps(shown: &Value) {
    for step in shown["steps"].as_array().into_iter().flatten() {
        let kind = step["kind"].as_str().unwrap_or_default();
        if let Ok(seconds) = seconds(shown, kind) {
            eprintln!("  {kind}: {seconds:.3}");
        }
    }
}

/// Submits a request and waits until the migration waits for the approval of its cutover. Returns the migration's id
/// and the durations.
pub(crate) fn copy_and_verify(
    setup: &BenchmarkSetup,
    request: &str,
) -> anyhow::Result<(String, StepTimes)> {
    let id = setup.submit(request)?;
    let shown = setup.wait(&id, "waiting")?;
    let kinds = ["create_target", "copy", "build_indexes", "verify"];
    for kind in kinds {
        eprintln!("  {kind}: {:.3}", seconds(&shown, kind)?);
    }
    let times = StepTimes {
        copy: step(&shown, "copy")?["output"]["seconds"]
            .as_f64()
            .context("the step copy reports no seconds")?,
        database: seconds(&shown, "create_target")?
            + seconds(&shown, "copy")?
            + seconds(&shown, "build_indexes")?,
        verify: seconds(&shown, "verify")?,
        copy_span: span(&shown, "copy")?,
        build_span: span(&shown, "build_indexes")?,
        verify_span: span(&shown, "verify")?,
    };
    Ok((id, times))
}

/// Aborts the migration, and waits until its objects and rows are removed.
pub(crate) fn abort(setup: &BenchmarkSetup, id: &str) -> anyhow::Result<()> {
    setup.shardwright(&["abort", id, "--yes"])?;
    setup.wait(id, "unwound").map(|_| ())
}

/// Returns whether all rows of a migration are copied.
pub(crate) fn is_copied(shown: &Value) -> bool {
    step(shown, "copy").is_ok_and(|copy| copy["finished_at"].is_string())
}

/// Returns a text with the running step and its throttle ratio in percent.
pub(crate) fn throttle_text(shown: &Value) -> String {
    let is_running = |step: &&Value| step["state"] == "running";
    let step = shown["steps"]
        .as_array()
        .and_then(|steps| steps.iter().find(is_running));
    let Some(step) = step else {
        return "no step runs".to_owned();
    };
    let share = step["progress"]["slowed"]["share"].as_f64().unwrap_or(1.0);
    let kind = step["kind"].as_str().unwrap_or_default();
    format!("{kind} at {:.0} %", share * 100.0)
}

/// Returns the period in which the step `copy` ran. It ends at `now` if the step still runs.
pub(crate) fn copy_span(shown: &Value, now: u128) -> anyhow::Result<Span> {
    let step = step(shown, "copy")?;
    let to = at(step, "finished_at").map_or(Ok(now), micros)?;
    Ok((micros(at(step, "started_at")?)?, to))
}

/// Returns the period in which a step ran. Fails if the step has not ended.
pub(crate) fn span(shown: &Value, kind: &str) -> anyhow::Result<Span> {
    let step = step(shown, kind)?;
    let (from, to) = (at(step, "started_at")?, at(step, "finished_at")?);
    Ok((micros(from)?, micros(to)?))
}

fn micros(at: DateTime<FixedOffset>) -> anyhow::Result<u128> {
    Ok(u128::try_from(at.timestamp_micros())?)
}

/// Returns the step of this kind from the JSON of a migration.
pub(crate) fn step<'a>(shown: &'a Value, kind: &str) -> anyhow::Result<&'a Value> {
    let steps = shown["steps"]
        .as_array()
        .context("the migration has no steps")?;
    let step = steps.iter().find(|step| step["kind"] == kind);
    step.with_context(|| format!("no step {kind}"))
}

fn seconds(shown: &Value, kind: &str) -> anyhow::Result<f64> {
    let step = step(shown, kind)?;
    Ok((at(step, "finished_at")? - at(step, "started_at")?).as_seconds_f64())
}

/// Returns the time in this field of a step.
fn at(step: &Value, field: &str) -> anyhow::Result<DateTime<FixedOffset>> {
    let text = step[field].as_str();
    let text = text.with_context(|| format!("step {} has no {field}", step["kind"]))?;
    Ok(DateTime::parse_from_rfc3339(text)?)
}
