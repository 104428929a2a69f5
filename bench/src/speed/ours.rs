//! Shardwright by its ordinary programs: what the steps of a migration took.

use super::ground::Ground;
use super::place::Place;
use anyhow::Context;
use chrono::{DateTime, FixedOffset};
use serde_json::Value;

/// Rows of this key and below move when half of the database does.
pub(crate) const LAST_MOVING: u32 = 500;

/// Two moments, microseconds since 1970.
pub(crate) type Span = (u128, u128);

/// How long the parts of a migration took, seconds, and when.
#[derive(Debug)]
pub(crate) struct Took {
    /// Rows over the wire, without any index.
    pub(crate) copy: f64,
    /// Tables, rows, indexes and foreign keys.
    pub(crate) database: f64,
    /// Every row compared on both sides.
    pub(crate) verify: f64,
    pub(crate) copied: Span,
    pub(crate) built: Span,
    pub(crate) verified: Span,
}

impl Took {
    /// From the first table to the last key.
    pub(crate) fn whole(&self) -> Span {
        (self.copied.0, self.built.1)
    }
}

/// Tells the controller of both shards and a map whose keys all live on `a`.
pub(crate) fn register(ground: &Ground, a: &Place, b: &Place) -> anyhow::Result<()> {
    register_as(ground, "bench", [("a", a), ("b", b)], &super::raw::TABLES)
}

/// The same for a map of this name and these tables; the first shard has the keys.
pub(crate) fn register_as(
    ground: &Ground,
    map: &str,
    shards: [(&str, &Place); 2],
    tables: &[&str],
) -> anyhow::Result<()> {
    for (name, place) in shards {
        ground.shardwright(&["shard", "add", name, "--dsn", &place.dsn()])?;
    }
    let tables = tables.iter().map(|table| format!("{table}=tenant_id"));
    let tables: Vec<String> = tables.collect();
    let all = format!("..={}", shards[0].0);
    let mut create = vec!["map", "create", map, "--key", "bigint", "--range", &all];
    for table in &tables {
        create.extend(["--table", table]);
    }
    ground.shardwright(&create)?;
    Ok(())
}

/// The condition on rows that [`half`] moves.
pub(crate) fn moving() -> String {
    format!("tenant_id <= {LAST_MOVING}")
}

/// The request that moves half of the tenants.
pub(crate) fn half() -> String {
    let next = LAST_MOVING + 1;
    format!(
        "operation: split\nmap: bench\nsource: a\ninto:\n- {{shard: a, keys: {{from: {next}}}}}\n\
         - {{shard: b, keys: {{to: {next}}}}}\n"
    )
}

/// The request that moves everything.
pub(crate) fn whole() -> String {
    "operation: move\nmap: bench\nmoves: [{source: a, target: b}]\n".to_owned()
}

/// Runs a request until it waits for the approval of its cutover; its id.
pub(crate) fn copy_and_verify(ground: &Ground, request: &str) -> anyhow::Result<(String, Took)> {
    let id = ground.submit(request)?;
    let shown = ground.wait(&id, "waiting")?;
    let kinds = ["create_target", "copy", "build_indexes", "verify"];
    for kind in kinds {
        eprintln!("  {kind}: {:.3}", seconds(&shown, kind)?);
    }
    let took = Took {
        copy: step(&shown, "copy")?["output"]["seconds"]
            .as_f64()
            .context("no seconds")?,
        database: seconds(&shown, "create_target")?
            + seconds(&shown, "copy")?
            + seconds(&shown, "build_indexes")?,
        verify: seconds(&shown, "verify")?,
        copied: span(&shown, "copy")?,
        built: span(&shown, "build_indexes")?,
        verified: span(&shown, "verify")?,
    };
    Ok((id, took))
}

/// Takes everything back.
pub(crate) fn take_back(ground: &Ground, id: &str) -> anyhow::Result<()> {
    ground.shardwright(&["abort", id, "--yes"])?;
    ground.wait(id, "unwound").map(|_| ())
}

/// Whether the rows of a migration are copied.
pub(crate) fn is_copied(shown: &Value) -> bool {
    step(shown, "copy").is_ok_and(|copy| copy["finished_at"].is_string())
}

/// The step that runs, and what it is slowed to.
pub(crate) fn throttle_text(shown: &Value) -> String {
    let running = |step: &&Value| step["state"] == "running";
    let step = shown["steps"]
        .as_array()
        .and_then(|steps| steps.iter().find(running));
    let Some(step) = step else {
        return "no step".to_owned();
    };
    let share = step["progress"]["slowed"]["share"].as_f64().unwrap_or(1.0);
    let kind = step["kind"].as_str().unwrap_or_default();
    format!("{kind} at {:.0} %", share * 100.0)
}

/// From when to when the rows of a migration were copied, or are being copied still, microseconds since 1970.
pub(crate) fn copied_between(shown: &Value, now: u128) -> anyhow::Result<Span> {
    let step = step(shown, "copy")?;
    let to = at(step, "finished_at").map_or(Ok(now), micros)?;
    Ok((micros(at(step, "started_at")?)?, to))
}

/// From when to when a step ran, microseconds since 1970.
pub(crate) fn span(shown: &Value, kind: &str) -> anyhow::Result<Span> {
    let step = step(shown, kind)?;
    let (from, to) = (at(step, "started_at")?, at(step, "finished_at")?);
    Ok((micros(from)?, micros(to)?))
}

fn micros(at: DateTime<FixedOffset>) -> anyhow::Result<u128> {
    Ok(u128::try_from(at.timestamp_micros())?)
}

/// A step of a migration.
pub(crate) fn step<'a>(shown: &'a Value, kind: &str) -> anyhow::Result<&'a Value> {
    let steps = shown["steps"].as_array().context("no steps")?;
    let step = steps.iter().find(|step| step["kind"] == kind);
    step.with_context(|| format!("no step {kind}"))
}

fn seconds(shown: &Value, kind: &str) -> anyhow::Result<f64> {
    let step = step(shown, kind)?;
    Ok((at(step, "finished_at")? - at(step, "started_at")?).as_seconds_f64())
}

/// A moment of a step.
fn at(step: &Value, field: &str) -> anyhow::Result<DateTime<FixedOffset>> {
    let text = step[field].as_str();
    let text = text.with_context(|| format!("step {} has no {field}", step["kind"]))?;
    Ok(DateTime::parse_from_rfc3339(text)?)
}
