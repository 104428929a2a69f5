//! Commands to a migration or an operation: described, confirmed, sent.
//!
//! A dry run queries the controller whether the command is possible now, and sends none.

use super::client::Client;
use super::consent::{Consent, DryRun};
use super::error::CliError;
use super::operation;
use super::output::Output;
use crate::controller::Command;
use crate::view::{MigrationView, OperationView, effect, effect_on_all};
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// A command that another one undoes.
#[derive(Debug, Args)]
pub(super) struct CommandArgs {
    #[command(flatten)]
    target: CommandTarget,
    #[command(flatten)]
    dry: DryRun,
}

/// A command that is not undone easily.
#[derive(Debug, Args)]
pub(super) struct ConfirmedCommandArgs {
    #[command(flatten)]
    target: CommandTarget,
    #[command(flatten)]
    consent: Consent,
}

/// What every command has.
#[derive(Debug, Args)]
struct CommandTarget {
    /// The operation or migration.
    id: String,
    /// Why; kept in the journal.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl CommandArgs {
    pub(super) async fn send(self, client: &Client, command: Command) -> Result<u8, CliError> {
        let dry = self.dry;
        let confirm = |what: &str| Ok(dry.goes_on(what));
        self.target.send(client, command, dry, confirm).await
    }
}

impl ConfirmedCommandArgs {
    pub(super) async fn send(self, client: &Client, command: Command) -> Result<u8, CliError> {
        let (consent, id) = (self.consent, self.target.id.clone());
        let confirm = |what: &str| consent.is_confirmed(what, &id);
        self.target
            .send(client, command, consent.dry(), confirm)
            .await
    }
}

impl CommandTarget {
    async fn send(
        self,
        client: &Client,
        command: Command,
        dry: DryRun,
        confirm: impl FnOnce(&str) -> Result<bool, CliError>,
    ) -> Result<u8, CliError> {
        if operation::with_moves(client, &self.id).await?.is_some() {
            let path = format!("{}/{command}", operation::path(&self.id));
            let possible = self.tried(client, &path, dry).await?;
            let consented = confirm(effect_on_all(command))?;
            let view: OperationView = self.answer(client, &path, consented, possible).await?;
            return self.output.print(&view, |view| format!("{}\n", view.state));
        }
        let migration = format!("/api/v1/migrations/{}", self.id);
        let path = format!("{migration}/{command}");
        let possible = self.tried(client, &path, dry).await?;
        let m: MigrationView = client.get(&migration).await?;
        let back = m.summary.map_version.back.is_some();
        let consented = confirm(&effect(command, &m.plan, m.cancel.as_ref(), back))?;
        let view: MigrationView = self.answer(client, &path, consented, possible).await?;
        if let Some(wait) = view.waits.first().filter(|_| more_wanted(command, &view)) {
            eprintln!("it {wait}");
        }
        self.output
            .print(&view, |view| format!("{}\n", view.summary.state))
    }

    /// The controller's answer to a command that is only tried.
    async fn tried<V: DeserializeOwned>(
        &self,
        client: &Client,
        path: &str,
        dry: DryRun,
    ) -> Result<Option<V>, CliError> {
        match dry.is_dry() {
            true => client.get(path).await.map(Some),
            false => Ok(None),
        }
    }

    /// The view after the command, or the one that was tried.
    async fn answer<V: DeserializeOwned + Serialize>(
        &self,
        client: &Client,
        path: &str,
        consented: bool,
        tried: Option<V>,
    ) -> Result<V, CliError> {
        match tried.filter(|_| !consented) {
            Some(view) => Ok(view),
            None => {
                let body = json!({ "reason": self.reason }).to_string();
                client.post(path, body).await
            }
        }
    }
}

/// True when an approval was taken that is not enough.
fn more_wanted(command: Command, view: &MigrationView) -> bool {
    command == Command::Approve && !view.approved && !view.approvals.is_empty()
}
