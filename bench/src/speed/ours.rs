//! Shardwright by its ordinary programs: what the steps of a migration took.

use super::ground::Ground;
use super::place::Place;
use anyhow::Context;
use chrono::DateTime;
use serde_json::Value;

/// Rows of this key and below move when half of the database does.
pub(crate) const LAST_MOVING: u32 = 500;

/// How long the parts of a migration took, seconds.
#[derive(Debug)]
pub(crate) struct Took {
    /// Rows over the wire, without any index.
    pub(crate) copy: f64,
    /// Tables, rows, indexes and foreign keys.
    pub(crate) database: f64,
    /// Every row compared on both sides.
    pub(crate) verify: f64,
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

fn step<'a>(shown: &'a Value, kind: &str) -> anyhow::Result<&'a Value> {
    let steps = shown["steps"].as_array().context("no steps")?;
    let step = steps.iter().find(|step| step["kind"] == kind);
    step.with_context(|| format!("no step {kind}"))
}

fn seconds(shown: &Value, kind: &str) -> anyhow::Result<f64> {
    let step = step(shown, kind)?;
    let at = |field: &str| {
        let text = step[field].as_str();
        let text = text.with_context(|| format!("step {kind} has no {field}"))?;
        anyhow::Ok(DateTime::parse_from_rfc3339(text)?)
    };
    let took = at("finished_at")? - at("started_at")?;
    Ok(took.as_seconds_f64())
}
