//! `shardwright report`: the evidence of an operation or a migration.

use super::client::Client;
use super::error::CliError;
use super::files::write_or_print;
use super::migration::show_text;
use super::operation;
use super::output::{Output, table};
use crate::report::{Evidence, Format, ObjectOutcome, Report as Document};
use crate::store::Event;
use clap::Args;
use std::path::PathBuf;

/// Print the evidence of an operation or a migration.
#[derive(Debug, Args)]
pub(super) struct Report {
    /// The operation or migration.
    id: String,
    /// As Markdown, as one HTML file, or as JSON; without it, for people on a terminal.
    #[arg(long = "format", value_name = "FORMAT", value_parser = form)]
    form: Option<Format>,
    /// Write it to this file.
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

fn form(name: &str) -> Result<Format, String> {
    match name {
        "md" => Ok(Format::Md),
        "html" => Ok(Format::Html),
        "json" => Ok(Format::Json),
        other => Err(format!("{other:?} is not md, html or json")),
    }
}

impl Report {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let path = format!("/api/v1/operations/{}/report", self.id);
        let Some(format) = self.form.or(self.to.as_ref().map(|_| Format::Html)) else {
            let report: Document = client.get(&path).await?;
            return self.output.print(&report, text);
        };
        let name = match format {
            Format::Json => "json",
            Format::Md => "md",
            Format::Html => "html",
        };
        let page = client.text(&format!("{path}?format={name}")).await?;
        write_or_print(self.to.as_deref(), &page)?;
        Ok(0)
    }
}

fn text(report: &Document) -> String {
    let moves: Vec<String> = report.moves.iter().map(move_text).collect();
    match report.operation.moves.len() {
        1 => moves.concat(),
        _ => format!(
            "{}\n{}",
            operation::show_text(&report.operation),
            moves.join("\n")
        ),
    }
}

fn move_text(evidence: &Evidence) -> String {
    let mut text = show_text(&evidence.migration);
    text += "\nResults\n";
    for step in &evidence.migration.steps {
        if let Some(output) = step.output.as_ref().filter(|output| !output.is_null()) {
            text += &format!("  {:<14} {output}\n", step.id.to_string());
        }
    }
    for eta in &evidence.eta {
        let (worst, median) = (eta.worst * 100.0, eta.median * 100.0);
        let step = eta.step.to_string();
        text += &format!("  {step:<14} ETA error {worst:+.0} % at worst, {median:+.0} % median\n");
    }
    let left = evidence
        .cleanup
        .iter()
        .filter(|object| object.outcome == ObjectOutcome::Left)
        .map(|object| &object.record)
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
    let rows: Vec<_> = evidence.events.iter().map(row).collect();
    text + "\nJournal\n" + &table(&["AT", "ACTOR", "EVENT", "STEP"], &rows)
}
