//! Shows states as an icon, a word and a tone. Colour alone never carries the meaning.

use crate::controller::operations::OperationState;
use crate::store::TokenRecord;
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
    /// The tone, which is a CSS class: quiet, busy, ask (the operator must act), bad or good.
    pub(super) tone: &'static str,
    /// The outline of the icon, as an SVG path in a square of 16 units.
    pub(super) icon: &'static str,
    /// The name of the state.
    pub(super) text: &'static str,
}

const fn mark(tone: &'static str, icon: &'static str, text: &'static str) -> StateMark {
    StateMark { tone, icon, text }
}

/// Returns the mark of a migration.
pub(super) fn of_migration(state: MigrationState) -> StateMark {
    match state {
        MigrationState::Planned => mark("quiet", CIRCLE, "planned"),
        MigrationState::Running => mark("busy", PLAY, "running"),
        MigrationState::Waiting => mark("ask", HOURGLASS, "waiting"),
        MigrationState::Paused => mark("ask", PAUSE, "paused"),
        MigrationState::Failed => mark("bad", CROSS, "failed"),
        MigrationState::Unwinding => mark("busy", BACK_ARROW, "unwinding"),
        MigrationState::Unwound => mark("quiet", BACK_ARROW, "unwound"),
        MigrationState::Flipped => mark("good", FLAG, "flipped"),
        MigrationState::Completed => mark("good", CHECK, "completed"),
        MigrationState::RolledBack => mark("quiet", BACK_ARROW, "rolled back"),
    }
}

/// Returns the mark of an operation.
pub(super) fn of_operation(state: OperationState) -> StateMark {
    match state {
        OperationState::Planned => of_migration(MigrationState::Planned),
        OperationState::Running => of_migration(MigrationState::Running),
        OperationState::Waiting => of_migration(MigrationState::Waiting),
        OperationState::Paused => of_migration(MigrationState::Paused),
        OperationState::Failed => of_migration(MigrationState::Failed),
        OperationState::Unwinding => of_migration(MigrationState::Unwinding),
        OperationState::Flipped => of_migration(MigrationState::Flipped),
        OperationState::Unwound => of_migration(MigrationState::Unwound),
        OperationState::Completed => of_migration(MigrationState::Completed),
        OperationState::RolledBack => of_migration(MigrationState::RolledBack),
        OperationState::Partial => mark("ask", EXCLAMATION, "partial"),
    }
}

/// Returns the mark of a step.
pub(super) fn of_step(state: StepState) -> StateMark {
    match state {
        StepState::Pending => mark("quiet", CIRCLE, "pending"),
        StepState::Running => mark("busy", PLAY, "running"),
        StepState::Backoff => mark("ask", CIRCULAR_ARROW, "retrying"),
        StepState::Failed => mark("bad", CROSS, "failed"),
        StepState::Done => mark("good", CHECK, "done"),
        StepState::Skipped => mark("quiet", DASH, "skipped"),
    }
}

/// Returns the mark of a finding.
pub(super) fn of_finding(severity: Severity) -> StateMark {
    match severity {
        Severity::Refused => mark("bad", CROSS, "refused"),
        Severity::Warning => mark("ask", EXCLAMATION, "warning"),
        Severity::Note => mark("quiet", CIRCLE, "note"),
    }
}

/// Returns the mark of an agent.
pub(super) fn of_agent(is_connected: bool) -> StateMark {
    if is_connected {
        mark("good", CHECK, "connected")
    } else {
        mark("bad", CROSS, "silent")
    }
}

/// Returns the mark of a problem that an operator should check.
pub(super) fn of_trouble(text: &'static str) -> StateMark {
    mark("ask", EXCLAMATION, text)
}

/// Returns the mark of a condition that is not met yet.
pub(super) fn not_yet() -> StateMark {
    mark("quiet", CIRCLE, "not yet")
}

/// Returns the mark of a migration that continues only after an operator's command.
pub(super) fn waits_for_you() -> StateMark {
    mark("ask", HOURGLASS, "waits for you")
}

/// Returns the mark of a token.
pub(super) fn of_token(token: &TokenRecord, now: DateTime<Utc>) -> StateMark {
    match (token.revoked_at, token.is_good(now)) {
        (Some(_), _) => mark("quiet", CROSS, "revoked"),
        (None, true) => mark("good", CHECK, "good"),
        (None, false) => mark("quiet", DASH, "ended"),
    }
}

/// Returns the mark of an attempt that transferred the keys.
pub(super) fn flipped() -> StateMark {
    mark("good", FLAG, "flipped")
}

/// Returns the mark of a mapping.
pub(super) fn of_mapping(is_moving: bool) -> StateMark {
    if is_moving {
        mark("busy", PLAY, "moving")
    } else {
        mark("good", CHECK, "active")
    }
}
