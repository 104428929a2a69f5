//! `shardwright set LIMIT ID VALUE`: what a migration may take of its shards, changed while it runs.

use super::client::Client;
use super::consent::DryRun;
use super::error::CliError;
use super::operation;
use super::output::Output;
use crate::controller::LimitChange;
use crate::view::MigrationView;
use clap::Args;
use plans::throttle::Setting;

const LIMITS: &str = "\
Limits:
  rate             bytes a second of the copy: 20MB/s, 512KiB/s
  streams          COPY streams side by side, 1 to 16
  latency          the application's p99 that is held, milliseconds, 25 or 2.5; it reports to /api/v1/maps/MAP/latency
  hours            when heavy work may begin: 22:00-06:00, in UTC, or 22:00-06:00+02:00
  replica-lag      how far a replica may be behind, seconds
  active-sessions  sessions of others that may be active at one time
  lock-waits       sessions of others that may wait for a lock at one time
  commit           how long a commit may take on the source, milliseconds
  wal              how much of its log a shard may write, MiB a second
  checkpoint       how far apart checkpoints of a shard must begin, seconds
The value `off` takes a limit away.";

/// Set a limit of an operation or a migration.
#[derive(Debug, Args)]
#[command(after_help = LIMITS)]
pub(super) struct SetArgs {
    /// rate, streams, latency, hours, replica-lag, active-sessions, lock-waits, commit, wal or checkpoint.
    #[arg(value_parser = setting)]
    limit: Setting,
    /// The operation or migration.
    id: String,
    /// The new value, or off.
    value: String,
    /// Why; kept in the journal.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    dry: DryRun,
    #[command(flatten)]
    output: Output,
}

impl SetArgs {
    /// Sets it for every move of the operation that has not ended.
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let moves = match operation::with_moves(client, &self.id).await? {
            None => vec![self.id.clone()],
            Some(view) => {
                let open = view.moves.iter().map(|moved| &moved.migration);
                let open = open.filter(|m| m.finished_at.is_none());
                open.map(|m| m.id.to_string()).collect()
            }
        };
        let what = format!(
            "Sets {} of {} to {}.",
            self.limit.name(),
            moves.join(", "),
            self.value
        );
        if !self.dry.goes_on(&what) {
            return Ok(0);
        }
        let request = LimitChange {
            limit: self.limit,
            value: self.value,
            reason: self.reason,
        };
        let body = serde_json::json!(request).to_string();
        let mut views: Vec<MigrationView> = Vec::new();
        for id in moves {
            let path = format!("/api/v1/migrations/{id}/limits");
            views.push(client.post(&path, body.clone()).await?);
        }
        self.output.print(&views, |views| {
            views.iter().map(limits_line).collect::<String>()
        })
    }
}

/// The limits in force.
pub(super) fn limits_line(view: &MigrationView) -> String {
    let limits = view.limits.as_ref();
    limits.map_or_else(String::new, |limits| format!("limits: {limits}\n"))
}

/// The limit of that name.
pub(super) fn setting(name: &str) -> Result<Setting, String> {
    let found = Setting::ALL
        .into_iter()
        .find(|setting| setting.name() == name);
    found.ok_or_else(|| {
        let known = Setting::ALL.map(Setting::name).join(", ");
        format!("{name:?} is no limit; limits are {known}")
    })
}
