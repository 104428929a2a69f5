//! A plan as text for people.

use crate::failure::Severity;
use crate::plan::Plan;
use std::fmt::Write;

/// The plan as `shardwright plan` prints it.
#[must_use]
pub fn plan_text(plan: &Plan) -> String {
    let mut out = String::new();
    let moving = &plan.moving;
    // Writing to a String cannot fail.
    let _ = write_plan(&mut out, plan);
    let _ = writeln!(out, "\nTables (parents first)");
    for table in &moving.tables {
        let column = crate::table::quote_ident(&table.key_column);
        let _ = writeln!(
            out,
            "  {:<32} key {:<16} about {} rows, {} in all",
            table.table.to_string(),
            table.key_column,
            table.rows,
            bytes(table.bytes)
        );
        let _ = writeln!(out, "      where {}", moving.keys.predicate(&column));
    }
    if !plan.findings.is_empty() {
        let _ = writeln!(out, "\nFindings");
    }
    for finding in &plan.findings {
        let severity = match finding.severity {
            Severity::Refused => "refused",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let _ = writeln!(out, "  {severity}: {}: {}", finding.object, finding.problem);
        let _ = writeln!(out, "      {}", finding.remedy);
    }
    let _ = writeln!(out, "\nPlan hash {}", plan.hash);
    out
}

fn write_plan(out: &mut String, plan: &Plan) -> std::fmt::Result {
    let moving = &plan.moving;
    writeln!(
        out,
        "{} of shard {}: {} of map {} go to shard {}",
        plan.operation, moving.source, moving.keys, plan.map, moving.target
    )?;
    writeln!(
        out,
        "  map version      {} -> {}",
        plan.map_version,
        plan.map_version.next()
    )?;
    writeln!(
        out,
        "  moves            about {} rows, {}",
        plan.estimate.rows,
        bytes(plan.estimate.bytes)
    )?;
    writeln!(
        out,
        "  write stop       moving keys only, some 10 to 100 ms plus the oldest open writer, never over {} ms before it is given up",
        plan.estimate.write_stop_budget_ms
    )?;
    writeln!(out, "  schema           {}", plan.schema_fingerprint)?;
    writeln!(out, "\nSteps")?;
    for node in &plan.graph.nodes {
        writeln!(out, "  {:<14} {}", node.id.to_string(), node.kind.summary())?;
        if node.kind.locks() != "none" {
            writeln!(out, "  {:<14}   locks: {}", "", node.kind.locks())?;
        }
    }
    Ok(())
}

/// Bytes with a binary unit, one decimal.
#[must_use]
pub fn bytes(amount: i64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut tenths = i128::from(amount) * 10;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    if unit == 0 {
        format!("{amount} B")
    } else {
        format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    }
}
