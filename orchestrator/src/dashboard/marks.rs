//! Shows states as an icon, a word and a tone. Colour alone never carries the meaning.

use super::agents::state_name;
use super::reachability::ShardReachability;
use crate::controller::operations::OperationState;
use crate::store::TokenRecord;
use crate::view::Tone;
use askama::Template;
use chrono::{DateTime, Utc};
use plans::failure::Severity;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;

const CHECK: &str = "M3 8.5l3.5 3.5L13 4.5";
const PLAY: &str = "M5 3.5l7 4.5-7 4.5z";
const CIRCLE: &str = "M8 3.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9";
const PAUSE: &str = "M5.5 3.5v9M10.5 3.5v9";
const CROSS: &str = "M4 4l8 8M12 4l-8 8";
const CIRCULAR_ARROW: &str = "M12.5 8a4.5 4.5 0 1 1-1.5-3.4M12.5 2.5v3h-3";
const DASH: &str = "M4 8h8";
const HOURGLASS: &str = "M4 2.5h8M4 13.5h8M5 2.5c0 4 6 7 6 11M11 2.5c0 4-6 7-6 11";
const BACK_ARROW: &str = "M6.5 3.5L3 7l3.5 3.5M3 7h6.5a3 3 0 0 1 0 6H7";
const FLAG: &str = "M4 14V2.5h8.5l-2.5 3 2.5 3H4";
const EXCLAMATION: &str = "M8 3v6M8 12v1";

/// The appearance of a state.
#[derive(Debug, Clone, Copy, Template)]
#[template(path = "mark.html")]
pub(super) struct StateMark {
    /// The tone. On a page its name is a CSS class.
    pub(super) tone: Tone,
    /// The outline of the icon, as an SVG path in a square of 16 units.
    pub(super) icon: &'static str,
    /// The name of the state.
    pub(super) text: &'static str,
}

const fn mark(tone: Tone, icon: &'static str, text: &'static str) -> StateMark {
    StateMark { tone, icon, text }
}

/// Returns the mark of a migration.
pub(super) fn of_migration(state: MigrationState) -> StateMark {
    of_operation(state.into())
}

/// Returns the mark of an operation.
pub(super) fn of_operation(state: OperationState) -> StateMark {
    let (icon, text) = match state {
        OperationState::Planned => (CIRCLE, "planned"),
        OperationState::Running => (PLAY, "running"),
        OperationState::Waiting => (HOURGLASS, "waiting"),
        OperationState::Paused => (PAUSE, "paused"),
        OperationState::Failed => (CROSS, "failed"),
        OperationState::Unwinding => (BACK_ARROW, "aborting"),
        OperationState::Unwound => (BACK_ARROW, "aborted"),
        OperationState::Flipped => (FLAG, "in hold"),
        OperationState::Completed => (CHECK, "completed"),
        OperationState::RolledBack => (BACK_ARROW, "rolled back"),
        OperationState::Partial => (EXCLAMATION, "partial"),
    };
    mark(Tone::of_operation(state), icon, text)
}

/// Returns the mark of a step.
pub(super) fn of_step(state: StepState) -> StateMark {
    let (icon, text) = match state {
        StepState::Pending => (CIRCLE, "pending"),
        StepState::Running => (PLAY, "running"),
        StepState::Backoff => (CIRCULAR_ARROW, "retrying"),
        StepState::Failed => (CROSS, "failed"),
        StepState::Done => (CHECK, "done"),
        StepState::Skipped => (DASH, "not needed"),
    };
    mark(Tone::of_step(state), icon, text)
}

/// Returns the mark of a finding.
pub(super) fn of_finding(severity: Severity) -> StateMark {
    let icon = match severity {
        Severity::Refused => CROSS,
        Severity::Warning => EXCLAMATION,
        Severity::Note => CIRCLE,
    };
    mark(Tone::of_finding(severity), icon, severity.name())
}

/// Returns the mark of an agent.
pub(super) fn of_agent(is_connected: bool) -> StateMark {
    let icon = if is_connected { CHECK } else { CROSS };
    mark(Tone::of_agent(is_connected), icon, state_name(is_connected))
}

/// Returns the mark of a shard.
pub(super) fn of_shard(reachability: ShardReachability) -> StateMark {
    let (tone, icon) = match reachability {
        ShardReachability::Reachable => (Tone::Good, CHECK),
        ShardReachability::Unreachable => (Tone::Bad, CROSS),
        ShardReachability::NotProbed => (Tone::Quiet, CIRCLE),
    };
    mark(tone, icon, reachability.name())
}

/// Returns the mark of a shard that another controller probes.
pub(super) fn not_probed_here() -> StateMark {
    mark(Tone::Quiet, DASH, "not probed here")
}

/// Returns the mark of a problem that an operator should check.
pub(super) fn of_trouble(text: &'static str) -> StateMark {
    mark(Tone::Ask, EXCLAMATION, text)
}

/// Returns the mark of a condition that is met.
pub(super) fn go() -> StateMark {
    mark(Tone::Good, CHECK, "go")
}

/// Returns the mark of a condition that is not met yet.
pub(super) fn not_yet() -> StateMark {
    mark(Tone::Quiet, CIRCLE, "not yet")
}

/// Returns the mark of a migration that continues only after an operator's command.
pub(super) fn waits_for_you() -> StateMark {
    mark(Tone::Ask, HOURGLASS, "waits for you")
}

/// Returns the mark of an attempt that ended without success, and that needs nobody.
pub(super) fn of_unsuccessful(text: &'static str) -> StateMark {
    mark(Tone::Quiet, BACK_ARROW, text)
}

/// Returns the mark of a token.
pub(super) fn of_token(token: &TokenRecord, now: DateTime<Utc>) -> StateMark {
    match (token.revoked_at, token.is_good(now)) {
        (Some(_), _) => mark(Tone::Quiet, CROSS, "revoked"),
        (None, true) => mark(Tone::Good, CHECK, "good"),
        (None, false) => mark(Tone::Quiet, DASH, "ended"),
    }
}

/// Returns the mark of an attempt that transferred the keys.
pub(super) fn flipped() -> StateMark {
    mark(Tone::Good, FLAG, "cut over")
}

/// Returns the mark of a mapping.
pub(super) fn of_mapping(is_moving: bool) -> StateMark {
    if is_moving {
        mark(Tone::Busy, PLAY, "moving")
    } else {
        mark(Tone::Good, CHECK, "active")
    }
}
