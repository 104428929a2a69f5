//! Agents that do not report.

use super::super::super::agents::{START_COMMAND, is_connected};
use super::super::super::marks;
use super::super::super::open::OpenMigration;
use super::{AttentionItem, ItemButtons};
use crate::store::AgentRecord;
use crate::view::figures::ago;
use chrono::{DateTime, Utc};
use plans::request::Mode;

/// Returns an item if migrations need an agent and none is connected, otherwise one if some agents are silent.
pub(super) fn missing(
    agents: &[AgentRecord],
    unfinished: &[OpenMigration],
    now: DateTime<Utc>,
) -> Option<AttentionItem> {
    let silent: Vec<&AgentRecord> = agents
        .iter()
        .filter(|agent| !is_connected(agent, now))
        .collect();
    if silent.len() == agents.len() && !unfinished.is_empty() {
        let state = if agents.is_empty() {
            "no agent"
        } else {
            "silent"
        };
        return Some(no_agent(unfinished, state));
    }
    let first = silent.first()?;
    let title = match silent.len() {
        1 => format!("Agent {} is silent", first.name),
        count => format!("{count} agents are silent"),
    };
    Some(AttentionItem {
        title,
        since: Some(ago(first.last_seen)).filter(|_| silent.len() == 1),
        text: "It sent no heartbeat. Other agents take over its migrations when its lease ends; remove its record if it does not come back.".to_owned(),
        command: format!("shardwright agent remove {}", first.name),
        ..item("silent")
    })
}

fn no_agent(unfinished: &[OpenMigration], state: &'static str) -> AttentionItem {
    let has_offline_move = unfinished
        .iter()
        .any(|migration| migration.view.summary.mode == Mode::Offline);
    let effect = if has_offline_move {
        "keys that move offline may stay read-only."
    } else {
        "writes are blocked at most for the budget."
    };
    AttentionItem {
        title: "No agent is connected".to_owned(),
        text: format!("All migrations stop until an agent is connected. Meanwhile {effect}"),
        command: START_COMMAND.to_owned(),
        ..item(state)
    }
}

fn item(state: &'static str) -> AttentionItem {
    AttentionItem {
        mark: marks::of_trouble(state),
        href: "/agents".to_owned(),
        title: String::new(),
        since: None,
        text: String::new(),
        hint: None,
        buttons: ItemButtons::details_only("/agents"),
        command: String::new(),
    }
}
