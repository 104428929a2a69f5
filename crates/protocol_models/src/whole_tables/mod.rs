//! M9: new tables of a moving schema. The key of a table is the table itself: its guard refuses every write, and a table
//! without a guard refuses none. The application creates tables in the moving schema at any moment before the flip.
//!
//! The agent adopts the tables that it finds before the gate. An attempt fences the register, waits for the transactions
//! that hold the lock of CREATE TABLE on the schema, and searches for new tables before it flips.
//!
//! The model omits how a table is copied and drained (M1), fence, seal and expiry (M2), and tables whose creation begins
//! after the fence: if the search does not find them, they stay on the old owner (docs/limits.md).

mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol, mutant};
use state::{AttemptStage, CreatedTable, WholeTablesState};
use step::WholeTablesAction;

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WholeTablesRule {
    WaitsForNoCreation,
    SearchesBeforeWait,
    SearchesAtGateOnly,
    AdoptsWithoutGuard,
}

/// The bounds, and the changed rule of a mutant.
pub(crate) struct WholeTables {
    bent: Option<WholeTablesRule>,
    tables: usize,
    attempts: u8,
}

const MOVED: &str = "I2 no table whose creation began before the fence stays behind";
const REFUSED: &str = "I1 an old owner accepts no write to a moved table";

impl WholeTables {
    fn is(&self, rule: WholeTablesRule) -> bool {
        self.bent == Some(rule)
    }
}

impl Protocol for WholeTables {
    const NAME: &'static str = "M9 whole tables";
    type Rule = WholeTablesRule;

    fn new(size: ModelSize, bent: Option<WholeTablesRule>) -> Self {
        let (tables, attempts) = match size {
            ModelSize::Short => (3, 3),
            ModelSize::Full => (5, 4),
        };
        Self {
            bent,
            tables,
            attempts,
        }
    }

    fn bounds(&self) -> String {
        let Self {
            tables, attempts, ..
        } = self;
        format!("{tables} new tables, {attempts} attempts")
    }

    fn mutants() -> Vec<Mutant<WholeTablesRule>> {
        vec![
            mutant(
                WholeTablesRule::WaitsForNoCreation,
                "the wait-out does not wait for open creations of tables",
                MOVED,
            ),
            mutant(
                WholeTablesRule::SearchesBeforeWait,
                "the agent searches for new tables before the wait-out",
                MOVED,
            ),
            mutant(
                WholeTablesRule::SearchesAtGateOnly,
                "the agent searches for new tables at the gate only",
                MOVED,
            ),
            mutant(
                WholeTablesRule::AdoptsWithoutGuard,
                "an adopted table gets no guard",
                REFUSED,
            ),
        ]
    }
}

impl Model for WholeTables {
    type State = WholeTablesState;
    type Action = WholeTablesAction;

    fn init_states(&self) -> Vec<WholeTablesState> {
        vec![WholeTablesState {
            stage: AttemptStage::Idle,
            attempt: 0,
            tables: vec![CreatedTable::NONE; self.tables],
            has_failed_attempt: false,
        }]
    }

    fn actions(&self, state: &WholeTablesState, actions: &mut Vec<WholeTablesAction>) {
        self.possible(state, actions);
    }

    fn next_state(
        &self,
        last: &WholeTablesState,
        action: WholeTablesAction,
    ) -> Option<WholeTablesState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(MOVED, |_, s: &WholeTablesState| {
                let stays = |table: &CreatedTable| table.is_early() && !table.adopted;
                s.stage != AttemptStage::Flipped || !s.tables.iter().any(stays)
            }),
            Property::always(REFUSED, |_, s: &WholeTablesState| {
                let is_accepted = |table: &CreatedTable| table.adopted && table.written_late;
                !s.tables.iter().any(is_accepted)
            }),
            Property::sometimes(
                "a flip moves every table",
                |m: &Self, s: &WholeTablesState| {
                    let moved = s.tables.iter().filter(|table| table.adopted).count();
                    s.stage == AttemptStage::Flipped && moved == m.tables
                },
            ),
            Property::sometimes(
                "an attempt is given up because of a new table, and a later one flips",
                |_, s: &WholeTablesState| s.has_failed_attempt && s.stage == AttemptStage::Flipped,
            ),
            Property::sometimes(
                "a creation that is rolled back prevents no flip",
                |_, s: &WholeTablesState| {
                    let rolled_back =
                        |table: &CreatedTable| table.creation == state::Creation::RolledBack;
                    s.stage == AttemptStage::Flipped && s.tables.iter().all(rolled_back)
                },
            ),
        ]
    }
}
