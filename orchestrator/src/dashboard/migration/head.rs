//! The head of the page of a migration: title, state, progress, what it waits for, what slows it, and its failure.

use super::super::marks::{self, StateMark};
use super::super::palette::Palette;
use super::super::step_words::step_words;
use super::progress::ProgressLine;
use super::rollback::RollbackRequest;
use crate::view::figures::moment;
use crate::view::sentence::migration_sentence;
use crate::view::{MigrationView, WaitKind, WaitReason};
use askama::Template;
use plans::failure::Failure;
use plans::id::ShardName;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::unwind::LeftObject;

/// The head.
#[derive(Template)]
#[template(path = "migration/head.html")]
pub(super) struct MigrationHead {
    id: String,
    /// The operation and the map, as in `split tenants`.
    title: String,
    source: ShardLabel,
    target: ShardLabel,
    /// The operation, if it has several moves, and the name of this move in it.
    part: Option<OperationPart>,
    mark: StateMark,
    sentence: String,
    /// Who requested a rollback, if the keys are back because of it.
    pub(super) rollback: Option<RollbackRequest>,
    progress: Option<ProgressLine>,
    waits: Vec<WaitNotice>,
    /// Why the running step is slowed, if it is.
    slowed: Option<String>,
    /// True if an agent works and nothing stops it.
    is_unhindered: bool,
    failure: Option<Failure>,
    leftovers: Vec<LeftObject>,
    notes: Vec<String>,
    retrying: Option<RetryNotice>,
    map: String,
    keys: String,
    versions: String,
    mode: &'static str,
    limits: Option<String>,
    owner: String,
    submitted: String,
    by: String,
    ended: Option<String>,
}

/// The name of a shard, and the CSS class of its colour.
struct ShardLabel {
    name: String,
    class: String,
}

impl ShardLabel {
    fn new(shard: &ShardName, palette: &Palette) -> Self {
        Self {
            name: shard.to_string(),
            class: palette.class(shard),
        }
    }
}

/// The position of a move in its operation.
struct OperationPart {
    operation: String,
    name: String,
    why: String,
}

/// A step that waits for its next attempt.
struct RetryNotice {
    step: &'static str,
    failure: Failure,
    attempt: u32,
    of: u32,
}

impl MigrationHead {
    /// Returns the head for a caller who may give commands, or who may only read.
    pub(super) fn new(
        view: &MigrationView,
        progress: Option<ProgressLine>,
        palette: &Palette,
        may_command: bool,
    ) -> Self {
        let m = &view.summary;
        let mut versions = vec![m.map_version.before];
        versions.extend(m.map_version.after);
        versions.extend(m.map_version.back);
        let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let owner = view.owner.as_ref().filter(|owner| owner.live);
        Self {
            id: m.id.to_string(),
            title: format!("{} {}", m.operation, m.map),
            source: ShardLabel::new(&m.source, palette),
            target: ShardLabel::new(&m.target, palette),
            part: (m.operation_id != m.id).then(|| OperationPart {
                operation: m.operation_id.to_string(),
                name: m.move_id.clone(),
                why: view.plan.why.clone(),
            }),
            mark: marks::of_migration(m.state),
            sentence: migration_sentence(view),
            rollback: None,
            waits: view
                .waits
                .iter()
                .filter(|wait| has_notice(wait, m.state))
                .map(|wait| wait_notice(wait, may_command))
                .collect(),
            slowed: view
                .throttle_status()
                .map(|status| capitalized(&status.sentence())),
            is_unhindered: m.state == MigrationState::Running && view.waits.is_empty(),
            progress,
            failure: m.failure.clone(),
            leftovers: view.leftovers.clone(),
            notes: view.notes.clone(),
            retrying: retry_notice(view),
            map: m.map.to_string(),
            keys: m.keys.to_string(),
            versions: versions.join(" → "),
            mode: m.mode.name(),
            limits: view.limits.as_ref().map(ToString::to_string),
            owner: owner.map_or_else(|| "no agent".to_owned(), |owner| owner.agent.to_string()),
            submitted: moment(m.created_at),
            by: m.submitted_by.clone(),
            ended: m.finished_at.map(moment),
        }
    }
}

/// What the migration waits for.
struct WaitNotice {
    /// `ask` if a person has to act.
    class: &'static str,
    what: String,
    since: Option<String>,
    held_by: Option<String>,
    remedy: Option<String>,
}

/// Returns whether a wait is shown as a notice. Failures, next attempts and the throttle are shown elsewhere, and the
/// sentence of a planned migration already names what it waits for.
fn has_notice(wait: &WaitReason, state: MigrationState) -> bool {
    let is_in_sentence = state == MigrationState::Planned && wait.kind == WaitKind::Queue;
    let has_own_place = matches!(
        wait.kind,
        WaitKind::Failed | WaitKind::Retry | WaitKind::Throttle
    );
    !is_in_sentence && !has_own_place
}

fn wait_notice(wait: &WaitReason, may_command: bool) -> WaitNotice {
    // A person has to act exactly if a command ends the wait.
    let class = if wait.remedy.is_some() { "ask" } else { "calm" };
    let is_yours = may_command && wait.kind == WaitKind::Approval;
    WaitNotice {
        class,
        what: if is_yours {
            format!("your {}", wait.what)
        } else {
            wait.what.clone()
        },
        since: wait.since.map(moment),
        held_by: wait.held_by.clone(),
        remedy: wait.remedy.clone().filter(|_| !has_command(wait.kind)),
    }
}

/// Returns whether a command of the page ends a wait of this kind.
fn has_command(kind: WaitKind) -> bool {
    match kind {
        WaitKind::Approval
        | WaitKind::Cancel
        | WaitKind::Hook
        | WaitKind::Paused
        | WaitKind::Failed
        | WaitKind::Retry
        | WaitKind::Finish => true,
        WaitKind::Opening
        | WaitKind::Queue
        | WaitKind::Agent
        | WaitKind::Gate
        | WaitKind::Lock
        | WaitKind::Throttle
        | WaitKind::Lag => false,
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).collect()
}

fn retry_notice(view: &MigrationView) -> Option<RetryNotice> {
    let step = view.steps.iter().find(|s| s.state == StepState::Backoff)?;
    Some(RetryNotice {
        step: step_words(step.kind),
        failure: step.failure.clone()?,
        attempt: step.attempt,
        of: view.plan.options.max_attempts,
    })
}
