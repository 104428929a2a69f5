//! `shardwright agent`.

use super::client::Client;
use super::error::CliError;
use super::output::{Output, TextTable, or_dash};
use super::removal::{Removal, RemovedObject};
use crate::dashboard::agents::{is_connected, state_name};
use crate::store::AgentRecord;
use crate::view::Tone;
use chrono::{DateTime, Utc};
use clap::Subcommand;

/// Agents.
#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
    /// List all agents that have ever sent a request.
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Remove the record of an agent that does not come back.
    ///
    /// The controller refuses this while the agent runs, while an unfinished migration is assigned to it, and while its
    /// spool has changes that a migration lacks. The token of the agent stays valid: `shardwright token revoke` revokes
    /// it.
    Remove {
        /// The name of the agent.
        name: String,
        #[command(flatten)]
        removal: Removal,
    },
}

impl AgentCommand {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        match self {
            Self::List { output } => {
                let agents: Vec<AgentRecord> = client.get("/api/v1/agents").await?;
                let now = Utc::now();
                output.print(&agents, |agents| list_text(agents, now))
            }
            Self::Remove { name, removal } => {
                if removal.is_dry() {
                    let path = format!("/api/v1/agents/{name}/removal");
                    let _: AgentRecord = client.get(&path).await?;
                }
                let what = format!(
                    "Removes agent {name} from the list of agents; its token and the files in its spool stay."
                );
                let object = RemovedObject {
                    kind: "agent",
                    name: &name,
                };
                removal.run(client, object, &what).await
            }
        }
    }
}

fn list_text(agents: &[AgentRecord], now: DateTime<Utc>) -> TextTable {
    let row = |agent: &AgentRecord| {
        let last_seen = agent.last_seen;
        vec![
            agent.name.to_string(),
            state_name(is_connected(agent, now)).to_owned(),
            agent.instance.to_string(),
            last_seen.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            or_dash(agent.host.as_ref()),
        ]
    };
    let head = ["NAME", "STATE", "INSTANCE", "LAST SEEN", "HOST"];
    let table = TextTable::new(&head, agents.iter().map(row).collect()).wide(1);
    table.toned("STATE", |state| {
        Some(Tone::of_agent(state == state_name(true)))
    })
}
