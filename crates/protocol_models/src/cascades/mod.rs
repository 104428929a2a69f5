//! M6: cascades. The application deletes a row of a reference table on both shards. On each shard a foreign key
//! cascades the deletion to a moving row. On the shard that does not own the row, a trigger may skip it (ADR 55).
//!
//! The model omits the fence, which refuses writes as the seal does, and the mechanisms of wait-out, drain and flip
//! (models M2 and M3): the seal simply waits for the owner's writer, and the flip for the stream. If a process dies,
//! its successor continues after a flip, and otherwise gives the attempt up.

mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol, mutant};
use state::{AttemptStage, CascadeShard, CascadeSide, CascadeState, CascadeWriter};
use step::CascadeAction;

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CascadeRule {
    NotCleared,
    ReadBySnapshot,
    LockBehindTheLook,
    NobodyIsWaitedFor,
    NothingIsAsked,
    AskedBeforeTheWait,
    HeldByTheProcess,
    LateRelease,
}

/// The bounds, and the changed rule of a mutant.
pub(crate) struct Cascades {
    bent: Option<CascadeRule>,
    attempts: u8,
    deaths: u8,
}

const WHOLE: &str = "I2 an owner has no row that refers to nothing";
const OPEN_AGAIN: &str = "I9 in the end the owner is open";

impl Cascades {
    fn is(&self, rule: CascadeRule) -> bool {
        self.bent == Some(rule)
    }
}

impl Protocol for Cascades {
    const NAME: &'static str = "M6 cascades";
    type Rule = CascadeRule;

    fn new(size: ModelSize, bent: Option<CascadeRule>) -> Self {
        let (attempts, deaths) = match size {
            ModelSize::Short => (4, 1),
            ModelSize::Full => (6, 2),
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

    fn mutants() -> Vec<Mutant<CascadeRule>> {
        vec![
            mutant(
                CascadeRule::NotCleared,
                "the value is not cleared before the fence",
                WHOLE,
            ),
            mutant(
                CascadeRule::ReadBySnapshot,
                "the value is read by the transaction's snapshot",
                WHOLE,
            ),
            mutant(
                CascadeRule::LockBehindTheLook,
                "the value is read before the lock is taken",
                WHOLE,
            ),
            mutant(
                CascadeRule::NobodyIsWaitedFor,
                "nobody is waited for who may have skipped rows",
                WHOLE,
            ),
            mutant(
                CascadeRule::NothingIsAsked,
                "the shard is not asked what refers to nothing",
                WHOLE,
            ),
            mutant(
                CascadeRule::AskedBeforeTheWait,
                "it is asked before they are waited for",
                WHOLE,
            ),
            mutant(
                CascadeRule::HeldByTheProcess,
                "a lock of the process stands for the value",
                WHOLE,
            ),
            mutant(
                CascadeRule::LateRelease,
                "a release of an earlier attempt comes late",
                WHOLE,
            ),
        ]
    }
}

impl Model for Cascades {
    type State = CascadeState;
    type Action = CascadeAction;

    fn init_states(&self) -> Vec<CascadeState> {
        let shard = |owns: bool| CascadeShard {
            open: owns,
            owns,
            skips: !owns,
            count: 0,
            parent: true,
            row: true,
            skipped: false,
            writer: CascadeWriter::Idle,
        };
        vec![CascadeState {
            shards: [shard(true), shard(false)],
            owner: CascadeSide::Source,
            stage: AttemptStage::Idle,
            attempt: 0,
            deaths: 0,
            sent: false,
            hung: None,
        }]
    }

    fn actions(&self, state: &CascadeState, actions: &mut Vec<CascadeAction>) {
        self.possible(state, actions);
    }

    fn next_state(&self, last: &CascadeState, action: CascadeAction) -> Option<CascadeState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(WHOLE, |_, s: &CascadeState| s.shard(s.owner).is_whole()),
            Property::always(OPEN_AGAIN, |m: &Self, s: &CascadeState| {
                s.shard(s.owner).open || !m.possible_actions(s).is_empty()
            }),
            Property::sometimes(
                "a copy that was skipped has followed",
                |_, s: &CascadeState| {
                    let owner = s.shard(s.owner);
                    owner.skipped && !owner.row && owner.open
                },
            ),
            Property::sometimes(
                "an attempt meets a row that has not followed",
                |_, s: &CascadeState| {
                    let new_owner = s.shard(s.owner.other());
                    s.stage == AttemptStage::Waited && !new_owner.is_whole()
                },
            ),
            Property::sometimes(
                "an old snapshot meets keys that have come back",
                |_, s: &CascadeState| {
                    let owner = s.shard(s.owner);
                    owner.writer == CascadeWriter::Begun { saw: true } && !owner.open && owner.owns
                },
            ),
            Property::sometimes("a release comes late", |_, s: &CascadeState| {
                s.hung.is_some() && s.stage == AttemptStage::Flipped
            }),
        ]
    }
}
