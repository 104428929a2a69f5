//! `map check` and `map repair`.

use crate::cli::client::Client;
use crate::cli::consent::Consent;
use crate::cli::document::DocumentKind;
use crate::cli::error::{CliError, DEFECTS};
use crate::cli::files::{write, yaml};
use crate::cli::out::report;
use crate::cli::output::{Output, json, table};
use crate::controller::{MapCheck, RepairOutcome};
use clap::Args;
use plans::inspection::check::{Defect, RepairRequest};
use std::path::PathBuf;

/// Check a map and its shards for defects. Changes nothing.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapCheckArgs {
    /// The map.
    name: String,
    /// Write a request with the repairs to this file. Read it, then carry it out with `map repair`.
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,
    /// Continue a check of which some parts failed; only these parts are examined again.
    #[arg(long, value_name = "TOKEN")]
    resume: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Carry out the repairs in a request that `map check` has written.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapRepairArgs {
    /// The file with the request; `-` is stdin.
    request: PathBuf,
    /// The reason, for the audit trail.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    output: Output,
}

impl MapCheckArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let token = self
            .resume
            .map_or_else(String::new, |token| format!("?token={token}"));
        let path = format!("/api/v1/maps/{}/check{token}", self.name);
        let check: MapCheck = client.post(&path, String::new()).await?;
        if let Some(path) = &self.request {
            write(path, &yaml(&check.request)?)?;
            report!(
                "repair them with: shardwright map repair {}",
                path.display()
            );
        }
        self.output.print(&check, check_text)?;
        for surplus in &check.to_be_removed {
            report!(
                "to be removed: {} rows of table {} on shard {}: a migration has promoted this standby, and deletes the rows in its step drop_surplus",
                surplus.rows,
                surplus.table,
                surplus.shard
            );
        }
        for shard in &check.other_maps {
            report!("not examined: shard {shard}: only other maps have keys on it");
        }
        for shard in &check.standbys {
            report!("not examined: shard {shard} is a standby; its rows are its primary's");
        }
        if !check.failed.is_empty() {
            report!(
                "continue the check with: shardwright map check {} --resume {}",
                check.map,
                check.token
            );
        }
        let is_clean = check.failed.is_empty() && check.defects.is_empty();
        Ok(if is_clean { 0 } else { DEFECTS })
    }
}

impl MapRepairArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let request = RepairRequest::parse(&DocumentKind::Repairs.read(&self.request)?)
            .map_err(|error| CliError::Usage(error.to_string()))?;
        let map = request.map.to_string();
        let what = format!("Repairs on the shards of map {map}:\n{}", yaml(&request)?);
        if !self.consent.is_confirmed(&what, &map)? {
            return Ok(0);
        }
        let path = format!("/api/v1/maps/{map}/mend");
        let outcomes: Vec<RepairOutcome> = client
            .post_with_reason(&path, json(&request)?, self.reason.as_deref())
            .await?;
        self.output
            .print(&outcomes, |outcomes| outcomes_text(outcomes))?;
        let failed = outcomes.iter().any(|outcome| outcome.failure.is_some());
        Ok(if failed { DEFECTS } else { 0 })
    }
}

fn check_text(check: &MapCheck) -> String {
    let head = format!(
        "map {} version {}: {} parts, {} defects\n",
        check.map,
        check.version,
        check.parts,
        check.defects.len()
    );
    if check.defects.is_empty() {
        return head;
    }
    let row = |defect: &Defect| {
        let shards: Vec<_> = defect.shards.iter().map(ToString::to_string).collect();
        vec![
            defect.kind.to_string(),
            shards.join(", "),
            defect.object.clone(),
            defect.count.to_string(),
            defect.detail.clone(),
        ]
    };
    let rows: Vec<_> = check.defects.iter().map(row).collect();
    head + &table(&["DEFECT", "SHARDS", "OBJECT", "COUNT", ""], &rows)
}

fn outcomes_text(outcomes: &[RepairOutcome]) -> String {
    let line = |outcome: &RepairOutcome| match (&outcome.done, &outcome.failure) {
        (Some(done), _) => format!("{}\n", done.done),
        (None, Some(failure)) => format!("failed: {} ({})\n", failure.message, failure.code),
        (None, None) => String::new(),
    };
    outcomes.iter().map(line).collect()
}
