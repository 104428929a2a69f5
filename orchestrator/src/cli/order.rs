//! Orders to a migration or an operation: said, consented to, given.
//!
//! A dry run asks the controller whether the order is possible now, and gives none.

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

/// An order that is taken back by another one.
#[derive(Debug, Args)]
pub(super) struct Order {
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    dry: DryRun,
}

/// An order that is not taken back easily.
#[derive(Debug, Args)]
pub(super) struct GraveOrder {
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    consent: Consent,
}

/// What every order says.
#[derive(Debug, Args)]
struct Given {
    /// The operation or migration.
    id: String,
    /// Why; kept in the journal.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Order {
    pub(super) async fn give(self, client: &Client, command: Command) -> Result<u8, CliError> {
        let dry = self.dry;
        let ask = |what: &str| Ok(dry.goes_on(what));
        self.given.give(client, command, dry, ask).await
    }
}

impl GraveOrder {
    pub(super) async fn give(self, client: &Client, command: Command) -> Result<u8, CliError> {
        let (consent, id) = (self.consent, self.given.id.clone());
        let ask = |what: &str| consent.is_given(what, &id);
        self.given.give(client, command, consent.dry(), ask).await
    }
}

impl Given {
    async fn give(
        self,
        client: &Client,
        command: Command,
        dry: DryRun,
        ask: impl FnOnce(&str) -> Result<bool, CliError>,
    ) -> Result<u8, CliError> {
        if operation::with_moves(client, &self.id).await?.is_some() {
            let path = format!("{}/{command}", operation::path(&self.id));
            let possible = self.tried(client, &path, dry).await?;
            let consented = ask(effect_on_all(command))?;
            let view: OperationView = self.answer(client, &path, consented, possible).await?;
            return self.output.print(&view, |view| format!("{}\n", view.state));
        }
        let migration = format!("/api/v1/migrations/{}", self.id);
        let path = format!("{migration}/{command}");
        let possible = self.tried(client, &path, dry).await?;
        let m: MigrationView = client.get(&migration).await?;
        let back = m.summary.map_version.back.is_some();
        let consented = ask(&effect(command, &m.plan, m.cancel.as_ref(), back))?;
        let view: MigrationView = self.answer(client, &path, consented, possible).await?;
        if let Some(wait) = view.waits.first().filter(|_| more_wanted(command, &view)) {
            eprintln!("it {wait}");
        }
        self.output
            .print(&view, |view| format!("{}\n", view.summary.state))
    }

    /// What the controller says to an order that is only tried.
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

    /// What the order made of it, or what it would be made of.
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
