//! `shardwright agent`.

use super::client::Client;
use super::error::CliError;
use super::output::{Output, TextTable};
use crate::store::AgentRecord;
use clap::Subcommand;

/// Agents.
#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
    /// List all agents that have ever sent a request.
    List {
        #[command(flatten)]
        output: Output,
    },
}

impl AgentCommand {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let Self::List { output } = self;
        let agents: Vec<AgentRecord> = client.get("/api/v1/agents").await?;
        output.print(&agents, |agents| {
            let row = |a: &AgentRecord| {
                let last_seen = a
                    .last_seen
                    .to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
                vec![a.name.to_string(), a.instance.to_string(), last_seen]
            };
            TextTable::new(
                &["NAME", "INSTANCE", "LAST SEEN"],
                agents.iter().map(row).collect(),
            )
        })
    }
}
