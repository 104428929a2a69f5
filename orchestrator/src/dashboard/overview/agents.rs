//! The agents on the overview: which agents are connected, and which migrations they hold.

use super::super::agents::{START_COMMAND, is_connected};
use super::super::marks::{self, StateMark};
use super::super::open::OpenMigration;
use crate::store::AgentRecord;
use crate::view::figures::ago;
use askama::Template;
use chrono::{DateTime, Utc};

/// The list of all agents that have ever sent a request.
#[derive(Template)]
#[template(path = "overview/agents.html")]
pub(super) struct OverviewAgents {
    rows: Vec<OverviewAgentRow>,
    command: &'static str,
}

struct OverviewAgentRow {
    name: String,
    mark: StateMark,
    is_connected: bool,
    /// The ids of the migrations whose leases the agent has.
    migrations: Vec<String>,
    last_seen: String,
}

impl OverviewAgents {
    /// Returns the agents at `now`, each with its migrations from `unfinished`.
    pub(super) fn new(
        agents: &[AgentRecord],
        unfinished: &[OpenMigration],
        now: DateTime<Utc>,
    ) -> Self {
        let agent = |agent: &AgentRecord| {
            let is_connected = is_connected(agent, now);
            let views = unfinished.iter().map(|migration| &migration.view);
            let held = views.filter(|view| {
                let owner = view.owner.as_ref();
                owner.is_some_and(|o| o.live && o.instance == agent.instance)
            });
            OverviewAgentRow {
                name: agent.name.to_string(),
                mark: marks::of_agent(is_connected),
                is_connected,
                migrations: held.map(|view| view.summary.id.to_string()).collect(),
                last_seen: ago(agent.last_seen),
            }
        };
        Self {
            rows: agents.iter().map(agent).collect(),
            command: START_COMMAND,
        }
    }

    /// Returns true if no agent is connected.
    pub(super) fn none_is_connected(&self) -> bool {
        self.rows.iter().all(|agent| !agent.is_connected)
    }
}
