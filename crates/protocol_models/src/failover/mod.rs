//! M8: a failover of the source before the flip. The agent continues the stream on the promoted standby if it can prove
//! that the standby has everything that was applied or copied; otherwise it compares the copied rows with it.
//!
//! The model omits the units and chunks of the copy (M1), the fence and the seal (M2), and a promotion that the agent has
//! not noticed when it flips: the cutover waits for standbys that stream.

mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol, mutant};
use state::FailoverState;
use step::FailoverAction;

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailoverRule {
    ContinuesPastSwitchPoint,
    IgnoresSnapshot,
    IgnoresSlotPosition,
    KeepsSpool,
    UsesOldPrimary,
    KeepsPositions,
    CountsWithoutComparing,
}

/// The bounds, and the changed rule of a mutant.
pub(crate) struct Failover {
    bent: Option<FailoverRule>,
    writes: u8,
}

const EQUAL: &str = "I2 after the flip the target has exactly the rows of the source's primary";
const AT_PROGRESS: &str =
    "I2 the target has what the server had at the progress, and what the copy saw";
const CONFIRMED: &str =
    "I3 every change after the progress is in the spool, or is sent by the slot";

impl Failover {
    fn is(&self, rule: FailoverRule) -> bool {
        self.bent == Some(rule)
    }
}

impl Protocol for Failover {
    const NAME: &'static str = "M8 failover of the source";
    type Rule = FailoverRule;

    fn new(size: ModelSize, bent: Option<FailoverRule>) -> Self {
        let writes = match size {
            ModelSize::Short => 4,
            ModelSize::Full => 5,
        };
        Self { bent, writes }
    }

    fn bounds(&self) -> String {
        format!(
            "{} transactions on both servers together, 1 promotion; slots are synchronized or not, changes held back or not",
            self.writes
        )
    }

    fn mutants() -> Vec<Mutant<FailoverRule>> {
        vec![
            mutant(
                FailoverRule::ContinuesPastSwitchPoint,
                "the stream continues past the switch point",
                EQUAL,
            ),
            mutant(
                FailoverRule::IgnoresSnapshot,
                "the stream continues although the copy saw more than the standby has",
                EQUAL,
            ),
            mutant(
                FailoverRule::IgnoresSlotPosition,
                "the stream continues with a slot that is past the progress",
                CONFIRMED,
            ),
            mutant(
                FailoverRule::KeepsSpool,
                "changes in the spool are applied after the failover",
                EQUAL,
            ),
            mutant(
                FailoverRule::UsesOldPrimary,
                "the old primary is still up, accepts writes, and is read",
                EQUAL,
            ),
            mutant(
                FailoverRule::KeepsPositions,
                "positions of the earlier timeline count after the comparison",
                EQUAL,
            ),
            mutant(
                FailoverRule::CountsWithoutComparing,
                "the copied rows count without a comparison",
                EQUAL,
            ),
        ]
    }
}

impl Model for Failover {
    type State = FailoverState;
    type Action = FailoverAction;

    fn init_states(&self) -> Vec<FailoverState> {
        let settings = [(false, false), (true, false), (true, true)];
        settings.map(FailoverState::begin).to_vec()
    }

    fn actions(&self, state: &FailoverState, actions: &mut Vec<FailoverAction>) {
        self.possible(state, actions);
    }

    fn next_state(&self, last: &FailoverState, action: FailoverAction) -> Option<FailoverState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(EQUAL, |_, s: &FailoverState| {
                !s.flipped || s.target == s.rows_of_primary()
            }),
            Property::always(AT_PROGRESS, |_, s: &FailoverState| {
                !s.has_copy() || s.target == s.expected_on_target()
            }),
            Property::always(CONFIRMED, |_, s: &FailoverState| s.has_no_gap()),
            Property::sometimes(
                "the stream continues on the promoted standby",
                |_, s: &FailoverState| s.continued && s.flipped,
            ),
            Property::sometimes(
                "rows that the standby lacks are removed from the target",
                |_, s: &FailoverState| s.removed && s.flipped,
            ),
            Property::sometimes(
                "a flip without synchronized slots after a failover",
                |_, s: &FailoverState| s.flipped && !s.synchronizes && s.promoted.is_some(),
            ),
        ]
    }
}
