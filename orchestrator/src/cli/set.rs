//! `shardwright set LIMIT ID VALUE`: changes a limit of the load that a migration causes, while it runs.

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
  rate             bytes per second of the copy: 20MB/s, 512KiB/s
  streams          parallel COPY streams, 1 to 16
  latency          the largest p99 latency of the application, milliseconds: 25 or 2.5; the application reports its
                   latency to /api/v1/maps/MAP/latency
  hours            the hours in which heavy work may begin: 22:00-06:00 (UTC), or 22:00-06:00+02:00
  replica-lag      the largest lag of a replica, seconds
  active-sessions  the largest number of active sessions of other users
  lock-waits       the largest number of sessions of other users that wait for a lock
  commit           the longest time of a commit on the source, milliseconds
  wal              the largest rate at which a shard writes its log, MiB per second
  checkpoint       the shortest time between the starts of two checkpoints of a shard, seconds
The value `off` removes a limit.";

/// Set a limit of an operation or a migration.
#[derive(Debug, Args)]
#[command(after_help = LIMITS)]
pub(super) struct SetArgs {
    /// rate, streams, latency, hours, replica-lag, active-sessions, lock-waits, commit, wal or checkpoint.
    #[arg(value_parser = setting)]
    limit: Setting,
    /// The operation or migration.
    id: String,
    /// The new value, or `off` to remove the limit.
    value: String,
    /// The reason, for the journal.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    dry: DryRun,
    #[command(flatten)]
    output: Output,
}

impl SetArgs {
    /// Sets the limit of every move that has not ended.
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let moves = match operation::with_moves(client, &self.id).await? {
            None => vec![self.id.clone()],
            Some(view) => {
                let unfinished = view.moves.iter().map(|moved| &moved.migration);
                let unfinished = unfinished.filter(|m| m.finished_at.is_none());
                unfinished.map(|m| m.id.to_string()).collect()
            }
        };
        let what = format!(
            "Sets {} of {} to {}.",
            self.limit.name(),
            moves.join(", "),
            self.value
        );
        if !self.dry.proceed_or_print(&what) {
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

/// Returns a line with the limits in force; an empty text if there are none.
pub(super) fn limits_line(view: &MigrationView) -> String {
    let limits = view.limits.as_ref();
    limits.map_or_else(String::new, |limits| format!("limits: {limits}\n"))
}

/// Parses the name of a limit.
pub(super) fn setting(name: &str) -> Result<Setting, String> {
    let found = Setting::ALL
        .into_iter()
        .find(|setting| setting.name() == name);
    found.ok_or_else(|| {
        let known = Setting::ALL.map(Setting::name).join(", ");
        format!("{name:?} is not a limit; the limits are {known}")
    })
}
