//! Commands to a migration or an operation: the program prints the effect, asks for confirmation, and sends the
//! command.
//!
//! A dry run only asks the controller whether the command is possible now.

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

/// The arguments of a command that another command can undo.
#[derive(Debug, Args)]
pub(super) struct CommandArgs {
    #[command(flatten)]
    target: CommandTarget,
    #[command(flatten)]
    dry: DryRun,
}

/// The arguments of a command that cannot be undone easily.
#[derive(Debug, Args)]
pub(super) struct ConfirmedCommandArgs {
    #[command(flatten)]
    target: CommandTarget,
    #[command(flatten)]
    consent: Consent,
}

/// The arguments of every command.
#[derive(Debug, Args)]
struct CommandTarget {
    /// The operation or migration.
    id: String,
    /// The reason, for the journal.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl CommandArgs {
    pub(super) async fn send(self, client: &Client, command: Command) -> Result<u8, CliError> {
        let dry = self.dry;
        let confirm = |what: &str| Ok(dry.proceed_or_print(what));
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
            let tried = self.try_if_dry(client, &path, dry).await?;
            let consented = confirm(effect_on_all(command))?;
            let view: OperationView = self.send_or_show(client, &path, consented, tried).await?;
            return self.output.print(&view, |view| format!("{}\n", view.state));
        }
        let migration = format!("/api/v1/migrations/{}", self.id);
        let path = format!("{migration}/{command}");
        let tried = self.try_if_dry(client, &path, dry).await?;
        let m: MigrationView = client.get(&migration).await?;
        let is_rolled_back = m.summary.map_version.back.is_some();
        let consented = confirm(&effect(command, &m.plan, m.cancel.as_ref(), is_rolled_back))?;
        let view: MigrationView = self.send_or_show(client, &path, consented, tried).await?;
        if let Some(wait) = view
            .waits
            .first()
            .filter(|_| needs_more_approvals(command, &view))
        {
            eprintln!("the migration {wait}");
        }
        self.output
            .print(&view, |view| format!("{}\n", view.summary.state))
    }

    /// In a dry run, asks the controller whether the command is possible, and returns its answer.
    async fn try_if_dry<V: DeserializeOwned>(
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

    /// Sends the command and returns the view after it. If the user did not consent, returns `tried`.
    async fn send_or_show<V: DeserializeOwned + Serialize>(
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

/// Returns whether an approval was accepted and more approvals are needed.
fn needs_more_approvals(command: Command, view: &MigrationView) -> bool {
    command == Command::Approve && !view.approved && !view.approvals.is_empty()
}
