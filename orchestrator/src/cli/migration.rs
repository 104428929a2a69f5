//! `shardwright migration VERB ID`, and the same verbs without the noun.

use super::client::Client;
use super::error::{CliError, MIGRATION_FAILED};
use super::follow::follow;
use super::output::{Output, or_dash, table};
use super::{report, watch};
use crate::controller::Command;
use crate::view::{MigrationView, StepView, Summary};
use clap::{Args, Subcommand};
use plans::state::migration::MigrationState;
use serde_json::json;
use std::cell::RefCell;
use std::time::Duration;

/// What can be done with a migration.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List the migrations, newest first.
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Show a migration and its steps.
    Show {
        /// The migration.
        id: String,
        #[command(flatten)]
        output: Output,
    },
    /// Follow a migration until it ends, fails or waits for you.
    Watch(watch::Watch),
    /// Wait until a migration is in a state.
    Wait(Wait),
    /// Let the cutover begin.
    Approve(Order),
    /// Stop at the next safe point.
    Pause(Order),
    /// Go on after a pause or a failure.
    Resume(Order),
    /// Try a step again at once.
    Retry(Order),
    /// Take everything back; possible until the flip.
    Abort(Order),
    /// Give the keys back to the source; possible from the flip to `finish`.
    Rollback(Order),
    /// End the hold: the old rows go.
    Finish(Order),
    /// Print the evidence of a migration.
    Report {
        /// The migration.
        id: String,
        #[command(flatten)]
        output: Output,
    },
}

/// An order.
#[derive(Debug, Args)]
pub(super) struct Order {
    /// The migration.
    id: String,
    /// Why; kept in the journal.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Wait for a state.
#[derive(Debug, Args)]
pub(super) struct Wait {
    /// The migration.
    id: String,
    /// The state.
    #[arg(long = "for", value_parser = state)]
    state: MigrationState,
    /// How long, for example 30s or 5m.
    #[arg(long, default_value = "1h", value_parser = humantime::parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    output: Output,
}

impl Verb {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        match self {
            Self::List { output } => {
                let all: Vec<Summary> = client.get("/api/v1/migrations").await?;
                output.print(&all, |all| list_text(all))
            }
            Self::Show { id, output } => {
                let view: MigrationView = client.get(&format!("/api/v1/migrations/{id}")).await?;
                output.print(&view, show_text)
            }
            Self::Watch(watch) => watch.run(client).await,
            Self::Wait(wait) => wait.run(client).await,
            Self::Approve(order) => order.give(client, Command::Approve).await,
            Self::Pause(order) => order.give(client, Command::Pause).await,
            Self::Resume(order) => order.give(client, Command::Resume).await,
            Self::Retry(order) => order.give(client, Command::Retry).await,
            Self::Abort(order) => order.give(client, Command::Abort).await,
            Self::Rollback(order) => order.give(client, Command::Rollback).await,
            Self::Finish(order) => order.give(client, Command::Finish).await,
            Self::Report { id, output } => report::print(client, &id, output).await,
        }
    }
}

impl Order {
    async fn give(self, client: &Client, command: Command) -> Result<u8, CliError> {
        let path = format!("/api/v1/migrations/{}/{command}", self.id);
        let body = json!({ "reason": self.reason }).to_string();
        let view: MigrationView = client.post(&path, body).await?;
        self.output
            .print(&view, |view| format!("{}\n", view.summary.state))
    }
}

impl Wait {
    async fn run(self, client: &Client) -> Result<u8, CliError> {
        let last: RefCell<Option<MigrationView>> = RefCell::default();
        let see = |view: &MigrationView| {
            let at = view.summary.state;
            last.replace(Some(view.clone()));
            let over = view.summary.finished_at.is_some() || at == MigrationState::Failed;
            match at == self.state {
                true => Some(0),
                false => over.then_some(MIGRATION_FAILED),
            }
        };
        let followed = follow(client, &self.id, see);
        let ended = tokio::time::timeout(self.timeout, followed).await;
        let view = last.into_inner();
        let code = match ended {
            Ok(ended) => ended?,
            Err(_) => {
                return Err(CliError::Timeout {
                    id: self.id,
                    state: or_dash(view.as_ref().map(|view| &view.summary.state)),
                    waited: humantime::format_duration(self.timeout).to_string(),
                    wanted: self.state.to_string(),
                });
            }
        };
        if let Some(view) = view {
            self.output
                .print(&view, |view| format!("{}\n", view.summary.state))?;
            watch::tell_failure(&view);
        }
        Ok(code)
    }
}

/// A state by its name.
pub(super) fn state(name: &str) -> Result<MigrationState, String> {
    MigrationState::parse(name).ok_or_else(|| format!("{name:?} is not a state of a migration"))
}

fn list_text(all: &[Summary]) -> String {
    let row = |m: &Summary| {
        vec![
            m.id.to_string(),
            m.state.to_string(),
            m.operation.clone(),
            m.map.to_string(),
            format!("{} -> {}", m.source, m.target),
            m.keys.to_string(),
            m.created_at
                .to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let head = [
        "ID",
        "STATE",
        "OPERATION",
        "MAP",
        "SHARDS",
        "KEYS",
        "CREATED",
    ];
    table(&head, &rows)
}

/// The migration with its steps, for people.
pub(super) fn show_text(view: &MigrationView) -> String {
    let m = &view.summary;
    let mut text = format!(
        "migration {}: {} of map {}, {} from {} to {}\nstate {}, keys {}, map version {} -> {}\n",
        m.id,
        m.operation,
        m.map,
        m.keys,
        m.source,
        m.target,
        m.state,
        m.ownership,
        m.map_version.before,
        or_dash(m.map_version.back.or(m.map_version.after).as_ref()),
    );
    if let Some(what) = &m.waiting_for {
        text += &format!("waiting for {what}\n");
    }
    if let Some(failure) = &m.failure {
        text += &format!("failed: {} ({})\n", failure.message, failure.code);
    }
    if let Some(hint) = m.failure.as_ref().and_then(|failure| failure.hint.as_ref()) {
        text += &format!("hint: {hint}\n");
    }
    let rows: Vec<_> = view.steps.iter().map(step_row).collect();
    text + "\n" + &table(&["STEP", "STATE", "ATTEMPT", "TOOK", ""], &rows)
}

fn step_row(step: &StepView) -> Vec<String> {
    let took = step.started_at.zip(step.finished_at);
    let took = took.and_then(|(from, to)| (to - from).to_std().ok());
    let took = took.map(|took| format!("{:.1} s", took.as_secs_f64()));
    let remark = match (&step.failure, &step.progress) {
        (Some(failure), _) => failure.message.clone(),
        (None, Some(progress)) => progress.message.clone(),
        (None, None) => String::new(),
    };
    vec![
        step.id.to_string(),
        step.state.to_string(),
        step.attempt.to_string(),
        or_dash(took.as_ref()),
        remark,
    ]
}
