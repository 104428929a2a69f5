//! M11: the conversion of a map. Each key has an owner in the map before and one in the mappings that the operator wants.
//! Clients write keys by the map before, also after it was replaced, and by the converted map once it is written.
//!
//! The agent reads the keys of each shard, creates the guards, reads the keys again, and keeps each key where it is. The
//! controller can end at any time. The next one finishes or withdraws the conversion, with a new epoch.
//!
//! The model omits how a client learns that its map is old, a restored store, and the form of the keys. A new epoch
//! reaches all shards at once: a shard that it reaches later is one on which the late guard comes earlier.

mod state;
mod step;

use stateright::{Model, Property};

use crate::check::{ModelSize, Mutant, Protocol, mutant};
use state::{ConversionStage, ConversionState, Keys, ModelKey, ModelShard, SHARDS};
use step::ConversionAction;

/// The rules of which a mutant changes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConversionRule {
    ReadsOnce,
    ReadsBeforeGuard,
    WaitsForNoWriter,
    IgnoresLateKeys,
    WritesWithOneGuard,
    RemovesGuardFirst,
    ReleasesNothing,
    WithdrawsAlways,
    ProvesNoEpoch,
}

/// The bounds, and the changed rule of a mutant.
pub(crate) struct Conversion {
    bent: Option<ConversionRule>,
    keys: usize,
    crashes: u8,
}

const OWNER: &str = "I1 only the owner acknowledges a write";
const ONE: &str = "I1 no key has rows on two shards";
const KEPT: &str = "I2 the converted map gives each key to the shard with its rows";
const OPEN: &str = "a key that had rows before is never refused";
const CLOSED: &str = "after the end each shard refuses the keys of others";
const NOTHING: &str = "after the end no guard of the conversion is left";

impl Conversion {
    fn is(&self, rule: ConversionRule) -> bool {
        self.bent == Some(rule)
    }
}

impl Protocol for Conversion {
    const NAME: &'static str = "M11 conversion";
    type Rule = ConversionRule;

    fn new(size: ModelSize, bent: Option<ConversionRule>) -> Self {
        let (keys, crashes) = match size {
            ModelSize::Short => (2, 1),
            ModelSize::Full => (3, 2),
        };
        Self {
            bent,
            keys,
            crashes,
        }
    }

    fn bounds(&self) -> String {
        let Self { keys, crashes, .. } = self;
        format!("{SHARDS} shards, {keys} keys, {crashes} crashes of the controller")
    }

    fn mutants() -> Vec<Mutant<ConversionRule>> {
        vec![
            mutant(
                ConversionRule::ReadsOnce,
                "the keys are not read again after the guard",
                KEPT,
            ),
            mutant(
                ConversionRule::ReadsBeforeGuard,
                "the keys are read again before the guard",
                KEPT,
            ),
            mutant(
                ConversionRule::WaitsForNoWriter,
                "the guard does not wait for transactions that have written",
                OWNER,
            ),
            mutant(
                ConversionRule::IgnoresLateKeys,
                "keys of the second reading are not kept",
                KEPT,
            ),
            mutant(
                ConversionRule::WritesWithOneGuard,
                "the version is written when one shard has its guard",
                KEPT,
            ),
            mutant(
                ConversionRule::RemovesGuardFirst,
                "the guard of the conversion is removed before the guard of released keys is replaced",
                OWNER,
            ),
            mutant(
                ConversionRule::ReleasesNothing,
                "the guard of released keys stays as it was",
                CLOSED,
            ),
            mutant(
                ConversionRule::WithdrawsAlways,
                "a conversion whose version is written is withdrawn",
                CLOSED,
            ),
            mutant(
                ConversionRule::ProvesNoEpoch,
                "an agent of an earlier controller creates its guard",
                NOTHING,
            ),
        ]
    }
}

impl Model for Conversion {
    type State = ConversionState;
    type Action = ConversionAction;

    /// Returns a state for each set of keys that have rows, with and without a guard of released keys.
    fn init_states(&self) -> Vec<ConversionState> {
        let key = |index: usize, is_old: bool| {
            let before = index % SHARDS;
            let mut rows = [false; SHARDS];
            rows[before] = is_old;
            ModelKey {
                before,
                wanted: 1 - before,
                converted: 1 - before,
                is_old,
                rows,
                open: None,
            }
        };
        let mut states = Vec::new();
        for old in 0..1_u8 << self.keys {
            for has_released in [false, true] {
                let mut shards = [ModelShard::default(); SHARDS];
                if has_released {
                    // Shard 1 has released the first key earlier.
                    shards[1].released = Keys::default().with(0);
                }
                states.push(ConversionState {
                    stage: ConversionStage::Reading,
                    epoch: 1,
                    crashes: 0,
                    is_written: false,
                    keys: (0..self.keys)
                        .map(|index| key(index, old & (1 << index) != 0))
                        .collect(),
                    shards,
                    late: None,
                    has_wrong_write: false,
                    has_kept_late_key: false,
                });
            }
        }
        states
    }

    fn actions(&self, state: &ConversionState, actions: &mut Vec<ConversionAction>) {
        self.possible(state, actions);
    }

    fn next_state(
        &self,
        last: &ConversionState,
        action: ConversionAction,
    ) -> Option<ConversionState> {
        let mut state = last.clone();
        self.perform(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(OWNER, |_, s: &ConversionState| !s.has_wrong_write),
            Property::always(ONE, |_, s: &ConversionState| {
                !s.keys.iter().any(|key| key.rows == [true; SHARDS])
            }),
            Property::always(KEPT, |_, s: &ConversionState| {
                let elsewhere = |key: &ModelKey| key.rows[1 - key.converted];
                !s.is_written || !s.keys.iter().any(elsewhere)
            }),
            Property::always(OPEN, |_, s: &ConversionState| {
                let mut keys = s.keys.iter().enumerate();
                keys.all(|(index, key)| !key.is_old || s.accepts(key.before, index))
            }),
            Property::always(CLOSED, |_, s: &ConversionState| {
                let refuses = |shard: usize| s.shards[shard].released == s.of_others(shard);
                let has_ended = s.stage == ConversionStage::Ended && s.is_written;
                !has_ended || (0..SHARDS).all(refuses)
            }),
            Property::always(NOTHING, |_, s: &ConversionState| {
                let has_ended = s.stage == ConversionStage::Ended;
                !has_ended || s.shards.iter().all(|shard| shard.guard.is_none())
            }),
            Property::sometimes("a conversion ends with a key that was kept late", |_, s| {
                let s: &ConversionState = s;
                s.stage == ConversionStage::Ended && s.is_written && s.has_kept_late_key
            }),
            Property::sometimes("a new key goes to its wanted shard", |_, s| {
                let s: &ConversionState = s;
                let is_new = |key: &ModelKey| !key.is_old && key.rows[key.wanted];
                s.stage == ConversionStage::Ended && s.keys.iter().any(is_new)
            }),
            Property::sometimes("another controller finishes", |_, s| {
                let s: &ConversionState = s;
                s.stage == ConversionStage::Ended && s.is_written && s.crashes > 0
            }),
            Property::sometimes("another controller withdraws", |_, s| {
                let s: &ConversionState = s;
                s.stage == ConversionStage::Ended && !s.is_written
            }),
        ]
    }
}
