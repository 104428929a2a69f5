//! `shardwright top`: the fleet's migrations on one screen, first what waits for an operator, until `q` is typed.
//!
//! Where stdout is no terminal, one picture is printed and the command ends.

mod frame;
mod screen;

use super::client::Client;
use super::error::{CliError, INTERRUPTED};
use crate::api::LeadershipHealth;
use crate::store::AgentRecord;
use crate::view::{MigrationSummary, MigrationView};
use clap::Args;
use console::{Key, Term};
use frame::{FleetStatus, MigrationSort, frame};
use futures::stream::{StreamExt, TryStreamExt};
use screen::{KeyPresses, TerminalScreen};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Migrations that are requested, the newest of those that have not ended.
const MOST_MIGRATIONS: usize = 60;
/// Requests at a time.
const AT_ONCE: usize = 8;
/// What one picture shows where it is printed.
const WIDTH: usize = 160;
const HEIGHT: usize = 500;

/// Watch all migrations.
#[derive(Debug, Args)]
pub(super) struct Top {
    /// Between two queries.
    #[arg(long, default_value = "2s", value_name = "DURATION", value_parser = humantime::parse_duration)]
    every: Duration,
    /// What comes first of those that do not wait for an operator.
    #[arg(long, value_enum, default_value_t)]
    sort: MigrationSort,
}

impl Top {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let term = Term::stdout();
        if !term.is_term() {
            let status = read_status(client).await?;
            super::out::print(frame(&status, self.sort, (WIDTH, HEIGHT)).join("\n") + "\n");
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
                    Some(Key::Char('q') | Key::Escape | Key::CtrlC) | None => return Ok(0),
                    Some(Key::Char('s')) => sort = sort.next(),
                    Some(_) => {}
                },
                _ = terminate.recv() => return Ok(INTERRUPTED),
                _ = hang_up.recv() => return Ok(INTERRUPTED),
                _ = ticks.tick() => match read_status(client).await {
                    Ok(fresh) => status = fresh,
                    // The last status stays, with the error above it.
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
    let open = all.iter().filter(|m| m.finished_at.is_none());
    let hidden = open.clone().count().saturating_sub(MOST_MIGRATIONS);
    let views: Vec<_> = open
        .take(MOST_MIGRATIONS)
        .map(|m| async move {
            let path = format!("/api/v1/migrations/{}", m.id);
            client.get::<MigrationView>(&path).await
        })
        .collect();
    let views = futures::stream::iter(views).buffered(AT_ONCE);
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
