//! The state of M11.

/// The number of shards.
pub(crate) const SHARDS: usize = 2;

/// A set of keys, by their places in the list of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Keys(u8);

impl Keys {
    pub(crate) fn with(self, key: usize) -> Self {
        Self(self.0 | 1 << key)
    }

    pub(crate) fn has(self, key: usize) -> bool {
        self.0 & (1 << key) != 0
    }
}

/// A key: where its rows are, who writes it, and who owns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ModelKey {
    /// The owner in the map before the conversion.
    pub(crate) before: usize,
    /// The owner in the mappings that the operator wants.
    pub(crate) wanted: usize,
    /// The owner in the converted map, as the controller knows it.
    pub(crate) converted: usize,
    /// It had rows before the conversion began.
    pub(crate) is_old: bool,
    /// It has committed rows on these shards.
    pub(crate) rows: [bool; SHARDS],
    /// A transaction has written a row on this shard, and has not ended.
    pub(crate) open: Option<usize>,
}

/// A shard, with its guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct ModelShard {
    /// The epoch of the conversion in its row on the shard.
    pub(crate) enrolled: Option<u8>,
    /// The keys that the guard of the conversion refuses.
    pub(crate) guard: Option<Keys>,
    /// The keys that the guard of released keys refuses.
    pub(crate) released: Keys,
    /// The keys were read after the newest guard.
    pub(crate) is_read_again: bool,
}

/// How far the conversion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ConversionStage {
    Reading,
    Closing,
    Finishing,
    Withdrawing,
    /// Its controller has ended; the next leader has not taken it over.
    Orphaned,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ConversionState {
    pub(crate) stage: ConversionStage,
    pub(crate) epoch: u8,
    pub(crate) crashes: u8,
    /// The version of the conversion is written.
    pub(crate) is_written: bool,
    pub(crate) keys: Vec<ModelKey>,
    pub(crate) shards: [ModelShard; SHARDS],
    /// A guard that an agent of an earlier controller has not created yet: the shard and the epoch.
    pub(crate) late: Option<(usize, u8)>,
    /// A write was acknowledged by a shard that does not own the key.
    pub(crate) has_wrong_write: bool,
    /// A second reading found a key.
    pub(crate) has_kept_late_key: bool,
}

impl ConversionState {
    /// Returns whether a shard accepts a write to a key.
    pub(crate) fn accepts(&self, shard: usize, key: usize) -> bool {
        let ModelShard {
            guard, released, ..
        } = self.shards[shard];
        !released.has(key) && guard.is_none_or(|refused| !refused.has(key))
    }

    /// Returns the owner of a key in the version in force.
    pub(crate) fn owner(&self, key: usize) -> usize {
        let key = &self.keys[key];
        if self.is_written {
            key.converted
        } else {
            key.before
        }
    }

    /// Returns the keys that other shards own in the converted map.
    pub(crate) fn of_others(&self, shard: usize) -> Keys {
        let keys = self.keys.iter().enumerate();
        keys.filter(|(_, key)| key.converted != shard)
            .fold(Keys::default(), |all, (key, _)| all.with(key))
    }

    pub(crate) fn has_open_transaction(&self, shard: usize) -> bool {
        self.keys.iter().any(|key| key.open == Some(shard))
    }
}
