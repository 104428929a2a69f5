//! The places of faults: the fail points of agent and controller, and the part of a run in which each is passed.
//!
//! A fail point that cutover and rollback have in common is two places.

use crate::points::{PassedBy, PassedPoint};
use plans::step::{FORWARD, OFFLINE, SEEDED, StepKind};
use std::fmt;

/// A part of a run's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathLeg {
    /// Before the flip.
    Before,
    /// From the flip to the end of the hold.
    Flipped,
    /// After the command `finish`.
    Finish,
    /// After the command to roll back.
    Back,
    /// After a rollback and the command `finish`.
    BackFinish,
    /// After the command to abort.
    Unwind,
}

/// A fail point in a part of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FaultPlace {
    /// The name, which is unique. It is the name of the fail point, unless the fail point is in several parts.
    pub(super) name: String,
    /// The name of the fail point.
    pub(super) point: String,
    pub(super) step: StepKind,
    pub(super) passed_by: PassedBy,
    pub(super) leg: PathLeg,
}

/// A fail point of the stream during the copy. An offline migration does not pass it.
const CAPTURE: &str = "capture.spooled";

/// The fail point before the comparison in a cutover. The keys of an offline migration are compared before.
const COMPARISON: &str = "cutover.before_check";

/// The last fail point of the copy.
pub(super) const END_OF_COPY: &str = "copy.built_key";

/// The fail points of the agent: the name of the place, the fail point if its name differs, the step and the part.
const AGENTS: &[(&str, &str, StepKind, PathLeg)] = &[
    (
        "preflight.checked",
        "",
        StepKind::Preflight,
        PathLeg::Before,
    ),
    (
        "create_target.restored",
        "",
        StepKind::CreateTarget,
        PathLeg::Before,
    ),
    (
        "set_read_only.closed",
        "",
        StepKind::SetReadOnly,
        PathLeg::Before,
    ),
    (
        "open_capture.slot_created",
        "",
        StepKind::OpenCapture,
        PathLeg::Before,
    ),
    ("promote.bound", "", StepKind::Promote, PathLeg::Before),
    ("promote.replayed", "", StepKind::Promote, PathLeg::Before),
    ("promote.requested", "", StepKind::Promote, PathLeg::Before),
    ("promote.promoted", "", StepKind::Promote, PathLeg::Before),
    ("promote.converted", "", StepKind::Promote, PathLeg::Before),
    ("promote.unbound", "", StepKind::Promote, PathLeg::Before),
    (CAPTURE, "", StepKind::Copy, PathLeg::Before),
    ("copy.chunk_copied", "", StepKind::Copy, PathLeg::Before),
    ("copy.half", "", StepKind::Copy, PathLeg::Before),
    (END_OF_COPY, "", StepKind::Copy, PathLeg::Before),
    (
        "catch_up.batch_applied",
        "",
        StepKind::CatchUp,
        PathLeg::Before,
    ),
    (
        "build_indexes.built_one",
        "",
        StepKind::BuildIndexes,
        PathLeg::Before,
    ),
    ("verify.compared", "", StepKind::Verify, PathLeg::Before),
    (
        "open_reverse.slot_created",
        "",
        StepKind::OpenReverse,
        PathLeg::Before,
    ),
    ("cutover.fenced", "", StepKind::Cutover, PathLeg::Before),
    (COMPARISON, "", StepKind::Cutover, PathLeg::Before),
    (
        "cutover.before_seal",
        "",
        StepKind::Cutover,
        PathLeg::Before,
    ),
    ("cutover.sealed", "", StepKind::Cutover, PathLeg::Before),
    ("cutover.flipped", "", StepKind::Cutover, PathLeg::Flipped),
    ("cutover.opened", "", StepKind::Cutover, PathLeg::Flipped),
    ("hold.started", "", StepKind::Hold, PathLeg::Flipped),
    (
        "drop_old.batch_deleted",
        "",
        StepKind::DropOld,
        PathLeg::Finish,
    ),
    (
        "drop_old.handed_over",
        "",
        StepKind::DropOld,
        PathLeg::Finish,
    ),
    (
        "drop_surplus.started",
        "",
        StepKind::DropSurplus,
        PathLeg::Finish,
    ),
    (
        "drop_surplus.batch_deleted",
        "",
        StepKind::DropSurplus,
        PathLeg::Finish,
    ),
    ("unwind.started", "", StepKind::Unwind, PathLeg::Unwind),
    (
        "unwind.guards_dropped",
        "create_target.guards_dropped",
        StepKind::Unwind,
        PathLeg::Unwind,
    ),
    ("rollback.fenced", "", StepKind::Rollback, PathLeg::Back),
    (
        "rollback.before_check",
        COMPARISON,
        StepKind::Rollback,
        PathLeg::Back,
    ),
    (
        "rollback.before_seal",
        "cutover.before_seal",
        StepKind::Rollback,
        PathLeg::Back,
    ),
    (
        "rollback.sealed",
        "cutover.sealed",
        StepKind::Rollback,
        PathLeg::Back,
    ),
    (
        "rollback.flipped",
        "cutover.flipped",
        StepKind::Rollback,
        PathLeg::Back,
    ),
    (
        "rollback.opened",
        "cutover.opened",
        StepKind::Rollback,
        PathLeg::Back,
    ),
    ("hold_back.started", "", StepKind::HoldBack, PathLeg::Back),
    (
        "drop_new.started",
        "",
        StepKind::DropNew,
        PathLeg::BackFinish,
    ),
    (
        "drop_new.guards_dropped",
        "create_target.guards_dropped",
        StepKind::DropNew,
        PathLeg::BackFinish,
    ),
];

/// Returns the last fail point of the copy.
pub(super) fn end_of_copy() -> PassedPoint {
    PassedPoint {
        name: END_OF_COPY.to_owned(),
        passed_by: PassedBy::Agents,
    }
}

/// The fail points that the controller passes in a cutover, in addition to those at the begin and the end of the step:
/// the end of the name, and the part.
const CONTROLLER_CUTOVER: [(&str, PathLeg); 3] = [
    ("begun", PathLeg::Before),
    ("before_flip", PathLeg::Before),
    ("after_flip", PathLeg::Flipped),
];

/// The ends of the names of fail points from immediately before the seal to the opening. A process that stops there
/// keeps the keys closed, regardless of the budget.
const AFTER_SEAL: [&str; 6] = [
    "before_seal",
    "sealed",
    "flipped",
    "opened",
    "before_flip",
    "after_flip",
];

/// Returns all places, in the order in which a run passes them.
pub(super) fn all() -> Vec<FaultPlace> {
    let agent = |(name, point, step, leg): &(&str, &str, StepKind, PathLeg)| {
        let point = if point.is_empty() { name } else { point };
        FaultPlace::of(name, point, *step, *leg, PassedBy::Agents)
    };
    let mut places: Vec<FaultPlace> = AGENTS.iter().map(agent).collect();
    let not_in_an_online_forward_path = [
        StepKind::Promote,
        StepKind::DropSurplus,
        StepKind::SetReadOnly,
        StepKind::Unwind,
        StepKind::Rollback,
        StepKind::HoldBack,
        StepKind::DropNew,
    ];
    for step in FORWARD.into_iter().chain(not_in_an_online_forward_path) {
        for moment in ["claimed", "settled"] {
            let name = format!("controller.{step}.{moment}");
            let leg = leg_of_step(step, moment);
            places.push(FaultPlace::of(
                &name,
                &name,
                step,
                leg,
                PassedBy::Controller,
            ));
        }
    }
    for (moment, leg) in CONTROLLER_CUTOVER {
        let point = format!("controller.cutover.{moment}");
        let back = format!("controller.rollback.{moment}");
        let controller = PassedBy::Controller;
        places.push(FaultPlace::of(
            &point,
            &point,
            StepKind::Cutover,
            leg,
            controller,
        ));
        places.push(FaultPlace::of(
            &back,
            &point,
            StepKind::Rollback,
            PathLeg::Back,
            controller,
        ));
    }
    let position = |place: &FaultPlace| StepKind::ALL.iter().position(|step| *step == place.step);
    places.sort_by_key(position);
    places
}

/// Returns the part in which the controller dispatches a step and receives its report.
fn leg_of_step(step: StepKind, moment: &str) -> PathLeg {
    match (step, moment) {
        (StepKind::Unwind, _) => PathLeg::Unwind,
        (StepKind::Rollback, _) | (StepKind::HoldBack, "claimed") => PathLeg::Back,
        (StepKind::HoldBack | StepKind::DropNew, _) => PathLeg::BackFinish,
        (StepKind::Cutover, "settled") | (StepKind::Hold, "claimed") => PathLeg::Flipped,
        (StepKind::Hold | StepKind::DropOld | StepKind::DropSurplus, _) => PathLeg::Finish,
        (
            StepKind::Preflight
            | StepKind::CreateTarget
            | StepKind::OpenCapture
            | StepKind::Promote
            | StepKind::SetReadOnly
            | StepKind::Copy
            | StepKind::CatchUp
            | StepKind::BuildIndexes
            | StepKind::Verify
            | StepKind::OpenReverse
            | StepKind::Cutover,
            _,
        ) => PathLeg::Before,
    }
}

impl FaultPlace {
    /// Returns whether a fault at this place may keep the keys closed for longer than the budget.
    pub(super) fn is_after_seal(&self) -> bool {
        let moment = self.point.rsplit('.').next().unwrap_or_default();
        self.point.contains("cutover.") && AFTER_SEAL.contains(&moment)
    }

    fn of(name: &str, point: &str, step: StepKind, leg: PathLeg, passed_by: PassedBy) -> Self {
        Self {
            name: name.to_owned(),
            point: point.to_owned(),
            step,
            passed_by,
            leg,
        }
    }
}

impl FaultPlace {
    /// Returns whether an offline migration passes it.
    pub(super) fn is_passed_offline(&self) -> bool {
        let step = OFFLINE.contains(&self.step) || self.step == StepKind::Unwind;
        step && self.point != CAPTURE && self.point != COMPARISON
    }

    /// Returns whether only a migration that is seeded from a standby passes it.
    pub(super) fn is_only_seeded(&self) -> bool {
        matches!(self.step, StepKind::Promote | StepKind::DropSurplus)
    }

    /// Returns whether a migration that is seeded from a standby passes it. Such a migration has no tables to create, and
    /// an abort leaves the rows of the target.
    pub(super) fn is_passed_seeded(&self) -> bool {
        let not_in_a_forward_path = [
            StepKind::Unwind,
            StepKind::Rollback,
            StepKind::HoldBack,
            StepKind::DropNew,
        ];
        let step = SEEDED.contains(&self.step) || not_in_a_forward_path.contains(&self.step);
        step && !self.point.starts_with("create_target.")
    }

    /// Returns whether an online migration passes it after the copy and before the flip.
    pub(super) fn is_between_copy_and_flip(&self) -> bool {
        let steps = [
            StepKind::CatchUp,
            StepKind::BuildIndexes,
            StepKind::Verify,
            StepKind::OpenReverse,
            StepKind::Cutover,
        ];
        let is_later = steps.contains(&self.step) || self.name == "controller.copy.settled";
        is_later && self.leg == PathLeg::Before
    }

    /// Returns the fail point to arm.
    pub(super) fn armed(&self) -> PassedPoint {
        PassedPoint {
            name: self.point.clone(),
            passed_by: self.passed_by,
        }
    }
}

impl fmt::Display for FaultPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The fail points that no run of fault injection passes, each with the reason.
    const NOT_INJECTED: &[(&str, &str)] = &[
        (
            "catch_up.second_lane_applied",
            "a small run has no backlog that two sessions share",
        ),
        (
            "copy.snapshot_taken",
            "a small copy ends before the agent needs a later snapshot",
        ),
        ("follow.executed", "no run changes definitions"),
        ("adoption.copied", "no run creates partitions"),
        ("retirement.unpublished", "no run removes partitions"),
        ("retirement.rows_deleted", "no run removes partitions"),
        (
            "resync.compared",
            "only after a slot was lost, and then a run has another fault already",
        ),
        (
            "resync.copied",
            "only after a slot was lost, and then a run has another fault already",
        ),
        (
            "convert.enrolled",
            "a conversion is no step of a migration; its own test kills here",
        ),
        ("convert.guarded", "as convert.enrolled"),
        ("convert.replaced", "as convert.enrolled"),
        (
            "verify.repaired",
            "only after an operator's command, if copies differ",
        ),
    ];

    fn sources(dir: &Path, into: &mut String) {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, into);
            } else if path.extension().is_some_and(|it| it == "rs") {
                into.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }

    /// Returns the names of the fail points in a program's sources.
    fn fail_points_of(program: &str) -> BTreeSet<String> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{program}/src"));
        let mut text = String::new();
        sources(&dir, &mut text);
        let mut names = BTreeSet::new();
        for part in text.split("fail_point::hit(\"").skip(1) {
            names.extend(part.split('"').next().map(str::to_owned));
        }
        names
    }

    #[test]
    fn every_fail_point_of_the_agent_is_a_place() {
        let places = all();
        for name in fail_points_of("agent") {
            let known = places.iter().any(|place| place.point == name)
                || NOT_INJECTED.iter().any(|(point, _)| *point == name);
            assert!(
                known,
                "{name} is not a place: add it to AGENTS, or to NOT_INJECTED with the reason"
            );
        }
    }

    #[test]
    fn names_of_places_are_unique() {
        let names: BTreeSet<String> = all().into_iter().map(|place| place.name).collect();
        assert_eq!(names.len(), all().len());
    }
}
