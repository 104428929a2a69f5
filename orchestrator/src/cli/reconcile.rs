//! `shardwright reconcile`: compares the shards with the control store, and repairs a store that is older than the
//! shards.

use super::client::Client;
use super::consent::Consent;
use super::error::{CliError, DEFECTS};
use super::output::{Output, json, table};
use crate::cli::out::report;
use crate::controller::{FleetReport, ReconcileRequest};
use clap::Args;
use plans::id::ShardName;
use plans::inspection::reconcile::Contradiction;

/// Probe every shard now, and compare it with the map.
#[derive(Debug, Args)]
pub(super) struct Reconcile {
    /// Repair a control store that is older than the fleet: record the flips that the shards prove.
    #[arg(long)]
    apply: bool,
    /// Accept the server of this shard, although it is another server than before, or was restored from a backup; may
    /// be given several times.
    #[arg(long, value_name = "SHARD")]
    accept: Vec<String>,
    /// The reason, for the audit trail.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    output: Output,
}

impl Reconcile {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let mut request = ReconcileRequest {
            apply: self.apply,
            accept: self.accept.into_iter().map(ShardName).collect(),
            reason: self.reason,
        };
        if request.apply || !request.accept.is_empty() {
            let confirmed = self
                .consent
                .is_confirmed(&effect_text(&request), "reconcile")?;
            request.apply &= confirmed;
            request.accept.retain(|_| confirmed);
        }
        let report: FleetReport = client
            .post("/api/v1/fleet/reconcile", json(&request)?)
            .await?;
        self.output.print(&report, text)?;
        for probe in &report.shards {
            if let Some(failure) = &probe.failure {
                report!("not probed: shard {}: {failure}", probe.shard);
            }
        }
        for finding in &report.findings {
            report!("shard {}: {}", finding.shard, finding.hint);
        }
        let all_reached = report.shards.iter().all(|probe| probe.failure.is_none());
        let is_clean = all_reached && report.findings.is_empty();
        Ok(if is_clean { 0 } else { DEFECTS })
    }
}

/// Describes what the request changes.
fn effect_text(request: &ReconcileRequest) -> String {
    let mut parts = Vec::new();
    if request.apply {
        parts.push(
            "Records in the control store the flips that the shards prove, as `shardwright reconcile` lists them."
                .to_owned(),
        );
    }
    for shard in &request.accept {
        parts.push(format!("Accepts the present server of shard {shard}."));
    }
    parts.join("\n")
}

fn text(report: &FleetReport) -> String {
    let mut text: String = report.done.iter().map(|line| format!("{line}\n")).collect();
    if report.findings.is_empty() {
        text.push_str(&format!(
            "{} shards, nothing contradicts the map\n",
            report.shards.len()
        ));
        return text;
    }
    let row = |finding: &Contradiction| {
        vec![
            finding.shard.to_string(),
            finding.kind.to_string(),
            finding.message.clone(),
        ]
    };
    let rows: Vec<_> = report.findings.iter().map(row).collect();
    text + &table(&["SHARD", "FINDING", ""], &rows)
}
