//! What waits for an operator, with the command to give.

use super::super::agents::START_COMMAND;
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

/// Everything that waits for an operator.
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
    /// Collects what the unfinished migrations and the agents need. Moves of one operation that need the same command
    /// form one item.
    pub(super) fn new(
        unfinished: &[OpenMigration],
        agents: &OverviewAgents,
        findings: Vec<Contradiction>,
    ) -> Self {
        let needs: Vec<MigrationNeed<'_>> = unfinished
            .iter()
            .filter_map(|migration| need(&migration.view))
            .collect();
        let mut items: Vec<AttentionItem> = findings.into_iter().map(contradiction).collect();
        for (index, need) in needs.iter().enumerate() {
            let is_same_need = |other: &&MigrationNeed<'_>| need.is_met_with(other);
            if needs[..index].iter().any(|earlier| is_same_need(&earlier)) {
                continue;
            }
            match needs.iter().filter(is_same_need).count() {
                0 | 1 => items.push(item_of_one(need)),
                count => items.push(item_of_several(need, count)),
            }
        }
        if !unfinished.is_empty() && agents.none_is_connected() {
            items.push(no_agent(unfinished));
        }
        Self { items }
    }
}

impl MigrationNeed<'_> {
    /// Returns true if one command meets both needs: both moves belong to one operation and have not failed. Each
    /// failed move is an item of its own.
    fn is_met_with(&self, other: &Self) -> bool {
        let (own, theirs) = (&self.view.summary, &other.view.summary);
        let failed = failure(self.view).is_some() || failure(other.view).is_some();
        own.id == theirs.id
            || (!failed
                && own.operation_id == theirs.operation_id
                && own.state == theirs.state
                && self.verb == other.verb)
    }
}

/// Returns the command that the migration needs; `None` if it needs none.
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
        | MigrationState::RolledBack => (marks::of_step(backoff_state(view)?), "show"),
        MigrationState::Unwound | MigrationState::Completed => return None,
    };
    Some(MigrationNeed { view, mark, verb })
}

/// Returns the state of a step that failed and is dispatched again later, if there is one.
fn backoff_state(view: &MigrationView) -> Option<StepState> {
    let mut states = view.steps.iter().map(|step| step.state);
    states.find(|state| *state == StepState::Backoff)
}

/// Returns the failure of the migration, or of a step that is dispatched again later.
fn failure(view: &MigrationView) -> Option<&plans::failure::Failure> {
    let mut steps = view.steps.iter();
    let step_in_backoff = steps.find(|step| step.state == StepState::Backoff);
    let failure = view.summary.failure.as_ref();
    failure.or_else(|| step_in_backoff.and_then(|step| step.failure.as_ref()))
}

fn item_of_one(need: &MigrationNeed<'_>) -> AttentionItem {
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

fn item_of_several(need: &MigrationNeed<'_>, count: usize) -> AttentionItem {
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
        | MigrationState::RolledBack => "They were paused by an operator.",
    };
    AttentionItem {
        mark: need.mark,
        href: format!("/operations/{}", m.operation_id),
        title: format!("{} on map {}: {count} moves", m.operation, m.map),
        text: text.to_owned(),
        hint: None,
        command: format!("shardwright {} {}", need.verb, m.operation_id),
    }
}

/// Describes a shard that contradicts the map.
fn contradiction(finding: Contradiction) -> AttentionItem {
    let title = match &finding.map {
        Some(map) => format!("Shard {} contradicts map {map}", finding.shard),
        None => format!(
            "Shard {} has another server than before, or an older state of it",
            finding.shard
        ),
    };
    AttentionItem {
        mark: marks::of_trouble(finding.kind.name()),
        href: "#maps".to_owned(),
        title,
        text: format!("The last probe found: {}.", finding.message),
        hint: Some(finding.hint),
        command: "shardwright reconcile".to_owned(),
    }
}

fn no_agent(unfinished: &[OpenMigration]) -> AttentionItem {
    let has_offline_move = unfinished
        .iter()
        .any(|migration| migration.view.summary.mode == Mode::Offline);
    let effect = if has_offline_move {
        "keys that move offline may stay read-only."
    } else {
        "writes are refused at most for the budget."
    };
    AttentionItem {
        mark: marks::of_trouble("no agent"),
        href: "#agents".to_owned(),
        title: "No agent is connected".to_owned(),
        text: format!("All migrations stop until an agent is connected. Meanwhile {effect}"),
        hint: None,
        command: START_COMMAND.to_owned(),
    }
}
