//! The mutants: each omits or changes one rule of the protocol.

use super::properties::{
    CAN_OPEN, CLEAN, CLOSED_AT_PROMOTION, CONFIRMED, EQUAL, FLIPPED, NO_PREPARED, ON_TARGET, ONCE,
    ONE_OWNER, OPEN_AGAIN, UNBLOCKED,
};
use crate::check::{Mutant, mutant};

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeedRule {
    SkipsToMarker,
    SkipsByBegin,
    AppliesLastOfClone,
    SkipsFirstOfStream,
    PositionOfSource,
    SlotBehindPromotion,
    NotBound,
    BoundBehindIntent,
    NoCloneGuard,
    CloneGuardBehindIntent,
    UnboundBeforePromotion,
    NoWait,
    AnyPromotion,
    PreparedStay,
    CleansTwice,
    NoReleasedGuard,
    ConfirmsEnd,
    NotVerified,
    SourceNotIdentified,
    StaysBound,
    CloneGuardStays,
    UnboundNotReplicated,
    OpenedBound,
    FailoverIsLeft,
    AbortRacesPromotion,
    AbortNotReplicated,
    NotBoundAgain,
    SuccessorIsAccepted,
}

pub(super) fn mutants() -> Vec<Mutant<SeedRule>> {
    let mut mutants = of_the_stream();
    mutants.extend(of_the_promotion());
    mutants.extend(of_the_end());
    mutants
}

fn of_the_stream() -> Vec<Mutant<SeedRule>> {
    vec![
        mutant(
            SeedRule::SkipsToMarker,
            "the stream skips up to M1 instead of X",
            ONCE,
        ),
        mutant(
            SeedRule::SkipsByBegin,
            "a transaction's first record decides instead of its commit record",
            EQUAL,
        ),
        mutant(
            SeedRule::AppliesLastOfClone,
            "a commit record that ends at X is applied",
            ONCE,
        ),
        mutant(
            SeedRule::SkipsFirstOfStream,
            "the first commit record after X is skipped",
            EQUAL,
        ),
        mutant(
            SeedRule::PositionOfSource,
            "progress starts at the end of the source's log",
            EQUAL,
        ),
        mutant(
            SeedRule::SlotBehindPromotion,
            "the slot is created after the promotion",
            EQUAL,
        ),
        mutant(
            SeedRule::ConfirmsEnd,
            "the slot is confirmed up to the end of the source's log when the standby is promoted",
            CONFIRMED,
        ),
        mutant(
            SeedRule::PreparedStay,
            "copies of prepared transactions are not rolled back",
            NO_PREPARED,
        ),
        mutant(
            SeedRule::CleansTwice,
            "a late clean-up does not check that the clone is already the target",
            EQUAL,
        ),
        mutant(
            SeedRule::NotVerified,
            "the rows are not compared",
            ON_TARGET,
        ),
        mutant(
            SeedRule::SourceNotIdentified,
            "the source's timeline is not checked",
            ON_TARGET,
        ),
    ]
}

fn of_the_promotion() -> Vec<Mutant<SeedRule>> {
    vec![
        mutant(
            SeedRule::NotBound,
            "the register is open instead of bound",
            FLIPPED,
        ),
        mutant(
            SeedRule::BoundBehindIntent,
            "the register is bound after the intent",
            FLIPPED,
        ),
        mutant(SeedRule::NoCloneGuard, "no clone guard", ONE_OWNER),
        mutant(
            SeedRule::CloneGuardBehindIntent,
            "the clone guard is created after the intent",
            ONE_OWNER,
        ),
        mutant(
            SeedRule::UnboundBeforePromotion,
            "the source is unbound before the standby has left recovery",
            CLOSED_AT_PROMOTION,
        ),
        mutant(
            SeedRule::NoWait,
            "the agent does not wait until the standby has replayed M1",
            CLOSED_AT_PROMOTION,
        ),
        mutant(
            SeedRule::AnyPromotion,
            "a clone without the intent is accepted",
            CLEAN,
        ),
        mutant(
            SeedRule::AbortRacesPromotion,
            "an abort does not wait for a command to promote",
            CLOSED_AT_PROMOTION,
        ),
    ]
}

fn of_the_end() -> Vec<Mutant<SeedRule>> {
    vec![
        mutant(
            SeedRule::SuccessorIsAccepted,
            "a standby that has taken the source's place becomes the target",
            OPEN_AGAIN,
        ),
        mutant(
            SeedRule::NotBoundAgain,
            "after a failover the register is not bound to the new timeline",
            CAN_OPEN,
        ),
        mutant(
            SeedRule::AbortNotReplicated,
            "a standby of the source lacks what an abort removed",
            OPEN_AGAIN,
        ),
        mutant(
            SeedRule::NoReleasedGuard,
            "no guard of released keys on the target",
            FLIPPED,
        ),
        mutant(
            SeedRule::StaysBound,
            "the source stays bound after the promotion",
            UNBLOCKED,
        ),
        mutant(
            SeedRule::CloneGuardStays,
            "the clone guard stays on the source",
            UNBLOCKED,
        ),
        mutant(
            SeedRule::UnboundNotReplicated,
            "a standby of the source lacks that the source is unbound",
            UNBLOCKED,
        ),
        mutant(
            SeedRule::OpenedBound,
            "the target is opened with the source's timeline",
            OPEN_AGAIN,
        ),
        mutant(
            SeedRule::FailoverIsLeft,
            "an abort leaves a source that has failed over as it is",
            OPEN_AGAIN,
        ),
    ]
}
