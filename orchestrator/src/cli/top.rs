//! `shardwright top`: shows all migrations on one screen until the user types `q`. Migrations that wait for an operator
//! come first.
//!
//! If stdout is not a terminal, the command prints the screen once and ends.

mod frame;
mod screen;

use super::client::Client;
use super::error::{CliError, INTERRUPTED};
use crate::api::LeadershipHealth;
use crate::store::AgentRecord;
use crate::view::{MigrationSummary, MigrationView};
use clap::Args;
use console::Term;
use frame::{FleetStatus, MigrationSort, frame};
use futures::stream::{StreamExt, TryStreamExt};
use screen::{KeyPresses, PressedKey, TerminalScreen};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// The maximum number of migrations that are shown: the newest that have not ended.
const MAX_MIGRATIONS: usize = 60;
/// The number of simultaneous requests.
const PARALLEL_REQUESTS: usize = 8;
/// The size of the screen in columns and rows, if it is printed.
const PRINTED_COLUMNS: usize = 160;
const PRINTED_ROWS: usize = 500;

/// Watch all migrations.
#[derive(Debug, Args)]
pub(super) struct Top {
    /// The time between two queries.
    #[arg(long, default_value = "2s", value_name = "DURATION", value_parser = humantime::parse_duration)]
    every: Duration,
    /// The order of the migrations that do not wait for an operator.
    #[arg(long, value_enum, default_value_t)]
    sort: MigrationSort,
}

impl Top {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let term = Term::stdout();
        if !term.is_term() {
            let status = read_status(client).await?;
            super::out::print(
                frame(&status, self.sort, (PRINTED_COLUMNS, PRINTED_ROWS)).join("\n") + "\n",
            );
            return Ok(0);
        }
        self.show(client, term).await
    }

    async fn show(self, client: &Client, term: Term) -> Result<u8, CliError> {
        let mut status = read_status(client).await?;
        let mut sort = self.sort;
        let mut screen = TerminalScreen::open(term)?;
        let mut keys = KeyPresses::listen();
        let (mut terminate, mut hang_up) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        );
        let mut ticks = tokio::time::interval(self.every);
        ticks.reset();
        loop {
            screen.draw(|size| frame(&status, sort, size))?;
            tokio::select! {
                key = keys.next() => match key {
                    Some(PressedKey::Leave) | None => return Ok(0),
                    Some(PressedKey::Sort) => sort = sort.next(),
                },
                _ = terminate.recv() => return Ok(INTERRUPTED),
                _ = hang_up.recv() => return Ok(INTERRUPTED),
                _ = ticks.tick() => match read_status(client).await {
                    Ok(fresh) => status = fresh,
                    // The last status stays on the screen, with the error above it.
                    Err(error) => status.stale = Some(error.to_string()),
                },
            }
        }
    }
}

async fn read_status(client: &Client) -> Result<FleetStatus, CliError> {
    let health: LeadershipHealth = client.get("/api/v1/health").await?;
    let all: Vec<MigrationSummary> = client.get("/api/v1/migrations?limit=1000").await?;
    let agents: Vec<AgentRecord> = client.get("/api/v1/agents").await?;
    let unfinished = all.iter().filter(|m| m.finished_at.is_none());
    let hidden = unfinished.clone().count().saturating_sub(MAX_MIGRATIONS);
    let views: Vec<_> = unfinished
        .take(MAX_MIGRATIONS)
        .map(|m| async move {
            let path = format!("/api/v1/migrations/{}", m.id);
            client.get::<MigrationView>(&path).await
        })
        .collect();
    let views = futures::stream::iter(views).buffered(PARALLEL_REQUESTS);
    Ok(FleetStatus {
        health,
        at: chrono::Utc::now(),
        migrations: views.try_collect().await?,
        hidden,
        ended: all.iter().filter(|m| m.finished_at.is_some()).count(),
        agents,
        stale: None,
    })
}
