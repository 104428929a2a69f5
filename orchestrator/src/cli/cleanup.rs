//! `shardwright cleanup`: lists or removes objects of Shardwright on the shards that belong to no unfinished migration.

use super::client::Client;
use super::consent::Consent;
use super::error::{CliError, DEFECTS};
use super::keys::{named_dsns, pair};
use super::output::{Output, json, table};
use crate::cli::out::report;
use crate::controller::{CleanupReport, CleanupRequest, UnregisteredShard};
use clap::Args;
use plans::id::{MapName, ShardName};
use plans::inspection::sweep::{Leftover, SweepVerdict};
use std::collections::BTreeSet;

/// What --apply does.
const APPLY_EFFECT: &str = "Removes the objects that `shardwright cleanup` lists with the verdict `remove`, and makes shards refuse writes permanently where the verdict is `refuse for good`.";

/// List objects of Shardwright on the shards that belong to no unfinished migration; remove them with --apply.
#[derive(Debug, Args)]
pub(super) struct Cleanup {
    /// Examine only this shard; may be given several times.
    #[arg(long = "shard", value_name = "NAME")]
    shards: Vec<String>,
    /// Also examine a shard that is not registered: NAME=CONNECTION STRING; may be given several times.
    #[arg(long = "dsn", value_name = "NAME=DSN")]
    unregistered: Vec<String>,
    /// Remove the objects whose verdict is `remove`.
    #[arg(long)]
    apply: bool,
    /// The shard that owns keys which are closed on a shard, and which no map in force contains; needs --reason.
    #[arg(long = "owner", value_name = "MAP=SHARD", value_parser = pair, requires = "reason")]
    owners: Vec<(String, String)>,
    /// The reason, for the audit trail.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    output: Output,
}

impl Cleanup {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let unregistered_shard = |(name, dsn): (String, String)| UnregisteredShard {
            name: ShardName(name),
            dsn,
        };
        let owner = |(map, shard): (String, String)| (MapName(map), ShardName(shard));
        let mut request = CleanupRequest {
            shards: self.shards.into_iter().map(ShardName).collect(),
            unregistered: named_dsns("--dsn", &self.unregistered)?
                .into_iter()
                .map(unregistered_shard)
                .collect(),
            apply: self.apply,
            owners: self.owners.into_iter().map(owner).collect(),
            reason: self.reason,
        };
        if request.apply {
            request.apply = self.consent.is_confirmed(APPLY_EFFECT, "cleanup")?;
        }
        let report: CleanupReport = client
            .post("/api/v1/fleet/cleanup", json(&request)?)
            .await?;
        let wide = self.output.is_wide();
        self.output.print(&report, |report| text(report, wide))?;
        for shard in &report.standbys {
            report!("not examined: shard {shard} is a standby; its objects are its primary's");
        }
        for line in &report.failed {
            report!("not done: {line}");
        }
        let needs_action = |leftover: &Leftover| match leftover.verdict {
            SweepVerdict::Remove | SweepVerdict::Close => !request.apply,
            SweepVerdict::Decide => true,
            SweepVerdict::Keep => false,
        };
        let is_clean = report.failed.is_empty() && !report.leftovers.iter().any(needs_action);
        Ok(if is_clean { 0 } else { DEFECTS })
    }
}

/// Returns the findings as text. Unless `wide` is set, the objects that are kept are only counted.
fn text(report: &CleanupReport, wide: bool) -> String {
    let mut text = String::new();
    let is_kept = |leftover: &&Leftover| leftover.verdict == SweepVerdict::Keep && !wide;
    let kept: Vec<&Leftover> = report.leftovers.iter().filter(is_kept).collect();
    let listed = report.leftovers.iter().filter(|found| !is_kept(found));
    let rows: Vec<_> = listed.map(row).collect();
    if report.leftovers.is_empty() {
        text.push_str("these shards have no objects of Shardwright\n");
    } else if rows.is_empty() {
        text.push_str("nothing to remove\n");
    } else {
        text.push_str(&table(&["SHARD", "VERDICT", "OBJECT", "WHY"], &rows));
    }
    if !kept.is_empty() {
        let shards: BTreeSet<&str> = kept.iter().map(|found| found.shard.as_str()).collect();
        let shards: Vec<&str> = shards.into_iter().collect();
        text.push_str(&format!(
            "kept, because migrations and maps in force need them: {} object(s) on {}; -o wide lists them\n",
            kept.len(),
            shards.join(", ")
        ));
    }
    for line in &report.done {
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn row(leftover: &Leftover) -> Vec<String> {
    let verdict = match leftover.verdict {
        SweepVerdict::Remove => "remove",
        SweepVerdict::Close => "refuse for good",
        SweepVerdict::Keep => "keep",
        SweepVerdict::Decide => "decide",
    };
    vec![
        leftover.shard.to_string(),
        verdict.to_owned(),
        leftover.object.clone(),
        leftover.why.clone(),
    ]
}
