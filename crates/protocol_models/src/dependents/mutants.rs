//! The mutants of M10.

use super::{APPLIED, DependentsRule, EQUAL, OWN};
use crate::check::{Mutant, mutant};

pub(super) fn all() -> Vec<Mutant<DependentsRule>> {
    vec![
        mutant(
            DependentsRule::TakesOwnRowForCopy,
            "a row of the target with the identity is taken for one of the copy",
            OWN,
        ),
        mutant(
            DependentsRule::IgnoresMissingParent,
            "a row without a parent is not taken for one of the copy",
            APPLIED,
        ),
        mutant(
            DependentsRule::AssignsBeforeParents,
            "children are assigned before the changes of the parents are applied",
            EQUAL,
        ),
        mutant(
            DependentsRule::LeavesDependentsOfDeparted,
            "children whose parent has left stay",
            EQUAL,
        ),
        mutant(
            DependentsRule::SkipsFinalRemoval,
            "children without a parent stay at the end of the catch-up",
            EQUAL,
        ),
        mutant(
            DependentsRule::LetsDependentsEnter,
            "a parent with a child gets a moving key",
            EQUAL,
        ),
        mutant(
            DependentsRule::CatchesUpEarly,
            "the catch-up ends before the stream has passed the snapshots",
            EQUAL,
        ),
        mutant(
            DependentsRule::RemovesWithinSnapshots,
            "children of a departed parent are removed although a snapshot sees the transaction",
            EQUAL,
        ),
    ]
}
