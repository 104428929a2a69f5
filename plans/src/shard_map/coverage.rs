//! Which keys a map assigns to shards, and which it does not.

use super::{KeyedBy, ShardMap};
use crate::key_set::{Buckets, KeySet};

impl ShardMap {
    /// Returns all keys that any shard owns.
    #[must_use]
    pub fn mapped(&self) -> KeySet {
        let mappings = self.mappings.iter();
        self.empty_key_set()
            .union_all(mappings.map(|mapping| &mapping.keys))
    }

    /// Returns the schemas that shards own; `None` if the keys of the map are not schemas.
    #[must_use]
    pub fn mapped_schemas(&self) -> Option<KeySet> {
        (self.settings.keyed_by == KeyedBy::Schema).then(|| self.mapped())
    }

    /// Returns the keys that no shard owns. For a range map these are only keys between the first and the last range; a
    /// list map has no gaps.
    #[must_use]
    pub fn gaps(&self) -> KeySet {
        let mapped = self.mapped().normal();
        let enclosing = match &mapped {
            KeySet::Range(ranges) => match (ranges.first(), ranges.last()) {
                (Some(first), Some(last)) => KeySet::range(first.from.clone(), last.to.clone()),
                (_, _) => return mapped,
            },
            KeySet::Hash(Buckets { of, .. }) => KeySet::buckets(*of, 0, *of),
            KeySet::List(_) => return mapped.empty_set(),
        };
        enclosing.minus(&mapped)
    }
}
