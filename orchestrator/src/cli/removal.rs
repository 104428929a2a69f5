//! The options of the commands that remove or revoke an object, and what these commands print.

use super::client::Client;
use super::consent::Consent;
use super::error::CliError;
use super::output::Output;
use clap::Args;
use serde::Serialize;

/// The options of a command that removes or revokes an object.
#[derive(Debug, Args)]
pub(super) struct Removal {
    /// The reason, for the audit trail.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    output: Output,
}

/// What a command removes.
#[derive(Debug, Serialize)]
pub(super) struct RemovedObject<'a> {
    /// The kind of the object: `agent`, `map`, `shard` or `token`.
    pub(super) kind: &'static str,
    /// The name of the object.
    pub(super) name: &'a str,
}

impl Removal {
    /// Returns true if the command must not change anything.
    pub(super) fn is_dry(&self) -> bool {
        self.consent.dry().is_dry()
    }

    /// Removes the object after a confirmation, and prints it. `what` is the change in words.
    pub(super) async fn run(
        self,
        client: &Client,
        object: RemovedObject<'_>,
        what: &str,
    ) -> Result<u8, CliError> {
        if !self.consent.is_confirmed(what, object.name)? {
            return Ok(0);
        }
        let path = format!("/api/v1/{}s/{}", object.kind, object.name);
        client.delete(&path, self.reason.as_deref()).await?;
        self.output.print(&object, RemovedObject::text)
    }
}

impl RemovedObject<'_> {
    fn text(&self) -> String {
        // A token stays in the list of tokens.
        let outcome = match self.kind {
            "token" => "revoked",
            _ => "removed",
        };
        format!("{} {} {outcome}\n", self.kind, self.name)
    }
}
