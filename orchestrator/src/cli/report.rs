//! `shardwright report`: the evidence of an operation or a migration.

use super::client::Client;
use super::error::CliError;
use super::migration::show_text;
use super::operation;
use super::output::{Output, table};
use crate::store::{CleanupRecord, Event};
use crate::view::{MigrationView, OperationView};
use plans::plan::Plan;
use serde::Serialize;

/// Everything that is kept about a migration.
#[derive(Debug, Serialize)]
struct Report {
    migration: MigrationView,
    cleanup: Vec<CleanupRecord>,
    events: Vec<Event>,
}

/// Everything that is kept about an operation with several moves.
#[derive(Debug, Serialize)]
struct OperationReport {
    operation: OperationView,
    plan: Plan,
    moves: Vec<Report>,
}

/// Prints the report of an operation or a migration.
pub(super) async fn print(client: &Client, id: &str, output: Output) -> Result<u8, CliError> {
    let Some(operation) = operation::with_moves(client, id).await? else {
        return output.print(&migration(client, id).await?, text);
    };
    let mut moves = Vec::with_capacity(operation.moves.len());
    for moved in &operation.moves {
        moves.push(migration(client, moved.migration.id.as_str()).await?);
    }
    let plan = client.get(&format!("{}/plan", operation::path(id))).await?;
    let report = OperationReport {
        operation,
        plan,
        moves,
    };
    output.print(&report, |report| {
        let moves: Vec<String> = report.moves.iter().map(text).collect();
        format!(
            "{}\n{}",
            operation::show_text(&report.operation),
            moves.join("\n")
        )
    })
}

async fn migration(client: &Client, id: &str) -> Result<Report, CliError> {
    let root = format!("/api/v1/migrations/{id}");
    Ok(Report {
        migration: client.get(&root).await?,
        cleanup: client.get(&format!("{root}/cleanup")).await?,
        events: client.get(&format!("{root}/events")).await?,
    })
}

fn text(report: &Report) -> String {
    let mut text = show_text(&report.migration);
    text += "\nResults\n";
    for step in &report.migration.steps {
        if let Some(output) = step.output.as_ref().filter(|output| !output.is_null()) {
            text += &format!("  {:<14} {output}\n", step.id.to_string());
        }
    }
    let left = report
        .cleanup
        .iter()
        .filter(|record| record.done_at.is_none());
    let left: Vec<_> = left
        .map(|r| vec![r.shard.to_string(), r.kind.clone(), r.name.clone()])
        .collect();
    if !left.is_empty() {
        text += "\nStill on the shards\n";
        text += &table(&["SHARD", "KIND", "NAME"], &left);
    }
    let row = |event: &Event| {
        let at = event
            .at
            .to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        let step = event
            .step
            .as_ref()
            .map_or(String::new(), ToString::to_string);
        vec![at, event.actor.clone(), event.kind.clone(), step]
    };
    let rows: Vec<_> = report.events.iter().map(row).collect();
    text + "\nJournal\n" + &table(&["AT", "ACTOR", "EVENT", "STEP"], &rows)
}
