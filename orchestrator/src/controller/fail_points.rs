//! The names of the controller's fail points. Each name must be a literal, because the registry of fail points needs it
//! at compile time.

use plans::step::StepKind;

macro_rules! points {
    ($kind:expr, $when:literal: $($variant:ident $name:literal),* $(,)?) => {
        match $kind {
            $(StepKind::$variant => concat!("controller.", $name, ".", $when),)*
        }
    };
}

macro_rules! every_step {
    ($kind:expr, $when:literal) => {
        points!($kind, $when:
            Preflight "preflight", CreateTarget "create_target", OpenCapture "open_capture", Promote "promote", SetReadOnly "set_read_only",
            Copy "copy", CatchUp "catch_up", BuildIndexes "build_indexes", Verify "verify",
            OpenReverse "open_reverse", Cutover "cutover", Hold "hold", DropOld "drop_old",
            DropSurplus "drop_surplus",
            Unwind "unwind", Rollback "rollback", HoldBack "hold_back", DropNew "drop_new")
    };
}

/// After the dispatch of this step was committed, before the answer to the agent is sent.
pub(super) fn claimed(kind: StepKind) -> &'static str {
    every_step!(kind, "claimed")
}

/// After the outcome of this step was committed, before the answer to the agent is sent.
pub(super) fn settled(kind: StepKind) -> &'static str {
    every_step!(kind, "settled")
}

/// A cutover attempt has begun: the ownership is FENCING. The agent does not know this yet.
pub(super) const BEGUN: &str = "controller.cutover.begun";
/// The row of the migration is locked, and the flip is about to be committed.
pub(super) const BEFORE_FLIP: &str = "controller.cutover.before_flip";
/// The flip is committed. The agent does not know this yet.
pub(super) const AFTER_FLIP: &str = "controller.cutover.after_flip";

/// A conversion is recorded. No shard knows it yet.
pub(super) const CONVERSION_BEGUN: &str = "controller.conversion.begun";
/// The guards of a conversion exist on every shard. The version is not written yet.
pub(super) const CONVERSION_CLOSED: &str = "controller.conversion.closed";
/// The version of a conversion is written. No guard of released keys is replaced yet.
pub(super) const CONVERSION_WRITTEN: &str = "controller.conversion.written";
/// The guards of a conversion are replaced or removed. The conversion is not recorded as finished yet.
pub(super) const CONVERSION_SETTLED: &str = "controller.conversion.settled";
