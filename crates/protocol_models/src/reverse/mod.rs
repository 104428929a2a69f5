//! M4: the way back. Two streams, a second flip, the drop, and the same keys coming back.
//!
//! A crash of the controller is a pause between two steps: each is one transaction.
//! Absent: what M1 to M3 have (logs that lose their end, writers in flight, rival controllers), and
//! origins, which are a second line behind the open marker here.

mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{Mutant, Protocol, Size, mutant};
use state::{Phase, SOURCE, Shard, State, Stream, TARGET};
use step::Action;

/// The rules that can be bent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
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
}

/// Bounds and the bent rule, if any.
pub(crate) struct Reverse {
    bent: Option<Rule>,
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
    fn is(&self, rule: Rule) -> bool {
        self.bent == Some(rule)
    }
}

impl Protocol for Reverse {
    const NAME: &'static str = "M4 reverse and roll back";
    type Rule = Rule;

    fn new(size: Size, bent: Option<Rule>) -> Self {
        let writes = match size {
            Size::Short => 3,
            Size::Full => 5,
        };
        Self { bent, writes }
    }

    fn bounds(&self) -> String {
        format!(
            "{} writes, 1 roll back given up, 1 hung batch of the drop",
            self.writes
        )
    }

    fn mutants() -> Vec<Mutant<Rule>> {
        vec![
            mutant(Rule::ReverseAfterOpen, "reverse slot after open", WAY_BACK),
            mutant(
                Rule::NoForwardAgain,
                "no forward slot before the roll back's fence",
                WAY_BACK,
            ),
            mutant(Rule::NoOpenMarker, "no origin filter: no open marker", ONCE),
            mutant(
                Rule::ForwardLivesOn,
                "forward stream lives on after the flip",
                ONCE,
            ),
            mutant(Rule::FinishWithoutCas, "finish without CAS", RIVALS),
            mutant(Rule::DropInHold, "drop before COMPLETED", ON_OWNER),
            mutant(Rule::DropBesideStream, "drop beside a stream", DROPPED),
            mutant(
                Rule::DropOfOwnEpoch,
                "late drop of keys that came back",
                ON_OWNER,
            ),
            mutant(
                Rule::NoAdmission,
                "move back admitted during the drop",
                ONCE,
            ),
            mutant(
                Rule::OldGuardStays,
                "old guard refuses keys that came back",
                OPEN_AGAIN,
            ),
            mutant(
                Rule::OldGuardFirst,
                "old guard goes before the new one stands",
                ONE_OWNER,
            ),
        ]
    }
}

impl Model for Reverse {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let shard = |open| Shard {
            log: Vec::new(),
            rows: Vec::new(),
            guards: [Some(open), None],
        };
        vec![State {
            shards: [shard(true), shard(false)],
            streams: [
                Some(Stream {
                    at: 0,
                    applies: true,
                }),
                None,
            ],
            phase: Phase::DualWrite,
            written: 0,
            finishing: false,
            completed: false,
            given_up: 0,
            epoch: 0,
            zombie: None,
            hung: false,
            doubled: false,
            dropped_early: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.possible(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_OWNER, |_, s: &State| {
                !s.shards.iter().all(Shard::is_open)
            }),
            Property::always(ON_OWNER, |_, s: &State| {
                let all = |shard: &Shard| shard.rows.iter().copied().eq(0..s.written);
                s.shards.iter().all(|shard| !shard.is_open() || all(shard))
            }),
            Property::always(ONCE, |_, s: &State| !s.doubled),
            Property::always(RIVALS, |_, s: &State| {
                !(s.completed && s.phase.is_rollback())
            }),
            Property::always(WAY_BACK, |_, s: &State| {
                (s.phase != Phase::Hold || s.streams[TARGET].is_some())
                    && (s.phase != Phase::SecondHold || s.streams[SOURCE].is_some())
            }),
            Property::always(DROPPED, |_, s: &State| !s.dropped_early),
            Property::always(OPEN_AGAIN, |m: &Self, s: &State| {
                s.shards.iter().any(Shard::is_open) || !m.possible_actions(s).is_empty()
            }),
            Property::sometimes(
                "writes on the source, the target and the source again",
                |m: &Self, s: &State| {
                    let wrote = |shard: &Shard| {
                        shard
                            .log
                            .iter()
                            .any(|record| matches!(record, state::Record::Write(_)))
                    };
                    s.shards.iter().all(wrote)
                        && s.phase == Phase::SecondHold
                        && s.written == m.writes
                        && matches!(s.shards[SOURCE].log.last(), Some(state::Record::Write(_)))
                },
            ),
            Property::sometimes("a roll back after one that was given up", |_, s: &State| {
                s.given_up > 0 && s.phase == Phase::SecondHold
            }),
            Property::sometimes(
                "the keys come back and are written there",
                |_, s: &State| s.phase == Phase::Returned && s.written > 2,
            ),
            Property::sometimes("a hung batch of the drop is refused", |_, s: &State| {
                s.phase == Phase::Returned && s.hung && s.zombie.is_none()
            }),
        ]
    }
}
