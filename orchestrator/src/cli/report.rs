//! `shardwright report`: the evidence of a migration.

use super::client::Client;
use super::error::CliError;
use super::migration::show_text;
use super::output::{Output, table};
use crate::store::{CleanupRecord, Event};
use crate::view::MigrationView;
use serde::Serialize;

/// Everything that is kept about a migration.
#[derive(Debug, Serialize)]
struct Report {
    migration: MigrationView,
    cleanup: Vec<CleanupRecord>,
    events: Vec<Event>,
}

/// Prints the report.
pub(super) async fn print(client: &Client, id: &str, output: Output) -> Result<u8, CliError> {
    let root = format!("/api/v1/migrations/{id}");
    let report = Report {
        migration: client.get(&root).await?,
        cleanup: client.get(&format!("{root}/cleanup")).await?,
        events: client.get(&format!("{root}/events")).await?,
    };
    output.print(&report, text)
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
