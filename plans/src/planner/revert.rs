//! A return to an earlier version of a map: a request that moves the keys whose owner has changed.

use crate::id::{MapVersion, ShardName};
use crate::key_set::KeySet;
use crate::request::{MoveEntry, MoveOperation, Options, Request, Tables};
use crate::shard_map::Selection;
use crate::shard_map::{Difference, ShardMap, difference};

/// Why no request can return to the earlier version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RevertError {
    /// The versions belong to maps that divide their keys differently.
    #[error("version {earlier} of the map divides its keys in another way than version {current}")]
    OtherKind {
        /// The version in force.
        current: MapVersion,
        /// The earlier version.
        earlier: MapVersion,
    },
    /// Every key has the same owner as in the earlier version.
    #[error("every key has the owner that it had in version {earlier}")]
    NoDifference {
        /// The earlier version.
        earlier: MapVersion,
    },
    /// Keys that had no owner then, or have none now. A move can neither remove an owner nor assign a first one.
    #[error("no move can return these keys: {}", unmapped_text(unmapped))]
    Unmapped {
        /// The keys, and the version in which they have no owner.
        unmapped: Vec<(KeySet, MapVersion)>,
    },
}

fn unmapped_text(unmapped: &[(KeySet, MapVersion)]) -> String {
    let texts: Vec<String> = unmapped
        .iter()
        .map(|(keys, version)| format!("{keys} are unmapped in version {version}"))
        .collect();
    texts.join("; ")
}

/// Returns the request that moves every key to the owner that the key had in `earlier`.
///
/// # Errors
/// [`RevertError`]. It names all keys that have no owner in one of the versions.
pub fn revert(current: &ShardMap, earlier: &ShardMap) -> Result<Request, RevertError> {
    let other_kind = RevertError::OtherKind {
        current: current.version,
        earlier: earlier.version,
    };
    let division = |map: &ShardMap| (map.name.clone(), map.strategy, map.key.clone());
    if division(current) != division(earlier) {
        return Err(other_kind);
    }
    // The request names virtual shards of the present number.
    let earlier = &match current.buckets == earlier.buckets {
        true => earlier.clone(),
        false => ShardMap {
            version: earlier.version,
            ..earlier
                .with_bucket_count(current.buckets)
                .map_err(|_| other_kind)?
        },
    };
    let mut moves = Vec::new();
    let mut unmapped = Vec::new();
    for Difference { keys, from, to } in difference(current, earlier) {
        match (from, to) {
            (Some(source), Some(target)) => moves.push(move_entry(source, target, &keys)),
            (Some(_), None) => unmapped.push((keys, earlier.version)),
            (None, _) => unmapped.push((keys, current.version)),
        }
    }
    if !unmapped.is_empty() {
        return Err(RevertError::Unmapped { unmapped });
    }
    if moves.is_empty() {
        return Err(RevertError::NoDifference {
            earlier: earlier.version,
        });
    }
    Ok(Request::Move(MoveOperation {
        map: current.name.clone(),
        moves,
        tables: Tables::new(),
        ignore: Vec::new(),
        options: Options::default(),
    }))
}

/// Returns an entry of the operation `move`.
fn move_entry(source: ShardName, target: ShardName, keys: &KeySet) -> MoveEntry {
    MoveEntry {
        source,
        target,
        keys: Some(Selection::of(keys)),
        mode: None,
    }
}
