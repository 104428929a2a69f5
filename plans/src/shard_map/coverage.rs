//! Which keys a map assigns to shards, and which it does not.

use super::ShardMap;
use crate::key_set::{Buckets, KeySet};

impl ShardMap {
    /// Returns all keys that any shard owns.
    #[must_use]
    pub fn mapped(&self) -> KeySet {
        let all = self.mappings.iter();
        all.fold(self.empty_key_set(), |all, mapping| {
            all.union(&mapping.keys)
        })
    }

    /// Returns the keys that no shard owns although shards own keys before and after them; none for a list map.
    #[must_use]
    pub fn gaps(&self) -> KeySet {
        let mapped = self.mapped().normal();
        let whole = match &mapped {
            KeySet::Range(ranges) => match (ranges.first(), ranges.last()) {
                (Some(first), Some(last)) => KeySet::range(first.from.clone(), last.to.clone()),
                (_, _) => return mapped,
            },
            KeySet::Hash(Buckets { of, .. }) => KeySet::buckets(*of, 0, *of),
            KeySet::List(_) => return mapped.empty_set(),
        };
        whole.minus(&mapped)
    }
}
