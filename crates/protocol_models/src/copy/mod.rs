//! M1: units of the copy, each with its own snapshot, and the replay of the captured changes.
//!
//! On the source a commit record is written to the log; then it is flushed, and the transaction leaves the proc array,
//! in either order (asynchronous commits, waits for a standby). Units are copied while clients write, and changes are
//! spooled meanwhile. Replay begins when every unit is DONE.
//!
//! The model omits keys that move to another unit, TOAST, several apply sessions (M5), and the duration of a copy.

mod actions;
mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol, mutant};
use actions::CopyAction;
use state::{CopySource, CopyState, CopyTarget, CopyTxn, CopyUnit, INITIAL, is_unique, replay};

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyRule {
    NoGate,
    NoBarrier,
    StandbySnapshot,
    LsnFilter,
    TransactionFilter,
    IndexBeforeHorizon,
    FeedbackBeforeDurable,
    ConfirmBeforeSpool,
    ProgressApart,
}

/// The bounds, and the changed rule of a mutant.
pub(crate) struct Copying {
    bent: Option<CopyRule>,
    /// The number of transactions that run. Every selection of this many transactions is explored.
    transactions: usize,
    /// The number of crashes of source, agent or target in one run.
    crashes: u8,
}

const EQUAL: &str = "I2 past the horizon, the target equals the source at its progress";
const ONE_ROW: &str = "I2 each applied change touches exactly one row";
const INDEX: &str = "I2 unique values are unique whenever an index may be built";
const KEPT: &str = "I3 the confirmed position never passes what is durable on our side";
const ENDS: &str = "I2 the replay ends with every row on the target";

impl Copying {
    fn is(&self, rule: CopyRule) -> bool {
        self.bent == Some(rule)
    }

    /// Returns whether secondary indexes may be built: the replay has passed H, the horizon.
    fn may_index(&self, state: &CopyState) -> bool {
        state.copied()
            && (self.is(CopyRule::IndexBeforeHorizon) || state.target.progress >= state.horizon())
    }
}

impl Protocol for Copying {
    const NAME: &'static str = "M1 copy and replay";
    type Rule = CopyRule;

    fn new(size: ModelSize, bent: Option<CopyRule>) -> Self {
        let (transactions, crashes) = match size {
            ModelSize::Short => (2, 1),
            ModelSize::Full => (3, 1),
        };
        Self {
            bent,
            transactions,
            crashes,
        }
    }

    fn bounds(&self) -> String {
        let Self {
            transactions,
            crashes,
            ..
        } = self;
        format!(
            "2 keys in 2 units, any {transactions} of 3 transactions, \
             {crashes} crashes of source, agent or target"
        )
    }

    fn mutants() -> Vec<Mutant<CopyRule>> {
        vec![
            mutant(CopyRule::NoGate, "no gate", EQUAL),
            mutant(CopyRule::NoBarrier, "no barrier", EQUAL),
            mutant(CopyRule::StandbySnapshot, "standby snapshot", EQUAL),
            mutant(CopyRule::LsnFilter, "LSN filter", EQUAL),
            mutant(
                CopyRule::TransactionFilter,
                "transaction-level filter",
                EQUAL,
            ),
            mutant(CopyRule::IndexBeforeHorizon, "index before H", INDEX),
            mutant(
                CopyRule::FeedbackBeforeDurable,
                "feedback before durable",
                KEPT,
            ),
            mutant(
                CopyRule::ConfirmBeforeSpool,
                "confirm before the spool is durable",
                KEPT,
            ),
            mutant(
                CopyRule::ProgressApart,
                "progress in a separate transaction",
                ONE_ROW,
            ),
        ]
    }
}

impl Model for Copying {
    type State = CopyState;
    type Action = CopyAction;

    fn init_states(&self) -> Vec<CopyState> {
        let run = |left_out: usize| {
            let mut txns = [CopyTxn::Idle; 3];
            txns.iter_mut()
                .skip(left_out)
                .take(3 - self.transactions)
                .for_each(|t| *t = CopyTxn::Ended);
            start(txns)
        };
        let choices = if self.transactions == 3 { 1 } else { 3 };
        (0..choices).map(run).collect()
    }

    fn actions(&self, state: &CopyState, actions: &mut Vec<CopyAction>) {
        self.possible(state, actions);
    }

    fn next_state(&self, last: &CopyState, action: CopyAction) -> Option<CopyState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(EQUAL, |_, s: &CopyState| {
                let past = s.copied() && s.target.progress >= s.horizon();
                !past || s.target.rows == replay(&s.source.log, s.target.progress)
            }),
            Property::always(ONE_ROW, |_, s: &CopyState| !s.halted),
            Property::always(INDEX, |m: &Self, s: &CopyState| {
                !m.may_index(s) || is_unique(s.target.rows)
            }),
            Property::always(KEPT, |_, s: &CopyState| {
                s.slot.is_none_or(|slot| slot.confirmed <= s.kept())
            }),
            Property::always(ENDS, |m: &Self, s: &CopyState| {
                let equal = s.copied() && s.target.rows == s.source.rows;
                equal || !m.possible_actions(s).is_empty()
            }),
            Property::sometimes(
                "one streamed change is in the copy, another is not",
                |_, s: &CopyState| s.has_streamed(true) && s.has_streamed(false),
            ),
            Property::sometimes("units have different snapshots", |_, s: &CopyState| match (
                s.units[0], s.units[1],
            ) {
                (CopyUnit::Done { snapshot: a, .. }, CopyUnit::Done { snapshot: b, .. }) => a != b,
                _ => false,
            }),
            Property::sometimes("the gate refuses a snapshot", |_, s: &CopyState| {
                s.slot
                    .is_some_and(|slot| !s.source.snapshot().dominates(slot.snapshot))
            }),
            Property::sometimes(
                "a copy survives a crash of the source",
                |_, s: &CopyState| {
                    !s.slot.is_none_or(|slot| slot.held)
                        && s.copied()
                        && s.target.progress == s.source.flushed
                },
            ),
        ]
    }
}

fn start(txns: [CopyTxn; 3]) -> CopyState {
    let target = CopyTarget {
        rows: [None; 2],
        progress: 0,
    };
    CopyState {
        source: CopySource {
            txns,
            log: Vec::new(),
            flushed: 0,
            rows: INITIAL,
            next_xid: 1,
        },
        slot: None,
        units: [CopyUnit::Pending; 2],
        spooled: 0,
        applier: 0,
        target,
        durable: target,
        halted: false,
        crashes: 0,
    }
}
