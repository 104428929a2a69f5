//! The agents on the overview: which agents are connected, and which migrations they hold.

use super::super::agents::{COMMAND, is_connected};
use super::super::marks::{self, StateMark};
use super::super::open::OpenMigration;
use crate::store::AgentRecord;
use crate::view::figures::moment;
use askama::Template;
use chrono::{DateTime, Utc};

/// All agents that have ever connected.
#[derive(Template)]
#[template(path = "overview/agents.html")]
pub(super) struct OverviewAgents {
    rows: Vec<OverviewAgentRow>,
    command: &'static str,
}

struct OverviewAgentRow {
    name: String,
    mark: StateMark,
    connected: bool,
    holds: Vec<String>,
    last_seen: String,
}

impl OverviewAgents {
    /// Returns the agents at `now`, each with its migrations from `open`.
    pub(super) fn new(agents: &[AgentRecord], open: &[OpenMigration], now: DateTime<Utc>) -> Self {
        let agent = |agent: &AgentRecord| {
            let connected = is_connected(agent, now);
            let views = open.iter().map(|open| &open.view);
            let held = views.filter(|view| {
                let owner = view.owner.as_ref();
                owner.is_some_and(|o| o.live && o.instance == agent.instance)
            });
            OverviewAgentRow {
                name: agent.name.to_string(),
                mark: marks::of_agent(connected),
                connected,
                holds: held.map(|view| view.summary.id.to_string()).collect(),
                last_seen: moment(agent.last_seen),
            }
        };
        Self {
            rows: agents.iter().map(agent).collect(),
            command: COMMAND,
        }
    }

    /// Returns true if no agent is connected.
    pub(super) fn are_silent(&self) -> bool {
        self.rows.iter().all(|agent| !agent.connected)
    }
}
