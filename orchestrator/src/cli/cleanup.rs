//! `shardwright cleanup`: what of ours no live migration explains, listed or removed.

use super::client::Client;
use super::consent::Consent;
use super::error::{CliError, DEFECTS};
use super::keys::pair;
use super::output::{Output, json, table};
use crate::cli::out::say;
use crate::controller::{CleanupOrder, CleanupReport, Unregistered};
use clap::Args;
use plans::id::{MapName, ShardName};
use plans::inspection::sweep::{Leftover, Verdict};

/// What --apply does.
const WHAT: &str = "Removes what `shardwright cleanup` lists without --apply as to be removed, and closes what it lists as to be refused for good.";

/// List what Shardwright left on the shards and no live migration explains; remove it with --apply.
#[derive(Debug, Args)]
pub(super) struct Cleanup {
    /// Only this shard; may be given several times.
    #[arg(long = "shard", value_name = "NAME")]
    shards: Vec<String>,
    /// A shard that is not registered, as NAME=CONNECTION STRING; may be given several times.
    #[arg(long = "dsn", value_name = "NAME=DSN", value_parser = pair)]
    others: Vec<(String, String)>,
    /// Remove what may be removed.
    #[arg(long)]
    apply: bool,
    /// Who owns the keys of a map that are closed somewhere, where no map in force says so; needs --reason.
    #[arg(long = "owner", value_name = "MAP=SHARD", value_parser = pair, requires = "reason")]
    owners: Vec<(String, String)>,
    /// Why, for the audit trail.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    output: Output,
}

impl Cleanup {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let other = |(name, dsn): (String, String)| Unregistered {
            name: ShardName(name),
            dsn,
        };
        let owner = |(map, shard): (String, String)| (MapName(map), ShardName(shard));
        let mut order = CleanupOrder {
            shards: self.shards.into_iter().map(ShardName).collect(),
            others: self.others.into_iter().map(other).collect(),
            apply: self.apply,
            owners: self.owners.into_iter().map(owner).collect(),
            reason: self.reason,
        };
        if order.apply {
            order.apply = self.consent.is_given(WHAT, "cleanup")?;
        }
        let report: CleanupReport = client.post("/api/v1/fleet/cleanup", json(&order)?).await?;
        self.output.print(&report, text)?;
        for line in &report.failed {
            say!("not done: {line}");
        }
        let open = |leftover: &Leftover| match leftover.verdict {
            Verdict::Remove | Verdict::Close => !order.apply,
            Verdict::Decide => true,
            Verdict::Keep => false,
        };
        let clean = report.failed.is_empty() && !report.leftovers.iter().any(open);
        Ok(if clean { 0 } else { DEFECTS })
    }
}

fn text(report: &CleanupReport) -> String {
    let mut text = String::new();
    if report.leftovers.is_empty() {
        text.push_str("nothing of Shardwright is on these shards\n");
    } else {
        let row = |leftover: &Leftover| {
            let verdict = match leftover.verdict {
                Verdict::Remove => "remove",
                Verdict::Close => "refuse for good",
                Verdict::Keep => "keep",
                Verdict::Decide => "decide",
            };
            vec![
                leftover.shard.to_string(),
                verdict.to_owned(),
                leftover.object.clone(),
                leftover.why.clone(),
            ]
        };
        let rows: Vec<_> = report.leftovers.iter().map(row).collect();
        text.push_str(&table(&["SHARD", "VERDICT", "OBJECT", "WHY"], &rows));
    }
    for line in &report.done {
        text.push_str(line);
        text.push('\n');
    }
    text
}
