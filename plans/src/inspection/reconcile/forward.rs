//! Moves a map that lost flips to where the shards are: the same numbers where nothing else has them.

use super::proofs::FlipProof;
use crate::id::ShardName;
use crate::key_set::KeySet;
use crate::shard_map::{MapError, Mapping, MappingState, ShardMap};

/// A version to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingVersion {
    /// The map with the version.
    pub map: ShardMap,
    /// The flip that it stands for; none: a number that the fleet was told and nobody knows more of.
    pub proof: Option<FlipProof>,
}

/// The versions that bring `map` to where `lost` flips had it, and on to the number `at_least`.
///
/// `lost` is in the order of versions. A version number that is not known otherwise repeats the version
/// before it, so that no number is ever issued twice.
///
/// # Errors
/// [`MapError`] where the keys of a lost flip are not this map's.
pub fn forward(
    map: &ShardMap,
    lost: &[FlipProof],
    at_least: i64,
) -> Result<Vec<MissingVersion>, MapError> {
    let mut versions: Vec<MissingVersion> = Vec::new();
    let mut now = map.clone();
    for proof in lost {
        fill(&mut versions, &mut now, proof.version - 1);
        now = with_owner(&now, &proof.keys, &proof.owner)?;
        now.migration = Some(proof.migration.clone());
        versions.push(MissingVersion {
            map: now.clone(),
            proof: Some(proof.clone()),
        });
    }
    fill(&mut versions, &mut now, at_least);
    Ok(versions)
}

/// Repeats the map under the numbers up to `number`.
fn fill(versions: &mut Vec<MissingVersion>, now: &mut ShardMap, number: i64) {
    while now.version.0 < number {
        now.version = now.version.next();
        now.migration = None;
        versions.push(MissingVersion {
            map: now.clone(),
            proof: None,
        });
    }
}

/// The next version, in which `owner` has `keys`, whoever had them.
///
/// # Errors
/// [`MapError`] where the keys are not this map's.
pub fn with_owner(map: &ShardMap, keys: &KeySet, owner: &ShardName) -> Result<ShardMap, MapError> {
    let mut next = map.clone();
    next.version = map.version.next();
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
