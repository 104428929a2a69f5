//! M10: dependent rows. The stream carries the changes of all rows of a dependent table, and the agent assigns each to a key
//! by the parent row on the target.
//!
//! The source has two parents, which can get a moving or another key, and two children. The target has a child of its own
//! with the identity of the second one. The tables of parents and children are copied with snapshots of their own, while
//! the application continues to write.
//!
//! The model omits how a table is copied (M1), pieces of a transaction, fence and seal (M2).

mod mutants;
mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol};
use state::DependentsState;
use step::DependentsAction;

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependentsRule {
    TakesOwnRowForCopy,
    IgnoresMissingParent,
    AssignsBeforeParents,
    LeavesDependentsOfDeparted,
    SkipsFinalRemoval,
    LetsDependentsEnter,
    CatchesUpEarly,
    RemovesWithinSnapshots,
}

/// The bounds, and the changed rule of a mutant.
pub(crate) struct Dependents {
    bent: Option<DependentsRule>,
    transactions: usize,
}

pub(super) const EQUAL: &str =
    "I2 the copy has the moving rows when the stream has applied everything";
pub(super) const OWN: &str = "the rows that the target owns do not change";
pub(super) const APPLIED: &str = "each assigned change affects exactly one row";

impl Dependents {
    fn is(&self, rule: DependentsRule) -> bool {
        self.bent == Some(rule)
    }
}

impl Protocol for Dependents {
    const NAME: &'static str = "M10 dependents";
    type Rule = DependentsRule;

    fn new(size: ModelSize, bent: Option<DependentsRule>) -> Self {
        let transactions = match size {
            ModelSize::Short => 4,
            ModelSize::Full => 5,
        };
        Self { bent, transactions }
    }

    fn bounds(&self) -> String {
        format!("2 parents, 2 children, {} transactions", self.transactions)
    }

    fn mutants() -> Vec<Mutant<DependentsRule>> {
        mutants::all()
    }
}

impl Model for Dependents {
    type State = DependentsState;
    type Action = DependentsAction;

    fn init_states(&self) -> Vec<DependentsState> {
        vec![DependentsState::initial()]
    }

    fn actions(&self, state: &DependentsState, actions: &mut Vec<DependentsAction>) {
        self.possible(state, actions);
    }

    fn next_state(
        &self,
        last: &DependentsState,
        action: DependentsAction,
    ) -> Option<DependentsState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(EQUAL, |_, s: &DependentsState| {
                !s.has_caught_up || !s.is_drained() || s.is_equal()
            }),
            Property::always(OWN, |_, s: &DependentsState| s.target.has_own_child),
            Property::always(APPLIED, |_, s: &DependentsState| !s.has_failed),
            Property::sometimes("a child enters and leaves", |_, s: &DependentsState| {
                s.has_caught_up && s.has_entered && s.has_left
            }),
            Property::sometimes(
                "a parent leaves with its child",
                |_, s: &DependentsState| {
                    s.has_caught_up && s.is_drained() && s.parent_left_with_child
                },
            ),
            Property::sometimes(
                "tables have snapshots of their own",
                |_, s: &DependentsState| s.has_caught_up && s.parents_copied != s.children_copied,
            ),
        ]
    }
}
