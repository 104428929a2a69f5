//! M4: the rollback. Two streams, a second flip, the removal of the old rows, and a later move of the same keys back.
//!
//! A crash of the controller is a pause between two steps, because each step is one transaction. The model omits what
//! M1 to M3 contain (lost ends of logs, concurrent writers, rival controllers), and replication origins, which are a
//! second protection in addition to the open marker. A standby of the source has the seal: the cutover waits for it (M2).

mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol, mutant};
use state::{ReversePhase, ReverseShard, ReverseState, ReverseStream, SOURCE, TARGET};
use step::ReverseAction;

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReverseRule {
    ReverseAfterOpen,
    NoForwardAgain,
    NoOpenMarker,
    ForwardLivesOn,
    FinishWithoutCas,
    DropInHold,
    DropBesideStream,
    DropOfOwnEpoch,
    NoAdmission,
    OldGuardStays,
    OldGuardFirst,
    ConfirmPastStandby,
    KeepProgress,
}

/// The bounds, and the changed rule of a mutant.
pub(crate) struct Reverse {
    bent: Option<ReverseRule>,
    writes: u8,
}

const ONE_OWNER: &str = "I1 at most one shard takes writes";
const OPEN_AGAIN: &str = "I1 in the end one shard takes writes";
const ON_OWNER: &str = "I2 who takes writes holds every write once and in order";
const ONCE: &str = "I2 each change is applied once on each side";
const RIVALS: &str = "I4 completed or rolled back, never both";
const WAY_BACK: &str = "I6 who takes writes after a flip has a slot for the way back";
const DROPPED: &str = "I8 rows are dropped after COMPLETED, with no stream left";

impl Reverse {
    fn is(&self, rule: ReverseRule) -> bool {
        self.bent == Some(rule)
    }
}

impl Protocol for Reverse {
    const NAME: &'static str = "M4 reverse and roll back";
    type Rule = ReverseRule;

    fn new(size: ModelSize, bent: Option<ReverseRule>) -> Self {
        let writes = match size {
            ModelSize::Short => 3,
            ModelSize::Full => 5,
        };
        Self { bent, writes }
    }

    fn bounds(&self) -> String {
        format!(
            "{} writes, 1 roll back given up, 1 hung batch of the drop, 1 failover of the source in the hold",
            self.writes
        )
    }

    fn mutants() -> Vec<Mutant<ReverseRule>> {
        vec![
            mutant(
                ReverseRule::ReverseAfterOpen,
                "reverse slot after open",
                WAY_BACK,
            ),
            mutant(
                ReverseRule::NoForwardAgain,
                "no forward slot before the roll back's fence",
                WAY_BACK,
            ),
            mutant(
                ReverseRule::NoOpenMarker,
                "no origin filter: no open marker",
                ONCE,
            ),
            mutant(
                ReverseRule::ForwardLivesOn,
                "forward stream lives on after the flip",
                ONCE,
            ),
            mutant(ReverseRule::FinishWithoutCas, "finish without CAS", RIVALS),
            mutant(ReverseRule::DropInHold, "drop before COMPLETED", ON_OWNER),
            mutant(
                ReverseRule::DropBesideStream,
                "drop beside a stream",
                DROPPED,
            ),
            mutant(
                ReverseRule::DropOfOwnEpoch,
                "late drop of keys that came back",
                ON_OWNER,
            ),
            mutant(
                ReverseRule::NoAdmission,
                "move back admitted during the drop",
                ONCE,
            ),
            mutant(
                ReverseRule::OldGuardStays,
                "old guard refuses keys that came back",
                OPEN_AGAIN,
            ),
            mutant(
                ReverseRule::OldGuardFirst,
                "old guard goes before the new one stands",
                ONE_OWNER,
            ),
            mutant(
                ReverseRule::ConfirmPastStandby,
                "slot is confirmed past the standby",
                ON_OWNER,
            ),
            mutant(
                ReverseRule::KeepProgress,
                "stream keeps its progress after a failover",
                ON_OWNER,
            ),
        ]
    }
}

impl Model for Reverse {
    type State = ReverseState;
    type Action = ReverseAction;

    fn init_states(&self) -> Vec<ReverseState> {
        let shard = |open| ReverseShard {
            log: Vec::new(),
            rows: Vec::new(),
            guards: [Some(open), None],
        };
        vec![ReverseState {
            shards: [shard(true), shard(false)],
            streams: [
                Some(ReverseStream {
                    at: 0,
                    applies: true,
                }),
                None,
            ],
            phase: ReversePhase::DualWrite,
            written: 0,
            finishing: false,
            completed: false,
            given_up: 0,
            standby: None,
            confirmed: 0,
            failed_over: false,
            epoch: 0,
            zombie: None,
            hung: false,
            doubled: false,
            dropped_early: false,
        }]
    }

    fn actions(&self, state: &ReverseState, actions: &mut Vec<ReverseAction>) {
        self.possible(state, actions);
    }

    fn next_state(&self, last: &ReverseState, action: ReverseAction) -> Option<ReverseState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_OWNER, |_, s: &ReverseState| {
                !s.shards.iter().all(ReverseShard::is_open)
            }),
            Property::always(ON_OWNER, |_, s: &ReverseState| {
                let all = |shard: &ReverseShard| shard.rows.iter().copied().eq(0..s.written);
                s.shards.iter().all(|shard| !shard.is_open() || all(shard))
            }),
            Property::always(ONCE, |_, s: &ReverseState| !s.doubled),
            Property::always(RIVALS, |_, s: &ReverseState| {
                !(s.completed && s.phase.is_rollback())
            }),
            Property::always(WAY_BACK, |_, s: &ReverseState| {
                (s.phase != ReversePhase::Hold || s.streams[TARGET].is_some())
                    && (s.phase != ReversePhase::SecondHold || s.streams[SOURCE].is_some())
            }),
            Property::always(DROPPED, |_, s: &ReverseState| !s.dropped_early),
            Property::always(OPEN_AGAIN, |m: &Self, s: &ReverseState| {
                s.shards.iter().any(ReverseShard::is_open) || !m.possible_actions(s).is_empty()
            }),
            Property::sometimes(
                "writes on the source, the target and the source again",
                |m: &Self, s: &ReverseState| {
                    let wrote = |shard: &ReverseShard| {
                        shard
                            .log
                            .iter()
                            .any(|record| matches!(record, state::ReverseRecord::Write(_)))
                    };
                    s.shards.iter().all(wrote)
                        && s.phase == ReversePhase::SecondHold
                        && s.written == m.writes
                        && matches!(
                            s.shards[SOURCE].log.last(),
                            Some(state::ReverseRecord::Write(_))
                        )
                },
            ),
            Property::sometimes(
                "a roll back after one that was given up",
                |_, s: &ReverseState| s.given_up > 0 && s.phase == ReversePhase::SecondHold,
            ),
            Property::sometimes(
                "a roll back after a failover of the source",
                |_, s: &ReverseState| s.failed_over && s.phase == ReversePhase::SecondHold,
            ),
            Property::sometimes(
                "the keys come back and are written there",
                |_, s: &ReverseState| s.phase == ReversePhase::Returned && s.written > 2,
            ),
            Property::sometimes(
                "a hung batch of the drop is refused",
                |_, s: &ReverseState| {
                    s.phase == ReversePhase::Returned && s.hung && s.zombie.is_none()
                },
            ),
        ]
    }
}
