//! What waits for a person, with the command that helps.

use super::super::agents::COMMAND;
use super::super::marks::{self, StateMark};
use super::super::open::OpenMigration;
use super::agents::OverviewAgents;
use crate::view::MigrationView;
use crate::view::sentence::{is_open_ended_hold, migration_sentence};
use askama::Template;
use plans::inspection::reconcile::Contradiction;
use plans::request::Mode;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;

/// Everything that waits for a person.
#[derive(Template)]
#[template(path = "overview/attention.html")]
pub(super) struct OverviewAttention {
    items: Vec<AttentionItem>,
}

struct AttentionItem {
    mark: StateMark,
    href: String,
    title: String,
    text: String,
    hint: Option<String>,
    command: String,
}

/// A migration that needs a command from an operator.
struct MigrationNeed<'a> {
    view: &'a MigrationView,
    mark: StateMark,
    verb: &'static str,
}

impl OverviewAttention {
    /// Collects what `open` and the agents need. Moves of one operation that need the same command form one item.
    pub(super) fn new(
        open: &[OpenMigration],
        agents: &OverviewAgents,
        findings: Vec<Contradiction>,
    ) -> Self {
        let needs: Vec<MigrationNeed<'_>> =
            open.iter().filter_map(|open| need(&open.view)).collect();
        let mut items: Vec<AttentionItem> = findings.into_iter().map(contradiction).collect();
        for (index, need) in needs.iter().enumerate() {
            let alike = |other: &&MigrationNeed<'_>| need.is_like(other);
            if needs[..index].iter().any(|before| alike(&before)) {
                continue;
            }
            match needs.iter().filter(alike).count() {
                0 | 1 => items.push(item(need)),
                several => items.push(item_of_several(need, several)),
            }
        }
        if !open.is_empty() && agents.are_silent() {
            items.push(no_agent(open));
        }
        Self { items }
    }
}

impl MigrationNeed<'_> {
    /// Returns true if one command helps both moves: they belong to one operation and have not failed. Each failure is
    /// an item.
    fn is_like(&self, other: &Self) -> bool {
        let (own, theirs) = (&self.view.summary, &other.view.summary);
        let failed = failure(self.view).is_some() || failure(other.view).is_some();
        own.id == theirs.id
            || (!failed
                && own.operation_id == theirs.operation_id
                && own.state == theirs.state
                && self.verb == other.verb)
    }
}

fn need(view: &MigrationView) -> Option<MigrationNeed<'_>> {
    let m = &view.summary;
    let mark = marks::of_migration(m.state);
    let (mark, verb) = match m.state {
        MigrationState::Failed | MigrationState::Paused => (mark, "resume"),
        MigrationState::Waiting => (mark, "approve"),
        MigrationState::Flipped if is_open_ended_hold(view) => (mark, "finish"),
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Unwinding
        | MigrationState::Flipped
        | MigrationState::RolledBack => (marks::of_step(retried(view)?), "show"),
        MigrationState::Unwound | MigrationState::Completed => return None,
    };
    Some(MigrationNeed { view, mark, verb })
}

fn retried(view: &MigrationView) -> Option<StepState> {
    let mut states = view.steps.iter().map(|step| step.state);
    states.find(|state| *state == StepState::Backoff)
}

fn failure(view: &MigrationView) -> Option<&plans::failure::Failure> {
    let mut steps = view.steps.iter();
    let retrying = steps.find(|step| step.state == StepState::Backoff);
    let failure = view.summary.failure.as_ref();
    failure.or_else(|| retrying.and_then(|step| step.failure.as_ref()))
}

fn item(need: &MigrationNeed<'_>) -> AttentionItem {
    let m = &need.view.summary;
    let failure = failure(need.view);
    AttentionItem {
        mark: need.mark,
        href: format!("/migrations/{}", m.id),
        title: format!("{} {}: {} → {}", m.operation, m.keys, m.source, m.target),
        text: failure.map_or_else(
            || migration_sentence(need.view),
            |failure| failure.message.clone(),
        ),
        hint: failure.and_then(|failure| failure.hint.clone()),
        command: format!("shardwright {} {}", need.verb, m.id),
    }
}

fn item_of_several(need: &MigrationNeed<'_>, several: usize) -> AttentionItem {
    let m = &need.view.summary;
    let text = match m.state {
        MigrationState::Waiting => {
            "They are copied and verified; their sources own the keys until you approve the cutovers."
        }
        MigrationState::Flipped => {
            "Their targets own the keys; the old rows are kept until you finish or roll back."
        }
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Paused
        | MigrationState::Failed
        | MigrationState::Unwinding
        | MigrationState::Unwound
        | MigrationState::Completed
        | MigrationState::RolledBack => "They were stopped by the operator.",
    };
    AttentionItem {
        mark: need.mark,
        href: format!("/operations/{}", m.operation_id),
        title: format!("{} on map {}: {several} moves", m.operation, m.map),
        text: text.to_owned(),
        hint: None,
        command: format!("shardwright {} {}", need.verb, m.operation_id),
    }
}

/// Describes a shard that contradicts the map.
fn contradiction(finding: Contradiction) -> AttentionItem {
    let title = match &finding.map {
        Some(map) => format!("Shard {} contradicts map {map}", finding.shard),
        None => format!("Shard {} is not the server that it was", finding.shard),
    };
    AttentionItem {
        mark: marks::of_trouble(finding.kind.name()),
        href: "#maps".to_owned(),
        title,
        text: format!("It shows that {}.", finding.message),
        hint: Some(finding.hint),
        command: "shardwright reconcile".to_owned(),
    }
}

fn no_agent(open: &[OpenMigration]) -> AttentionItem {
    let offline = open
        .iter()
        .any(|open| open.view.summary.mode == Mode::Offline);
    let meanwhile = if offline {
        "keys that move offline may stay read-only meanwhile."
    } else {
        "no write is refused meanwhile for longer than the budget."
    };
    AttentionItem {
        mark: marks::of_trouble("no agent"),
        href: "#agents".to_owned(),
        title: "No agent is connected".to_owned(),
        text: format!("Nothing moves on until one is; {meanwhile}"),
        hint: None,
        command: COMMAND.to_owned(),
    }
}
