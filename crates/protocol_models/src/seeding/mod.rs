//! M7: seeding. A physical standby of the source is promoted and becomes the target, instead of a copy of the rows.
//!
//! Everything that the source's database contains is in the source's log, so the standby is a prefix of it: guards,
//! registers, the migration's row and prepared transactions are copied as rows are. A register that is *bound* to the
//! source's timeline is open there and closed on every other server.
//!
//! A death of the agent is a pause between two steps: each step is idempotent, and the next agent finds in the rows of
//! both servers where it continues. A command to promote, and the clean-up on the clone, may take effect later. The
//! model omits the fence, the second marker and the witness (M2, M3), the reverse stream (M4), and epochs (M3).
//!
//! A clone without the migration's row belongs to the person who promoted it. So the properties do not count its
//! writes: those of a standby that was promoted before it had the intent, and those after an abort. For the same reason
//! they do not count staying keys in copies of prepared transactions that a client commits on the clone.

mod actions;
mod mutants;
mod properties;
mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol};
use actions::SeedAction;
use mutants::SeedRule;
use state::{SeedClone, SeedPhase, SeedSource, SeedState, SeedTransaction};

/// The bounds, and the changed rule of a mutant.
pub(crate) struct Seeding {
    bent: Option<SeedRule>,
    transactions: usize,
    /// The number of transactions that take several steps and may be prepared. The others take one step.
    long: usize,
    /// The total number of failovers, promotions by another person, commands that time out or are lost, clean-ups that
    /// hang, and copies of prepared transactions that a client commits.
    faults: u8,
    /// The number of records that the standby that replaces the source may lack.
    lag: u8,
}

impl Seeding {
    fn is(&self, rule: SeedRule) -> bool {
        self.bent == Some(rule)
    }
}

impl Protocol for Seeding {
    const NAME: &'static str = "M7 seeding";
    type Rule = SeedRule;

    fn new(size: ModelSize, bent: Option<SeedRule>) -> Self {
        let (transactions, long, faults, lag) = match size {
            ModelSize::Short => (2, 1, 1, 2),
            ModelSize::Full => (2, 1, 2, u8::MAX),
        };
        Self {
            bent,
            transactions,
            long,
            faults,
            lag,
        }
    }

    fn bounds(&self) -> String {
        let Self {
            transactions,
            faults,
            ..
        } = self;
        format!(
            "{transactions} transactions, {faults} failover, promotion by another person, lost command or hung clean-up"
        )
    }

    fn mutants() -> Vec<Mutant<SeedRule>> {
        mutants::mutants()
    }
}

impl Model for Seeding {
    type State = SeedState;
    type Action = SeedAction;

    fn init_states(&self) -> Vec<SeedState> {
        vec![SeedState {
            source: SeedSource {
                log: Vec::new(),
                timeline: 1,
                replicated: 0,
                transactions: vec![SeedTransaction::Idle; self.transactions],
            },
            clone: SeedClone::STANDBY,
            slot: None,
            confirmed: 0,
            phase: SeedPhase::Planned,
            command: None,
            hung: false,
            faults: 0,
            doubled: false,
            exposed: false,
            blocked: false,
        }]
    }

    fn actions(&self, state: &SeedState, actions: &mut Vec<SeedAction>) {
        self.possible(state, actions);
    }

    fn next_state(&self, last: &SeedState, action: SeedAction) -> Option<SeedState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::properties()
    }
}
