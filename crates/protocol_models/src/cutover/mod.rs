//! M2: one cutover, from the fence to the open target, while clients write.
//!
//! The register's values are records of the source's log, as the sequence's are: what a crash or a
//! promotion takes away is the log's end. The sessions of the target may lead to another database from some moment on;
//! and the process that was given the cutover may claim what the target has not applied (ADR 48). Clients know no map: they try both shards at any time.
//! Absent: rival controllers and late requests (M3), the reverse stream (M4), reads, which no guard
//! refuses, and therefore linearizability: the order of writes to one key stands for it.

mod actions;
mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{Mutant, Protocol, Size, mutant};
use actions::Action;
use state::{Client, Ownership, Register, Source, State, Step, Target};

/// The rules that can be bent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
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
    OpenBeforeFlip,
    OpenOnTimeout,
    SealExpires,
    FenceForEver,
    NoReconciler,
    NoMarkers,
    NoIdentity,
}

/// Bounds and the bent rule, if any.
pub(crate) struct Cutover {
    bent: Option<Rule>,
    clients: usize,
    attempts: u8,
    /// Crashes and promotions of the source, crashes of the controller, attempts given up: together.
    faults: u8,
    /// Records that a standby may lack.
    lag: u8,
}

const ONE_OWNER: &str = "I1 at most one register is open";
const ON_OWNER: &str = "I2 an open target holds every write of the source once and in order";
const FLIPPED: &str = "I5 an open target is flipped";
const SEALED: &str = "I5 flipped means sealed, waited out, drained and compared";
const OPEN_AGAIN: &str = "I9 in the end the keys are open, or sealed and abandoned";

impl Cutover {
    fn is(&self, rule: Rule) -> bool {
        self.bent == Some(rule)
    }

    /// Something happens without a controller being started again: perhaps none ever is.
    fn goes_on(&self, state: &State) -> bool {
        self.possible_actions(state)
            .iter()
            .any(|action| *action != Action::RestartController)
    }
}

impl Protocol for Cutover {
    const NAME: &'static str = "M2 cutover";
    type Rule = Rule;

    fn new(size: Size, bent: Option<Rule>) -> Self {
        let (clients, faults, lag) = match size {
            Size::Short => (2, 1, 2),
            Size::Full => (2, 2, u8::MAX),
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

    fn mutants() -> Vec<Mutant<Rule>> {
        vec![
            mutant(Rule::FenceTable, "fence in MVCC table", ON_OWNER),
            mutant(Rule::NoWaitOut, "no wait-out", ON_OWNER),
            mutant(Rule::WaitOutByPid, "wait-out by pid", ON_OWNER),
            mutant(
                Rule::NoNote,
                "who passes an ended fence notes nothing",
                SEALED,
            ),
            mutant(
                Rule::NoSecondLook,
                "the register is not read again behind the note",
                SEALED,
            ),
            mutant(Rule::DrainToPosition, "drain at write LSN", ON_OWNER),
            mutant(Rule::DrainBeforeWaitOut, "drain before wait-out", ON_OWNER),
            mutant(Rule::AnyMarker, "marker of another attempt", ON_OWNER),
            mutant(
                Rule::NoSeal,
                "flip after an expired fence without a seal",
                ONE_OWNER,
            ),
            mutant(
                Rule::SlippedWrites,
                "slipped writes are not looked for",
                SEALED,
            ),
            mutant(
                Rule::StandbyBehind,
                "flip while a standby lacks the seal",
                ONE_OWNER,
            ),
            mutant(Rule::OpenBeforeFlip, "open before flip", FLIPPED),
            mutant(Rule::OpenOnTimeout, "unfence on timeout", ONE_OWNER),
            mutant(Rule::SealExpires, "the seal expires", ONE_OWNER),
            mutant(Rule::FenceForEver, "the fence does not expire", OPEN_AGAIN),
            mutant(
                Rule::NoReconciler,
                "nobody writes a register again after a promotion",
                OPEN_AGAIN,
            ),
            mutant(
                Rule::NoMarkers,
                "a flip is accepted without the markers that the target has applied",
                SEALED,
            ),
            mutant(
                Rule::NoIdentity,
                "a session acts without proving which database it is in",
                ON_OWNER,
            ),
        ]
    }
}

impl Model for Cutover {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            clients: vec![Client::Idle; self.clients],
            source: Source {
                log: Vec::new(),
                flushed: 0,
                replicated: 0,
                expired: false,
                promoted: false,
            },
            target: Target {
                writes: Vec::new(),
                applied: 0,
                open: false,
                elsewhere: false,
            },
            ownership: Ownership::Ready,
            attempt: 0,
            step: Step::Idle,
            faults: 0,
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
                !(s.source.is_open() && s.target.open)
            }),
            Property::always(ON_OWNER, |_, s: &State| !s.target.open || s.is_drained()),
            Property::always(FLIPPED, |_, s: &State| {
                !s.target.open || s.ownership == Ownership::Flipped
            }),
            Property::always(SEALED, |_, s: &State| {
                s.ownership != Ownership::Flipped
                    || s.source.register() == Register::Closed
                        && !s.clients.iter().any(|client| client.has_passed())
                        && s.is_drained()
                        && !s.has_slipped()
            }),
            Property::always(OPEN_AGAIN, |m: &Self, s: &State| {
                let abandoned = s.step == Step::Dead && s.source.register() == Register::Closed;
                s.source.is_open() || s.target.open || abandoned || m.goes_on(s)
            }),
            Property::sometimes(
                "one write on the source, a later one on the target",
                |_, s: &State| {
                    s.clients.contains(&Client::OnSource) && s.clients.contains(&Client::OnTarget)
                },
            ),
            Property::sometimes(
                "a flip after an attempt that was given up",
                |_, s: &State| s.attempt == 2 && s.target.open,
            ),
            Property::sometimes(
                "a write slips in behind an expired fence",
                |_, s: &State| s.step == Step::Check && s.has_slipped(),
            ),
            Property::sometimes("a session leads to another database", |_, s: &State| {
                s.target.elsewhere && s.step == Step::Drain(state::Round::Seal, 0)
            }),
            Property::sometimes("sealed and abandoned", |_, s: &State| {
                s.step == Step::Dead && s.source.register() == Register::Closed
            }),
            Property::sometimes(
                "the old source is promoted after the flip",
                |_, s: &State| s.source.promoted && s.target.open,
            ),
        ]
    }
}
