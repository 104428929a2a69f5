//! Which versions of a map changed which keys, as far back as is read for a page.

use crate::controller::{ControlError, Controller};
use crate::store::MapVersionRecord;
use plans::id::MapVersion;
use plans::key_set::KeySet;
use plans::shard_map::{Difference, ShardMap, Strategy, difference};
use std::sync::Arc;

/// The maximum number of versions that are compared, and of their pieces and shards. A comparison takes a time in
/// proportion to the square of the number of shards.
const MAX_COMPARED: usize = 8;
const MAX_PIECES: usize = 2_000;
const MAX_SHARDS: usize = 32;

/// The changes of the newest versions before the shown one, newest first.
#[derive(Debug, Default)]
pub(super) struct MapChanges {
    versions: Vec<(MapVersion, Vec<Difference>)>,
    /// Whether the changes reach back to version 1.
    is_complete: bool,
}

impl MapChanges {
    /// Reads the changes up to the version of `map`. For a map with many pieces it reads nothing.
    pub(super) async fn read(
        controller: &Controller,
        map: &ShardMap,
        history: &[MapVersionRecord],
    ) -> Result<Self, ControlError> {
        let mut changes = Self::default();
        if !is_small(map) {
            return Ok(changes);
        }
        let earlier = history.iter().rev().map(|record| record.version);
        let earlier = earlier.filter(|version| *version < map.version);
        // Before a conversion the keys had another form.
        let first = MapVersion(1);
        let converted = controller
            .converted_between(&map.name, first, map.version)
            .await?;
        let mut after = Arc::new(map.clone());
        let mut number_left = MAX_COMPARED;
        for version in earlier {
            if converted.is_some_and(|converted| after.version <= converted) {
                return Ok(changes);
            }
            let before = controller.store().map_at(&map.name, version).await?;
            let Some(before) = before
                .filter(|before| is_small(before))
                .filter(|_| number_left > 0)
            else {
                return Ok(changes);
            };
            changes
                .versions
                .push((after.version, difference(&before, &after)));
            after = before;
            number_left -= 1;
        }
        changes.is_complete = true;
        Ok(changes)
    }

    /// Returns what the shown version changed; `None` if it was not compared.
    pub(super) fn of_shown(&self, shown: MapVersion) -> Option<&[Difference]> {
        let newest = self.versions.first()?;
        (newest.0 == shown).then_some(newest.1.as_slice())
    }

    /// Describes since which version `keys` have their owner; `None` if that is not known.
    pub(super) fn since(&self, keys: &KeySet) -> Option<String> {
        for (version, differences) in &self.versions {
            let mut changed = differences
                .iter()
                .filter(|change| change.keys.overlaps(keys));
            if let Some(change) = changed.next() {
                return Some(match change.keys.covers(keys) {
                    true => format!("since version {version}"),
                    false => format!("{} since version {version}", change.keys),
                });
            }
        }
        self.is_complete.then(|| "since version 1".to_owned())
    }
}

fn is_small(map: &ShardMap) -> bool {
    map.strategy != Strategy::List
        && map.mappings.len() <= MAX_PIECES
        && map.shards().len() <= MAX_SHARDS
}
