//! M5: two apply sessions, called lanes here. If they share a batch, the second lane commits immediately before the
//! first one. The agent can die between the two commits.
//!
//! The target has an asynchronous standby, which can take its place: it has the target's commits up to some point. The
//! slot is confirmed only up to what the standby has.
//!
//! The model omits the effect of changes on each other (all changes of a row belong to one lane, in their order),
//! sessions that wait for each other, and everything in M1 (the copy, the spool, crashes of the source).

mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol, mutant};
use state::LaneState;
use step::LaneAction;

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneRule {
    NothingIsLeftOut,
    SecondTellsNothing,
    SharesWhileAhead,
    SharesWhatIsReadAgain,
    NotSettled,
    ConfirmsTheSecond,
    FirstGoesFirst,
    ConfirmsBeforeStandby,
}

/// The bounds, and the changed rule of a mutant.
pub(crate) struct Lanes {
    bent: Option<LaneRule>,
    writes: u8,
    crashes: u8,
}

const ONCE: &str = "I2 each change is applied once";
const EVERYTHING: &str = "I2 in the end every change is applied";
const CONFIRMED: &str = "I3 the confirmed position never passes what both lanes have made durable";
const DRAINED: &str = "R18 what the progress has passed is applied by both lanes";

impl Lanes {
    fn is(&self, rule: LaneRule) -> bool {
        self.bent == Some(rule)
    }
}

impl Protocol for Lanes {
    const NAME: &'static str = "M5 two lanes";
    type Rule = LaneRule;

    fn new(size: ModelSize, bent: Option<LaneRule>) -> Self {
        let (writes, crashes) = match size {
            ModelSize::Short => (4, 2),
            ModelSize::Full => (5, 3),
        };
        Self {
            bent,
            writes,
            crashes,
        }
    }

    fn bounds(&self) -> String {
        let Self {
            writes, crashes, ..
        } = self;
        format!(
            "{writes} transactions, {crashes} crashes of the agent or commits of one that is gone; the last may be a \
             failover of the target"
        )
    }

    fn mutants() -> Vec<Mutant<LaneRule>> {
        vec![
            mutant(
                LaneRule::NothingIsLeftOut,
                "nothing is left out after a crash",
                ONCE,
            ),
            mutant(
                LaneRule::SecondTellsNothing,
                "the second lane does not tell what it has reached",
                ONCE,
            ),
            mutant(
                LaneRule::SharesWhileAhead,
                "a batch is shared while the second lane is ahead",
                ONCE,
            ),
            mutant(
                LaneRule::SharesWhatIsReadAgain,
                "rows that are read again are shared",
                ONCE,
            ),
            mutant(
                LaneRule::NotSettled,
                "a run begins while a commit is under way",
                ONCE,
            ),
            mutant(
                LaneRule::ConfirmsTheSecond,
                "the slot is told what the second lane has reached",
                CONFIRMED,
            ),
            mutant(
                LaneRule::FirstGoesFirst,
                "the first lane commits before the second",
                DRAINED,
            ),
            mutant(
                LaneRule::ConfirmsBeforeStandby,
                "the slot is confirmed before the target's standby has flushed",
                CONFIRMED,
            ),
        ]
    }
}

impl Model for Lanes {
    type State = LaneState;
    type Action = LaneAction;

    fn init_states(&self) -> Vec<LaneState> {
        vec![LaneState {
            log: Vec::new(),
            applied: Vec::new(),
            progress: 0,
            second: 0,
            confirmed: 0,
            standby: None,
            run: None,
            hung: None,
            crashes: 0,
            doubled: false,
        }]
    }

    fn actions(&self, state: &LaneState, actions: &mut Vec<LaneAction>) {
        self.possible(state, actions);
    }

    fn next_state(&self, last: &LaneState, action: LaneAction) -> Option<LaneState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONCE, |_, s: &LaneState| !s.doubled),
            Property::always(DRAINED, |_, s: &LaneState| s.has_all_before(s.progress)),
            Property::always(CONFIRMED, |_, s: &LaneState| s.has_all_before(s.confirmed)),
            Property::always(EVERYTHING, |m: &Self, s: &LaneState| {
                s.has_all_before(m.writes) || !m.possible_actions(s).is_empty()
            }),
            Property::sometimes(
                "a run begins with the second lane ahead",
                |_, s: &LaneState| s.run.is_some_and(|run| run.ahead > run.at),
            ),
            Property::sometimes(
                "the standby has the commit of the second lane and lacks that of the first",
                |_, s: &LaneState| {
                    let standby = s.standby.as_ref();
                    standby.is_some_and(|standby| standby.second > standby.progress)
                },
            ),
            Property::sometimes(
                "a batch is shared after a crash between the commits",
                |_, s: &LaneState| {
                    let shared = |run: state::ApplyRun| run.batch.is_some_and(|batch| batch.shared);
                    s.run.is_some_and(|run| run.ahead > 0 && shared(run)) && s.crashes > 0
                },
            ),
        ]
    }
}
