//! What needs a person, with the button that helps, and the same command for the command line.

mod agents;
mod shards;

use super::super::commands::{ButtonStyle, label, label_for_all};
use super::super::marks::{self, StateMark};
use super::super::open::OpenMigration;
use super::super::shards::ShardState;
use crate::access::{Caller, RouteAccess};
use crate::controller::Command;
use crate::store::AgentRecord;
use crate::view::figures::ago;
use crate::view::sentence::{is_open_ended_hold, migration_sentence};
use crate::view::{MigrationView, effect, effect_on_all};
use askama::Template;
use chrono::{DateTime, Utc};
use plans::inspection::reconcile::Contradiction;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;

/// Everything that needs a person.
#[derive(Template)]
#[template(path = "overview/attention.html")]
pub(super) struct OverviewAttention {
    items: Vec<AttentionItem>,
}

struct AttentionItem {
    mark: StateMark,
    href: String,
    title: String,
    /// Since when it waits, as HTML.
    since: Option<String>,
    text: String,
    hint: Option<String>,
    buttons: ItemButtons,
    command: String,
}

/// What can be done about an item. Each button has the same place in every item.
struct ItemButtons {
    /// The command that the object waits for, if the caller may give it.
    command: Option<AttentionButton>,
    /// The URL of the object.
    details: String,
}

/// A link that looks like a button.
struct AttentionButton {
    label: &'static str,
    href: String,
    class: &'static str,
    /// What the command does, and whether it can be undone.
    effect: String,
}

impl ItemButtons {
    /// Returns the buttons of an item for which no command of the dashboard is needed.
    fn details_only(href: &str) -> Self {
        Self {
            command: None,
            details: href.to_owned(),
        }
    }
}

/// A migration that needs a command from an operator.
struct MigrationNeed<'a> {
    view: &'a MigrationView,
    mark: StateMark,
    /// The command; `None`: to look at it is enough.
    command: Option<Command>,
}

/// The state of the fleet from which the needs are collected.
pub(super) struct FleetNeeds<'a> {
    pub(super) unfinished: &'a [OpenMigration],
    pub(super) shards: &'a [ShardState<'a>],
    pub(super) agents: &'a [AgentRecord],
    pub(super) findings: Vec<Contradiction>,
    pub(super) now: DateTime<Utc>,
}

impl OverviewAttention {
    /// Collects what the shards, the unfinished migrations and the agents need. Moves of one operation that need the
    /// same command form one item. `caller` gets only the buttons that it may use.
    pub(super) fn new(fleet: FleetNeeds<'_>, caller: &Caller) -> Self {
        let unfinished = fleet.unfinished.iter();
        let mut needs: Vec<MigrationNeed<'_>> = unfinished
            .filter_map(|migration| need(&migration.view))
            .collect();
        needs.sort_by_key(urgency);
        let mut items: Vec<AttentionItem> = fleet
            .findings
            .into_iter()
            .map(shards::contradiction)
            .collect();
        items.extend(shards::unreachable(fleet.shards));
        for (index, need) in needs.iter().enumerate() {
            let is_same_need = |other: &&MigrationNeed<'_>| need.is_met_with(other);
            if needs[..index].iter().any(|earlier| is_same_need(&earlier)) {
                continue;
            }
            match needs.iter().filter(is_same_need).count() {
                0 | 1 => items.push(item_of_one(need, caller)),
                count => items.push(item_of_several(need, count, caller)),
            }
        }
        items.extend(agents::missing(fleet.agents, fleet.unfinished, fleet.now));
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
                && self.command == other.command)
    }
}

/// Returns the command that the migration needs; `None` if it needs none.
fn need(view: &MigrationView) -> Option<MigrationNeed<'_>> {
    let m = &view.summary;
    let mark = marks::of_migration(m.state);
    let (mark, command) = match m.state {
        MigrationState::Failed | MigrationState::Paused => (mark, Some(Command::Resume)),
        MigrationState::Waiting if view.cancel.is_some() => (mark, Some(Command::ApproveCancel)),
        MigrationState::Waiting => (mark, Some(Command::Approve)),
        MigrationState::Flipped | MigrationState::RolledBack if is_open_ended_hold(view) => {
            (mark, Some(Command::Finish))
        }
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Unwinding
        | MigrationState::Flipped
        | MigrationState::RolledBack => (marks::of_step(backoff_state(view)?), None),
        MigrationState::Unwound | MigrationState::Completed => return None,
    };
    Some(MigrationNeed {
        view,
        mark,
        command,
    })
}

/// Returns the rank of a need: what has failed comes first, and what can stay as it is comes last.
fn urgency(need: &MigrationNeed<'_>) -> u8 {
    match need.view.summary.state {
        MigrationState::Failed => 0,
        MigrationState::RolledBack if need.command == Some(Command::Finish) => 4,
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Unwinding
        | MigrationState::RolledBack => 1,
        MigrationState::Waiting => 2,
        MigrationState::Paused => 3,
        MigrationState::Flipped | MigrationState::Unwound | MigrationState::Completed => 4,
    }
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

/// Returns what can be done about a need.
fn item_buttons(
    need: &MigrationNeed<'_>,
    path: &str,
    caller: &Caller,
    is_for_all: bool,
) -> ItemButtons {
    let view = need.view;
    let is_rolled_back = view.summary.map_version.back.is_some();
    let command = need
        .command
        .filter(|command| caller.may(RouteAccess::of_command(command.name())));
    ItemButtons {
        command: command.map(|command| AttentionButton {
            label: if is_for_all {
                label_for_all(command)
            } else {
                label(command, &view.plan, is_rolled_back)
            },
            href: format!("{path}/{command}"),
            class: ButtonStyle::of(command, is_rolled_back).class(),
            effect: if is_for_all {
                effect_on_all(command).to_owned()
            } else {
                effect(command, &view.plan, view.cancel.as_ref(), is_rolled_back)
            },
        }),
        details: path.to_owned(),
    }
}

fn command_line(need: &MigrationNeed<'_>, id: &str) -> String {
    let verb = need.command.map_or("show", Command::name);
    format!("shardwright {verb} {id}")
}

fn item_of_one(need: &MigrationNeed<'_>, caller: &Caller) -> AttentionItem {
    let m = &need.view.summary;
    let failure = failure(need.view);
    let href = format!("/migrations/{}", m.id);
    let since = need.view.waits.first().and_then(|wait| wait.since);
    AttentionItem {
        mark: need.mark,
        title: format!("{} {}: {} → {}", m.operation, m.map, m.source, m.target),
        since: since.map(ago),
        text: failure.map_or_else(
            || migration_sentence(need.view),
            |failure| failure.message.clone(),
        ),
        hint: failure.and_then(|failure| failure.hint.clone()),
        buttons: item_buttons(need, &href, caller, false),
        href,
        command: command_line(need, m.id.as_str()),
    }
}

fn item_of_several(need: &MigrationNeed<'_>, count: usize, caller: &Caller) -> AttentionItem {
    let m = &need.view.summary;
    let text = match m.state {
        MigrationState::Waiting => {
            "They are copied and verified; their sources own the keys until you approve the cutovers."
        }
        MigrationState::Flipped => {
            "Their targets own the keys; the old rows are kept until you finish, or roll back."
        }
        MigrationState::RolledBack => {
            "Their sources own the keys again; the copies are kept in step until you finish, or approve another cutover."
        }
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Paused
        | MigrationState::Failed
        | MigrationState::Unwinding
        | MigrationState::Unwound
        | MigrationState::Completed => {
            "They were paused by an operator; what they have done is kept."
        }
    };
    let href = format!("/operations/{}", m.operation_id);
    AttentionItem {
        mark: need.mark,
        title: format!("{} {}: {count} moves", m.operation, m.map),
        since: None,
        text: text.to_owned(),
        hint: None,
        buttons: item_buttons(need, &href, caller, true),
        href,
        command: command_line(need, m.operation_id.as_str()),
    }
}
