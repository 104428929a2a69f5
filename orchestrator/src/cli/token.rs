//! `shardwright token`.

use super::client::Client;
use super::consent::DryRun;
use super::error::CliError;
use super::keys::pair;
use super::output::{Output, TextTable, json, or_dash};
use super::removal::{Removal, RemovedObject};
use crate::access::{NewToken, Role};
use crate::api::IssuedToken;
use crate::cli::out::report;
use crate::store::TokenRecord;
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};

/// Tokens.
#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Create a token and print it. It is never shown again.
    Create(TokenCreateArgs),
    /// List the tokens.
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Revoke a token. The controller then refuses it.
    Revoke {
        /// The name of the token.
        name: String,
        #[command(flatten)]
        removal: Removal,
    },
}

/// Create a token.
#[derive(Debug, Args)]
pub(super) struct TokenCreateArgs {
    /// The name of the user in the journal and the audit trail; for an agent the agent's name.
    name: String,
    /// viewer, operator, approver, admin, application or agent.
    #[arg(long)]
    role: Role,
    /// For an agent: permit only migrations between shards with this label; may be given several times.
    #[arg(long = "label", value_name = "LABEL=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
    /// The number of days until the token expires; by default it does not expire.
    #[arg(long)]
    days: Option<u32>,
    #[command(flatten)]
    dry: DryRun,
    #[command(flatten)]
    output: Output,
}

impl TokenCommand {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        match self {
            Self::Create(create) => create.run(client).await,
            Self::List { output } => {
                let tokens: Vec<TokenRecord> = client.get("/api/v1/tokens").await?;
                output.print(&tokens, |tokens| list_text(tokens))
            }
            Self::Revoke { name, removal } => {
                let what = format!(
                    "Revokes the token {name} permanently: the controller refuses it from now on."
                );
                let object = RemovedObject {
                    kind: "token",
                    name: &name,
                };
                removal.run(client, object, &what).await
            }
        }
    }
}

impl TokenCreateArgs {
    async fn run(self, client: &Client) -> Result<u8, CliError> {
        let what = format!(
            "Creates a token for {} with the role {}.",
            self.name, self.role
        );
        if !self.dry.proceed_or_print(&what) {
            return Ok(0);
        }
        let new = NewToken {
            name: self.name,
            role: self.role,
            labels: self.labels.into_iter().collect(),
            days: self.days,
        };
        let issued: IssuedToken = client.post("/api/v1/tokens", json(&new)?).await?;
        report!("store the token now: it is not shown again");
        self.output
            .print(&issued, |issued| format!("{}\n", issued.token))
    }
}

fn list_text(tokens: &[TokenRecord]) -> TextTable {
    let day = |at: &DateTime<Utc>| at.format("%Y-%m-%d").to_string();
    let row = |token: &TokenRecord| {
        let labels = token
            .labels
            .iter()
            .map(|(label, value)| format!("{label}={value}"));
        let labels: Vec<_> = labels.collect();
        vec![
            token.name.clone(),
            token.role.to_string(),
            or_dash(Some(&labels.join(",")).filter(|text| !text.is_empty())),
            token.created_by.clone(),
            day(&token.created_at),
            or_dash(token.ends_at.as_ref().map(day).as_ref()),
            or_dash(token.revoked_at.as_ref().map(day).as_ref()),
        ]
    };
    let head = [
        "NAME", "ROLE", "LABELS", "MADE BY", "MADE", "ENDS", "REVOKED",
    ];
    TextTable::new(&head, tokens.iter().map(row).collect())
}
