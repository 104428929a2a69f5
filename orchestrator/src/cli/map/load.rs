//! `map load`: measures the load of the shards and keys of a map.

use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::cli::measure::measure;
use crate::cli::output::{Output, json, table};
use crate::controller::{LoadRequest, MapLoad};
use clap::Args;
use plans::render::bytes;
use plans::request::Measure;
use std::time::Duration;

/// Measure the load of each shard, and name the hottest keys.
#[derive(Debug, Args)]
pub(in crate::cli) struct Load {
    /// The map.
    name: String,
    /// Count writes for this time, for example 60s. By default only rows and bytes are measured.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    watch: Option<Duration>,
    /// The number of hottest keys to name.
    #[arg(long, default_value_t = 10)]
    hottest: u32,
    /// The measure of load: rows, bytes, writes, or a query that returns key and number.
    #[arg(long, value_name = "MEASURE", value_parser = measure)]
    by: Option<Measure>,
    #[command(flatten)]
    output: Output,
}

impl Load {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let measures_writes = self.by == Some(Measure::Writes);
        let default = if measures_writes {
            Duration::from_secs(10)
        } else {
            Duration::ZERO
        };
        let seconds = self.watch.unwrap_or(default).as_secs();
        let request = LoadRequest {
            by: self.by,
            watch_seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
            hottest: Some(self.hottest),
            items: None,
        };
        let path = format!("/api/v1/maps/{}/load", self.name);
        let load: MapLoad = client.post(&path, json(&request)?).await?;
        self.output.print(&load, text)
    }
}

fn text(load: &MapLoad) -> String {
    let by = match &load.by {
        Measure::Rows => "rows",
        Measure::Bytes => "bytes",
        Measure::Writes => "writes",
        Measure::Query(_) => "the query",
    };
    let mut text = format!("map {} version {}, load by {by}", load.map, load.version);
    if load.watched_ms > 0 {
        text += &format!(
            ", writes watched for {:.1} s",
            load.watched_ms as f64 / 1000.0
        );
    }
    text += "\n\n";
    let size = |amount: u64| bytes(i64::try_from(amount).unwrap_or(i64::MAX));
    let rows: Vec<Vec<String>> = load
        .shards
        .iter()
        .map(|s| {
            vec![
                s.shard.to_string(),
                s.rows.to_string(),
                size(s.bytes),
                format!("{:.1}", s.writes_per_second),
                format!("{:.2}x", s.of_fair_share),
            ]
        })
        .collect();
    text += &table(
        &["SHARD", "ROWS", "BYTES", "WRITES/S", "OF FAIR SHARE"],
        &rows,
    );
    let counter_of = |key| load.counted.iter().find(|counted| &counted.key == key);
    let rows: Vec<Vec<String>> = load
        .hottest
        .iter()
        .map(|hot| {
            let uses = counter_of(&hot.key).map(|c| format!("{:.1}", c.per_second));
            vec![
                hot.key.to_string(),
                hot.shard.to_string(),
                hot.rows.to_string(),
                format!("{:.1}", hot.writes_per_second),
                uses.unwrap_or_else(|| "-".to_owned()),
            ]
        })
        .collect();
    text += "\n";
    text += &table(
        &["HOTTEST KEY", "SHARD", "ROWS", "WRITES/S", "USES/S"],
        &rows,
    );
    for proposal in &load.proposals {
        text += &format!(
            "\nkey {} on shard {}: {}\n",
            proposal.key, proposal.shard, proposal.proposal
        );
    }
    for finding in &load.findings {
        text += &format!(
            "\n{}: {} ({})\n",
            finding.object, finding.problem, finding.remedy
        );
    }
    text
}
