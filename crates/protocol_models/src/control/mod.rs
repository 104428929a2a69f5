//! M3: two controllers, each with its agent. Every lease can end at any time.
//!
//! A controller that waits for a response may wait for any time: this models a paused process and a slow network. A
//! request whose sender no longer waits can be served at any later time or never: this models a lost response, a hung
//! session and a process that continues after its successor has begun. No step reads a clock (I9).
//!
//! A third agent lies: it was assigned no work, reads epoch and attempt, and sends begin, flip and release at any time.
//! It is refused because it lacks the secret of the dispatch (ADR 48). A refused lie changes nothing and is no step.
//!
//! The model omits clients, streams and drains (M2), duplicated requests (a session sends each once), and epochs that a
//! restored store assigns again.

mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol, mutant};
use state::{
    ControlShard, ControlState, Controller, OwnershipRow, PendingRequest, ShardRegister, Store,
};
use step::ControlAction;

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlRule {
    FlipWithoutCas,
    FlipOfAnyAttempt,
    ContinueInTheMiddle,
    EpochOnly,
    ProofApart,
    NoWitness,
    NoWitnessBeforeFence,
    NoSecret,
}

/// The bounds, and the changed rule of a mutant.
pub(crate) struct Control {
    bent: Option<ControlRule>,
    /// The number of leases.
    epochs: u8,
    attempts: u8,
    /// The number of requests that hang.
    hangs: u8,
    /// Whether the store may lose its flip, once.
    restores: bool,
}

const ONE_OWNER: &str = "I1 at most one register is open, a fence counted as open";
const ONE_WINS: &str = "I4 an attempt is flipped or given up, never both";
const SEALED: &str = "I5 flipped means sealed";
const FLIPPED: &str = "I5 an open target is flipped";
const PROVEN: &str = "I7 no write under an epoch older than the shard's";
const ENDS: &str =
    "I4 in the end it is flipped and open there, or released, or halted by a lost flip";

impl Control {
    fn is(&self, rule: ControlRule) -> bool {
        self.bent == Some(rule)
    }

    /// Returns whether the run may end in this state: the owner in the store is open, or a lost flip has halted the
    /// migration. Sealed keys are unavailable, so a run must not end while they are sealed.
    fn is_end(state: &ControlState) -> bool {
        let halted = state
            .controllers
            .iter()
            .any(|c| c.request == PendingRequest::Halt);
        let settled = match state.store.ownership {
            OwnershipRow::Flipped => state.target.is_open(),
            OwnershipRow::Ready => state.source.is_open(),
            OwnershipRow::Fencing => false,
        };
        settled || state.restored && (halted || state.target.is_open())
    }
}

impl Protocol for Control {
    const NAME: &'static str = "M3 control";
    type Rule = ControlRule;

    fn new(size: ModelSize, bent: Option<ControlRule>) -> Self {
        let (epochs, attempts, hangs) = match size {
            ModelSize::Short => (2, 2, 2),
            ModelSize::Full => (3, 3, 2),
        };
        Self {
            bent,
            epochs,
            attempts,
            hangs,
            restores: true,
        }
    }

    fn bounds(&self) -> String {
        let Self {
            epochs,
            attempts,
            hangs,
            ..
        } = self;
        format!(
            "2 controllers, {epochs} leases, {attempts} attempts, {hangs} hung requests, 1 restore"
        )
    }

    fn mutants() -> Vec<Mutant<ControlRule>> {
        vec![
            mutant(ControlRule::FlipWithoutCas, "flip without CAS", ONE_WINS),
            mutant(
                ControlRule::FlipOfAnyAttempt,
                "flip of another attempt",
                SEALED,
            ),
            mutant(
                ControlRule::ContinueInTheMiddle,
                "attempt continued in the middle",
                SEALED,
            ),
            mutant(
                ControlRule::EpochOnly,
                "late register write of the same epoch",
                ONE_OWNER,
            ),
            mutant(
                ControlRule::ProofApart,
                "epoch check outside the transaction",
                PROVEN,
            ),
            mutant(
                ControlRule::NoWitness,
                "the store's lost flip is not noticed at the release",
                ONE_OWNER,
            ),
            mutant(
                ControlRule::NoWitnessBeforeFence,
                "the store's lost flip is not noticed before the fence",
                ONE_OWNER,
            ),
            mutant(
                ControlRule::NoSecret,
                "another agent's calls are accepted by epoch and attempt alone",
                SEALED,
            ),
        ]
    }
}

impl Model for Control {
    type State = ControlState;
    type Action = ControlAction;

    fn init_states(&self) -> Vec<ControlState> {
        let shard = |register| ControlShard {
            epoch: 0,
            count: 0,
            register,
            flipped: false,
        };
        let lease = Controller {
            request: PendingRequest::Lease,
            epoch: 0,
            attempt: 0,
            count: 0,
            proven: false,
        };
        vec![ControlState {
            store: Store {
                ownership: OwnershipRow::Ready,
                attempt: 0,
                epoch: 0,
            },
            source: shard(ShardRegister::Open),
            target: shard(ShardRegister::Closed),
            controllers: [lease; 2],
            hung: Vec::new(),
            hangs: 0,
            restored: false,
            given_up: 0,
            flipped_by: None,
            stale_write: false,
        }]
    }

    fn actions(&self, state: &ControlState, actions: &mut Vec<ControlAction>) {
        self.possible(state, actions);
    }

    fn next_state(&self, last: &ControlState, action: ControlAction) -> Option<ControlState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_OWNER, |_, s: &ControlState| {
                !(s.source.is_open() && s.target.is_open())
            }),
            Property::always(ONE_WINS, |_, s: &ControlState| {
                s.flipped_by
                    .is_none_or(|attempt| s.restored || s.given_up >> attempt & 1 == 0)
            }),
            Property::always(SEALED, |_, s: &ControlState| {
                s.store.ownership != OwnershipRow::Flipped || !s.source.is_open()
            }),
            Property::always(FLIPPED, |_, s: &ControlState| {
                !s.target.is_open() || s.store.ownership == OwnershipRow::Flipped || s.restored
            }),
            Property::always(PROVEN, |_, s: &ControlState| !s.stale_write),
            Property::always(ENDS, |m: &Self, s: &ControlState| {
                Self::is_end(s) || !m.possible_actions(s).is_empty()
            }),
            Property::sometimes("the target opens", |_, s: &ControlState| s.target.is_open()),
            Property::sometimes("a second owner flips", |_, s: &ControlState| {
                s.target.is_open() && s.target.epoch == 2 && s.flipped_by == Some(2)
            }),
            Property::sometimes(
                "the last attempt is given up",
                |m: &Self, s: &ControlState| {
                    s.given_up >> m.attempts & 1 == 1 && s.source.register == ShardRegister::Open
                },
            ),
            Property::sometimes("a lost flip halts", |_, s: &ControlState| {
                s.controllers
                    .iter()
                    .any(|controller| controller.request == PendingRequest::Halt)
            }),
        ]
    }
}
