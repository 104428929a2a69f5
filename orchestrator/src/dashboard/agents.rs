//! The page of the agents: which agents are connected, which migrations each one holds, and which steps it runs.

use super::marks::{self, StateMark};
use super::page::{DashboardPage, Fragment, PageError};
use super::step_words::step_words;
use crate::access::Caller;
use crate::controller::{ControlError, Controller};
use crate::store::{AgentRecord, Snapshot};
use crate::view::MigrationView;
use crate::view::figures::{ago, bytes, count, moment, seconds};
use crate::view::sentence::current;
use askama::Template;
use axum::Extension;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};

/// An agent sends a heartbeat every second. After this time without one the page shows it as not connected.
const CONNECTED_FOR: TimeDelta = TimeDelta::seconds(10);
/// The command that starts an agent.
pub(super) const START_COMMAND: &str = "shardwright-agent --name agent-1";

/// Returns whether the agent is connected at `now`.
pub(crate) fn is_connected(agent: &AgentRecord, now: DateTime<Utc>) -> bool {
    now - agent.last_seen < CONNECTED_FOR
}

/// Returns the word for the state of an agent.
pub(crate) fn state_name(is_connected: bool) -> &'static str {
    match is_connected {
        true => "connected",
        false => "silent",
    }
}

#[derive(Template)]
#[template(path = "agents/list.html")]
struct AgentsPage {
    rows: Vec<AgentStateRow>,
    /// Migrations that no agent holds, although an agent could claim them.
    orphans: Vec<String>,
    /// The first agent that is not connected.
    silent: Option<String>,
    command: String,
}

struct AgentStateRow {
    name: String,
    mark: StateMark,
    instance: String,
    /// The host on which the agent runs; empty if the agent does not report it.
    host: String,
    held: Vec<HeldMigrationRow>,
    last_seen: String,
}

/// A migration that an agent holds.
struct HeldMigrationRow {
    id: String,
    what: String,
    step: &'static str,
    rate: String,
    lease: String,
}

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
) -> Result<DashboardPage, PageError> {
    Ok(DashboardPage {
        title: "Agents".to_owned(),
        live: Some("/live/agents".to_owned()),
        fragments: fragments(&controller).await?,
        caller: Some(caller),
    })
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(controller: &Controller) -> Result<Vec<Fragment>, ControlError> {
    let now = Utc::now();
    let agents = controller.store().agents().await?;
    let unfinished = controller.store().unfinished().await?;
    let rows = agents
        .iter()
        .map(|agent| row(controller, agent, &unfinished, now));
    let orphans = unfinished
        .iter()
        .filter(|snapshot| snapshot.running().is_some() && snapshot.live_owner(now).is_none());
    let silent = agents.iter().find(|agent| !is_connected(agent, now));
    let page = AgentsPage {
        rows: rows.collect(),
        silent: silent.map(|agent| agent.name.to_string()),
        orphans: orphans.map(|s| s.migration.id.to_string()).collect(),
        command: format!("{START_COMMAND} --controller {}", controller.url()),
    };
    Ok(vec![Fragment::new("agents", &page)])
}

fn row(
    controller: &Controller,
    agent: &AgentRecord,
    unfinished: &[std::sync::Arc<Snapshot>],
    now: DateTime<Utc>,
) -> AgentStateRow {
    let held_by_agent = unfinished.iter().filter(|snapshot| {
        let owner = snapshot.live_owner(now);
        owner.is_some_and(|owner| owner.instance == agent.instance)
    });
    AgentStateRow {
        name: agent.name.to_string(),
        mark: marks::of_agent(is_connected(agent, now)),
        instance: agent.instance.to_string(),
        host: agent.host.clone().unwrap_or_default(),
        held: held_by_agent
            .map(|snapshot| held_row(controller, snapshot, now))
            .collect(),
        last_seen: ago(agent.last_seen),
    }
}

fn held_row(controller: &Controller, snapshot: &Snapshot, now: DateTime<Utc>) -> HeldMigrationRow {
    let m = &snapshot.migration;
    let figures = controller.figures(&m.id);
    let view = MigrationView::new(snapshot, figures.as_ref(), now);
    let step = current(&view);
    let progress = step.and_then(|step| step.progress.as_ref());
    let rate = progress.filter(|p| p.rows_per_second > 0.0).map(|p| {
        let left = p.eta_seconds.map(|eta| format!(", {} left", seconds(eta)));
        format!(
            "{} rows/s, {}/s{}",
            count(p.rows_per_second as i64),
            bytes(p.bytes_per_second as i64),
            left.unwrap_or_default()
        )
    });
    HeldMigrationRow {
        id: m.id.to_string(),
        what: format!("{} → {}", m.plan.moving.source, m.plan.moving.target),
        step: step.map_or("", |step| step_words(step.kind)),
        rate: rate.unwrap_or_default(),
        lease: snapshot.lease_until.map(moment).unwrap_or_default(),
    }
}
