//! The agents: which speak, and what they hold.

use super::super::agents::{COMMAND, is_connected};
use super::super::marks::{self, Mark};
use super::super::open::Open;
use crate::store::AgentRecord;
use crate::view::figures::moment;
use askama::Template;
use chrono::{DateTime, Utc};

/// All agents that ever spoke.
#[derive(Template)]
#[template(path = "overview/agents.html")]
pub(super) struct Agents {
    rows: Vec<Agent>,
    command: &'static str,
}

struct Agent {
    name: String,
    mark: Mark,
    connected: bool,
    holds: Vec<String>,
    last_seen: String,
}

impl Agents {
    /// The agents at `now`, with those of `open` that they hold.
    pub(super) fn new(agents: &[AgentRecord], open: &[Open], now: DateTime<Utc>) -> Self {
        let agent = |agent: &AgentRecord| {
            let connected = is_connected(agent, now);
            let views = open.iter().map(|open| &open.view);
            let held = views.filter(|view| {
                let owner = view.owner.as_ref();
                owner.is_some_and(|o| o.live && o.instance == agent.instance)
            });
            Agent {
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

    /// True when no agent can be heard.
    pub(super) fn are_silent(&self) -> bool {
        self.rows.iter().all(|agent| !agent.connected)
    }
}
