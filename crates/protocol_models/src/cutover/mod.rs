//! M2: one cutover, from the fence to the open target, while clients write.
//!
//! The register's values are records of the source's log, because the register is a sequence. A crash or a promotion
//! removes the end of this log. A promotion of the target's standby after the flip removes the end of its writes; before the
//! flip, the slot sends them again (M1). The target's sessions may from some moment on lead to another database. The agent may
//! claim that the target has applied what it has not (ADR 48). Clients know no map: they try both shards at any time.
//!
//! The model omits rival controllers and late requests (M3), the reverse stream (M4), and reads: no guard refuses them,
//! so it checks the order of writes to one key in place of linearizability.

mod actions;
mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol, mutant};
use actions::CutoverAction;
use state::{
    CutoverClient, CutoverOwnership, CutoverRegister, CutoverSource, CutoverState, CutoverStep,
    CutoverTarget,
};

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutoverRule {
    FenceTable,
    NoWaitOut,
    WaitOutByPid,
    NoNote,
    NoSecondLook,
    DrainToPosition,
    DrainBeforeWaitOut,
    AnyMarker,
    NoSeal,
    SlippedWrites,
    StandbyBehind,
    NewStandbyBehind,
    OpenBeforeFlip,
    OpenOnTimeout,
    SealExpires,
    FenceForEver,
    NoReconciler,
    NoMarkers,
    NoIdentity,
}

/// The bounds, and the changed rule of a mutant.
pub(crate) struct Cutover {
    bent: Option<CutoverRule>,
    clients: usize,
    attempts: u8,
    /// The total number of crashes and promotions of the source, promotions of the target, crashes of the controller, and
    /// attempts that are given up.
    faults: u8,
    /// The number of records that a standby may lack.
    lag: u8,
}

const ONE_OWNER: &str = "I1 at most one register is open";
const ON_OWNER: &str = "I2 an open target holds every write of the source once and in order";
const FLIPPED: &str = "I5 an open target is flipped";
const SEALED: &str = "I5 flipped means sealed, waited out, drained and compared";
const OPEN_AGAIN: &str = "I9 in the end the keys are open, or sealed and abandoned";

impl Cutover {
    fn is(&self, rule: CutoverRule) -> bool {
        self.bent == Some(rule)
    }

    /// Returns whether anything can happen without a new start of a controller, because possibly none is ever started.
    fn goes_on(&self, state: &CutoverState) -> bool {
        self.possible_actions(state)
            .iter()
            .any(|action| *action != CutoverAction::RestartController)
    }
}

impl Protocol for Cutover {
    const NAME: &'static str = "M2 cutover";
    type Rule = CutoverRule;

    fn new(size: ModelSize, bent: Option<CutoverRule>) -> Self {
        let (clients, faults, lag) = match size {
            ModelSize::Short => (2, 1, 2),
            ModelSize::Full => (2, 2, u8::MAX),
        };
        Self {
            bent,
            clients,
            attempts: 2,
            faults,
            lag,
        }
    }

    fn bounds(&self) -> String {
        let Self {
            clients,
            attempts,
            faults,
            ..
        } = self;
        format!("{clients} clients, {attempts} attempts, {faults} crash, promotion or giving up")
    }

    fn mutants() -> Vec<Mutant<CutoverRule>> {
        vec![
            mutant(CutoverRule::FenceTable, "fence in MVCC table", ON_OWNER),
            mutant(CutoverRule::NoWaitOut, "no wait-out", ON_OWNER),
            mutant(CutoverRule::WaitOutByPid, "wait-out by pid", ON_OWNER),
            mutant(
                CutoverRule::NoNote,
                "who passes an ended fence notes nothing",
                SEALED,
            ),
            mutant(
                CutoverRule::NoSecondLook,
                "the register is not read again behind the note",
                SEALED,
            ),
            mutant(CutoverRule::DrainToPosition, "drain at write LSN", ON_OWNER),
            mutant(
                CutoverRule::DrainBeforeWaitOut,
                "drain before wait-out",
                ON_OWNER,
            ),
            mutant(
                CutoverRule::AnyMarker,
                "marker of another attempt",
                ON_OWNER,
            ),
            mutant(
                CutoverRule::NoSeal,
                "flip after an expired fence without a seal",
                ONE_OWNER,
            ),
            mutant(
                CutoverRule::SlippedWrites,
                "slipped writes are not looked for",
                SEALED,
            ),
            mutant(
                CutoverRule::StandbyBehind,
                "flip while a standby lacks the seal",
                ONE_OWNER,
            ),
            mutant(
                CutoverRule::NewStandbyBehind,
                "flip while a standby of the target lacks moved rows",
                SEALED,
            ),
            mutant(CutoverRule::OpenBeforeFlip, "open before flip", FLIPPED),
            mutant(CutoverRule::OpenOnTimeout, "unfence on timeout", ONE_OWNER),
            mutant(CutoverRule::SealExpires, "the seal expires", ONE_OWNER),
            mutant(
                CutoverRule::FenceForEver,
                "the fence does not expire",
                OPEN_AGAIN,
            ),
            mutant(
                CutoverRule::NoReconciler,
                "nobody writes a register again after a promotion",
                OPEN_AGAIN,
            ),
            mutant(
                CutoverRule::NoMarkers,
                "a flip is accepted without the markers that the target has applied",
                SEALED,
            ),
            mutant(
                CutoverRule::NoIdentity,
                "a session acts without proving which database it is in",
                ON_OWNER,
            ),
        ]
    }
}

impl Model for Cutover {
    type State = CutoverState;
    type Action = CutoverAction;

    fn init_states(&self) -> Vec<CutoverState> {
        vec![CutoverState {
            clients: vec![CutoverClient::Idle; self.clients],
            source: CutoverSource {
                log: Vec::new(),
                flushed: 0,
                replicated: 0,
                expired: false,
                promoted: false,
            },
            target: CutoverTarget {
                writes: Vec::new(),
                replicated: 0,
                applied: 0,
                open: false,
                elsewhere: false,
            },
            ownership: CutoverOwnership::Ready,
            attempt: 0,
            step: CutoverStep::Idle,
            faults: 0,
        }]
    }

    fn actions(&self, state: &CutoverState, actions: &mut Vec<CutoverAction>) {
        self.possible(state, actions);
    }

    fn next_state(&self, last: &CutoverState, action: CutoverAction) -> Option<CutoverState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_OWNER, |_, s: &CutoverState| {
                !(s.source.is_open() && s.target.open)
            }),
            Property::always(ON_OWNER, |_, s: &CutoverState| {
                !s.target.open || s.is_drained()
            }),
            Property::always(FLIPPED, |_, s: &CutoverState| {
                !s.target.open || s.ownership == CutoverOwnership::Flipped
            }),
            Property::always(SEALED, |_, s: &CutoverState| {
                s.ownership != CutoverOwnership::Flipped
                    || s.source.register() == CutoverRegister::Closed
                        && !s.clients.iter().any(|client| client.has_passed())
                        && s.is_drained()
                        && !s.has_slipped()
            }),
            Property::always(OPEN_AGAIN, |m: &Self, s: &CutoverState| {
                let abandoned =
                    s.step == CutoverStep::Dead && s.source.register() == CutoverRegister::Closed;
                s.source.is_open() || s.target.open || abandoned || m.goes_on(s)
            }),
            Property::sometimes(
                "one write on the source, a later one on the target",
                |_, s: &CutoverState| {
                    s.clients.contains(&CutoverClient::OnSource)
                        && s.clients.contains(&CutoverClient::OnTarget)
                },
            ),
            Property::sometimes(
                "a flip after an attempt that was given up",
                |_, s: &CutoverState| s.attempt == 2 && s.target.open,
            ),
            Property::sometimes(
                "a write slips in behind an expired fence",
                |_, s: &CutoverState| s.step == CutoverStep::Check && s.has_slipped(),
            ),
            Property::sometimes(
                "a session leads to another database",
                |_, s: &CutoverState| {
                    s.target.elsewhere && s.step == CutoverStep::Drain(state::WaitOutRound::Seal, 0)
                },
            ),
            Property::sometimes("sealed and abandoned", |_, s: &CutoverState| {
                s.step == CutoverStep::Dead && s.source.register() == CutoverRegister::Closed
            }),
            Property::sometimes(
                "the target is promoted after the flip, and has every write of the source",
                |_, s: &CutoverState| {
                    s.clients.contains(&CutoverClient::Unknown)
                        && s.clients.contains(&CutoverClient::OnSource)
                        && s.target.open
                },
            ),
            Property::sometimes(
                "the old source is promoted after the flip",
                |_, s: &CutoverState| s.source.promoted && s.target.open,
            ),
        ]
    }
}
