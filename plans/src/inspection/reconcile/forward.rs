//! Adds lost flips to a map. A lost version gets its old number, unless another version of the store has that number.

use super::proofs::FlipProof;
use crate::id::ShardName;
use crate::key_set::KeySet;
use crate::shard_map::{MapError, Mapping, MappingState, ShardMap};

/// A map version to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingVersion {
    /// The map with the version.
    pub map: ShardMap,
    /// The flip of this version; `None`: only the number of the version is known, which a shard has recorded.
    pub proof: Option<FlipProof>,
}

/// Returns the versions that add the flips in `lost` to `map`, and further versions up to the number `at_least`.
///
/// `lost` is ordered by version. A version number about which nothing else is known repeats the version before it, so
/// that no number is ever used twice.
///
/// # Errors
/// [`MapError`] if the keys of a lost flip cannot belong to this map.
pub fn forward(
    map: &ShardMap,
    lost: &[FlipProof],
    at_least: i64,
) -> Result<Vec<MissingVersion>, MapError> {
    let mut versions: Vec<MissingVersion> = Vec::new();
    let mut newest = map.clone();
    for proof in lost {
        add_repeated_versions(&mut versions, &mut newest, proof.version - 1);
        newest = with_owner(&newest, &proof.keys, &proof.owner)?;
        newest.migration = Some(proof.migration.clone());
        versions.push(MissingVersion {
            map: newest.clone(),
            proof: Some(proof.clone()),
        });
    }
    add_repeated_versions(&mut versions, &mut newest, at_least);
    Ok(versions)
}

/// Repeats the map under the numbers up to `number`.
fn add_repeated_versions(versions: &mut Vec<MissingVersion>, newest: &mut ShardMap, number: i64) {
    while newest.version.0 < number {
        newest.version = newest.version.next();
        newest.migration = None;
        versions.push(MissingVersion {
            map: newest.clone(),
            proof: None,
        });
    }
}

/// Returns the next version, in which `owner` owns `keys`, regardless of their owner before. If the keys are virtual shards
/// of a larger number than that of the map, the map gets this number: a later version had it.
///
/// # Errors
/// [`MapError`] if the keys cannot belong to this map.
pub fn with_owner(map: &ShardMap, keys: &KeySet, owner: &ShardName) -> Result<ShardMap, MapError> {
    let buckets = match keys {
        KeySet::Hash(keys) => keys.of.max(map.buckets),
        KeySet::Range(_) | KeySet::List(_) => map.buckets,
    };
    let version = map.version.next();
    let map = &match buckets == map.buckets {
        true => map.clone(),
        false => map.with_bucket_count(buckets)?,
    };
    let keys = &keys
        .with_bucket_count(buckets)
        .unwrap_or_else(|| keys.clone());
    let mut next = map.clone();
    next.version = version;
    let rest = map.mappings.iter().map(|mapping| Mapping {
        keys: mapping.keys.minus(keys),
        ..mapping.clone()
    });
    next.mappings = rest.filter(|mapping| !mapping.keys.is_empty()).collect();
    next.mappings.push(Mapping {
        keys: keys.clone(),
        shard: owner.clone(),
        state: MappingState::Active,
    });
    Ok(next.validated()?.joined())
}
