//! Names of the controller's fail points; a registry wants them written out.

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
            Preflight "preflight", CreateTarget "create_target", OpenCapture "open_capture", SetReadOnly "set_read_only",
            Copy "copy", CatchUp "catch_up", BuildIndexes "build_indexes", Verify "verify",
            OpenReverse "open_reverse", Cutover "cutover", Hold "hold", DropOld "drop_old",
            Unwind "unwind", Rollback "rollback", HoldBack "hold_back", DropNew "drop_new")
    };
}

/// After the dispatch of this step was committed, before the agent hears of it.
pub(super) fn claimed(kind: StepKind) -> &'static str {
    every_step!(kind, "claimed")
}

/// After the outcome of this step was committed, before the agent hears of it.
pub(super) fn settled(kind: StepKind) -> &'static str {
    every_step!(kind, "settled")
}

/// A cutover attempt is FENCING, its agent does not know yet.
pub(super) const BEGUN: &str = "controller.cutover.begun";
/// The row is held, the flip is about to be committed.
pub(super) const BEFORE_FLIP: &str = "controller.cutover.before_flip";
/// The flip is committed, its agent does not know yet.
pub(super) const AFTER_FLIP: &str = "controller.cutover.after_flip";
