//! M6: cascades. A row of a reference table is deleted on both shards, and each foreign key cascades from it into one
//! moving row, which each shard has; who does not own it may skip it (ADR 55).
//!
//! Absent: the fence, which refuses as a seal does here, and how a wait-out, a drain and a flip are made safe (M2, M3): a
//! seal waits for the owner's writer, a flip for the stream. A process that dies is followed by one that goes on where
//! the flip was made, and else gives the attempt up.

mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{Mutant, Protocol, Size, mutant};
use state::{Shard, Side, Stage, State, Writer};
use step::Action;

/// The rules that can be bent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    NotCleared,
    ReadBySnapshot,
    LockBehindTheLook,
    NobodyIsWaitedFor,
    NothingIsAsked,
    AskedBeforeTheWait,
    HeldByTheProcess,
    LateRelease,
}

/// Bounds and the bent rule, if any.
pub(crate) struct Cascades {
    bent: Option<Rule>,
    attempts: u8,
    deaths: u8,
}

const WHOLE: &str = "I2 an owner has no row that refers to nothing";
const OPEN_AGAIN: &str = "I9 in the end the owner is open";

impl Cascades {
    fn is(&self, rule: Rule) -> bool {
        self.bent == Some(rule)
    }
}

impl Protocol for Cascades {
    const NAME: &'static str = "M6 cascades";
    type Rule = Rule;

    fn new(size: Size, bent: Option<Rule>) -> Self {
        let (attempts, deaths) = match size {
            Size::Short => (4, 1),
            Size::Full => (6, 2),
        };
        Self {
            bent,
            attempts,
            deaths,
        }
    }

    fn bounds(&self) -> String {
        let Self {
            attempts, deaths, ..
        } = self;
        format!("{attempts} attempts, {deaths} deaths of the process, 1 hung release")
    }

    fn mutants() -> Vec<Mutant<Rule>> {
        vec![
            mutant(
                Rule::NotCleared,
                "the value is not cleared before the fence",
                WHOLE,
            ),
            mutant(
                Rule::ReadBySnapshot,
                "the value is read by the transaction's snapshot",
                WHOLE,
            ),
            mutant(
                Rule::LockBehindTheLook,
                "the value is read before the lock is taken",
                WHOLE,
            ),
            mutant(
                Rule::NobodyIsWaitedFor,
                "nobody is waited for who may have skipped rows",
                WHOLE,
            ),
            mutant(
                Rule::NothingIsAsked,
                "the shard is not asked what refers to nothing",
                WHOLE,
            ),
            mutant(
                Rule::AskedBeforeTheWait,
                "it is asked before they are waited for",
                WHOLE,
            ),
            mutant(
                Rule::HeldByTheProcess,
                "a lock of the process stands for the value",
                WHOLE,
            ),
            mutant(
                Rule::LateRelease,
                "a release of an earlier attempt comes late",
                WHOLE,
            ),
        ]
    }
}

impl Model for Cascades {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let shard = |owns: bool| Shard {
            open: owns,
            owns,
            skips: !owns,
            count: 0,
            parent: true,
            row: true,
            skipped: false,
            writer: Writer::Idle,
        };
        vec![State {
            shards: [shard(true), shard(false)],
            owner: Side::Source,
            stage: Stage::Idle,
            attempt: 0,
            deaths: 0,
            sent: false,
            hung: None,
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
            Property::always(WHOLE, |_, s: &State| s.shard(s.owner).is_whole()),
            Property::always(OPEN_AGAIN, |m: &Self, s: &State| {
                s.shard(s.owner).open || !m.possible_actions(s).is_empty()
            }),
            Property::sometimes("a copy that was skipped has followed", |_, s: &State| {
                let owner = s.shard(s.owner);
                owner.skipped && !owner.row && owner.open
            }),
            Property::sometimes(
                "an attempt meets a row that has not followed",
                |_, s: &State| {
                    let gaining = s.shard(s.owner.other());
                    s.stage == Stage::Waited && !gaining.is_whole()
                },
            ),
            Property::sometimes(
                "an old snapshot meets keys that have come back",
                |_, s: &State| {
                    let owner = s.shard(s.owner);
                    owner.writer == Writer::Begun { saw: true } && !owner.open && owner.owns
                },
            ),
            Property::sometimes("a release comes late", |_, s: &State| {
                s.hung.is_some() && s.stage == Stage::Flipped
            }),
        ]
    }
}
