//! The overview: what needs attention, migrations, agents, maps.

use super::bars::{self, Part};
use super::figures::{bytes, millis, moment};
use super::marks::{self, Mark};
use super::page::{Fragment, Page, PageError};
use super::sentence::{current, holds, is_over, of_view, share, share_of};
use crate::controller::{ControlError, Controller};
use crate::store::{AgentRecord, Migration, ShardRecord, Snapshot};
use crate::view::MigrationView;
use askama::Template;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use plans::shard_map::ShardMap;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;

/// Migrations of the list.
const LIST: i64 = 100;
/// An agent speaks every second; after this long it is missed.
const SILENT: TimeDelta = TimeDelta::seconds(10);

/// The page.
pub(super) async fn show(State(controller): State<Controller>) -> Result<Page, PageError> {
    Ok(Page {
        title: "Overview".to_owned(),
        live: Some("/live/overview".to_owned()),
        fragments: fragments(&controller).await?,
    })
}

/// Its parts as they are now.
pub(super) async fn fragments(controller: &Controller) -> Result<Vec<Fragment>, ControlError> {
    let now = Utc::now();
    let store = controller.store();
    let (unfinished, all) = (store.unfinished().await?, store.list(LIST).await?);
    let (agents, shards) = (store.agents().await?, store.shards().await?);
    let mut maps = store.maps().await?;
    for snapshot in &unfinished {
        maps.iter_mut().for_each(|map| snapshot.migration.mark(map));
    }
    let open: Vec<Open> = unfinished
        .iter()
        .map(|s| Open::new(controller, s, now))
        .collect();
    let agents = Agents::new(&agents, &open, now);
    let items = attention(&open, &agents);
    let rows = all.iter().map(|m| row(m, &open)).collect();
    let ready = !shards.is_empty() && !maps.is_empty();
    Ok(vec![
        Fragment::new("attention", &Attention { items }),
        Fragment::new("migrations", &Migrations { rows, ready }),
        Fragment::new("maps", &Maps::new(&maps, shards)),
        Fragment::new("agents", &agents),
    ])
}

/// A migration that has not ended, with its figures.
struct Open {
    view: MigrationView,
    changed: DateTime<Utc>,
}

impl Open {
    fn new(controller: &Controller, snapshot: &Snapshot, now: DateTime<Utc>) -> Self {
        let figures = controller.figures(&snapshot.migration.id);
        let steps = snapshot.steps.iter();
        let times = steps.flat_map(|step| [step.dispatched_at, step.finished_at]);
        let beat = figures.as_ref().map(|figures| figures.at);
        let times = times.chain([snapshot.migration.started_at, beat]).flatten();
        Self {
            changed: times.fold(snapshot.migration.created_at, DateTime::max),
            view: MigrationView::new(snapshot, figures.as_ref(), now),
        }
    }
}

#[derive(Template)]
#[template(path = "overview/attention.html")]
struct Attention {
    items: Vec<Item>,
}

struct Item {
    mark: Mark,
    href: String,
    title: String,
    text: String,
    hint: Option<String>,
    command: String,
}

fn attention(open: &[Open], agents: &Agents) -> Vec<Item> {
    let mut items: Vec<Item> = open.iter().filter_map(|open| item(&open.view)).collect();
    if !open.is_empty() && agents.rows.iter().all(|agent| !agent.connected) {
        items.push(Item {
            mark: marks::of_trouble("no agent"),
            href: "#agents".to_owned(),
            title: "No agent is connected".to_owned(),
            text: "Nothing moves on until one is; no write is refused meanwhile for longer than the budget.".to_owned(),
            hint: None,
            command: AGENT_COMMAND.to_owned(),
        });
    }
    items
}

fn item(view: &MigrationView) -> Option<Item> {
    let m = &view.summary;
    let retrying = view
        .steps
        .iter()
        .find(|step| step.state == StepState::Backoff);
    let failure = m.failure.as_ref();
    let failure = failure.or_else(|| retrying.and_then(|step| step.failure.as_ref()));
    let retried = retrying.map(|step| (marks::of_step(step.state), "show"));
    let (mark, verb) = match m.state {
        MigrationState::Failed | MigrationState::Paused => (marks::of_migration(m.state), "resume"),
        MigrationState::Waiting => (marks::of_migration(m.state), "approve"),
        MigrationState::Flipped if holds(view) => (marks::of_migration(m.state), "finish"),
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Unwinding
        | MigrationState::Flipped
        | MigrationState::RolledBack => retried?,
        MigrationState::Unwound | MigrationState::Completed => return None,
    };
    Some(Item {
        mark,
        href: format!("/migrations/{}", m.id),
        title: format!("{} {}: {} → {}", m.operation, m.keys, m.source, m.target),
        text: failure.map_or_else(|| of_view(view), |failure| failure.message.clone()),
        hint: failure.and_then(|failure| failure.hint.clone()),
        command: format!("shardwright {verb} {}", m.id),
    })
}

#[derive(Template)]
#[template(path = "overview/migrations.html")]
struct Migrations {
    rows: Vec<Row>,
    /// There are shards and a map, so that a migration may be planned.
    ready: bool,
}

struct Row {
    id: String,
    what: String,
    source: String,
    target: String,
    keys: String,
    mark: Mark,
    step: String,
    share: u8,
    lag: String,
    updated: String,
}

fn row(m: &Migration, open: &[Open]) -> Row {
    let found = open.iter().find(|open| open.view.summary.id == m.id);
    let view = found.map(|open| &open.view);
    let stream = view.and_then(|view| view.stream.as_ref());
    let changed = found.map(|open| open.changed).or(m.finished_at);
    Row {
        id: m.id.to_string(),
        what: m.plan.operation.clone(),
        source: m.plan.moving.source.to_string(),
        target: m.plan.moving.target.to_string(),
        keys: m.plan.moving.keys.to_string(),
        mark: marks::of_migration(view.map_or(m.state, |view| view.summary.state)),
        step: view.map(step).unwrap_or_default(),
        share: view.map_or(100, share),
        lag: stream.map_or_else(
            || "–".to_owned(),
            |s| format!("{}, {}", millis(s.lag_ms), bytes(s.lag_bytes)),
        ),
        updated: moment(changed.unwrap_or(m.created_at)),
    }
}

/// The current step, how far it is, and its place.
fn step(view: &MigrationView) -> String {
    let Some(step) = current(view) else {
        return String::new();
    };
    let over = view.steps.iter().filter(|step| is_over(step)).count();
    let progress = step.progress.as_ref();
    let share = progress.and_then(|progress| share_of(&progress.tables));
    let share = share.map_or_else(String::new, |share| format!(" {share} %"));
    format!("{}{share} ({} of {})", step.id, over + 1, view.steps.len())
}

#[derive(Template)]
#[template(path = "overview/agents.html")]
struct Agents {
    rows: Vec<Agent>,
    command: &'static str,
}

/// How an agent is started.
const AGENT_COMMAND: &str = "shardwright-agent --name agent-1";

struct Agent {
    name: String,
    mark: Mark,
    connected: bool,
    holds: Vec<String>,
    last_seen: String,
}

impl Agents {
    fn new(agents: &[AgentRecord], open: &[Open], now: DateTime<Utc>) -> Self {
        let agent = |agent: &AgentRecord| {
            let connected = now - agent.last_seen < SILENT;
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
            command: AGENT_COMMAND,
        }
    }
}

#[derive(Template)]
#[template(path = "overview/maps.html")]
struct Maps {
    maps: Vec<MapRow>,
    shards: Vec<String>,
}

struct MapRow {
    name: String,
    version: String,
    parts: Vec<Part>,
}

impl Maps {
    fn new(maps: &[ShardMap], shards: Vec<ShardRecord>) -> Self {
        let map = |map: &ShardMap| MapRow {
            name: map.name.to_string(),
            version: map.version.to_string(),
            parts: bars::parts(&map.mappings),
        };
        Self {
            maps: maps.iter().map(map).collect(),
            shards: shards.into_iter().map(|s| s.name.to_string()).collect(),
        }
    }
}
