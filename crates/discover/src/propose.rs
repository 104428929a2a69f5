//! From connection strings to a proposed map.

use crate::assign::{self, Assigned, mapping};
use crate::digest;
use crate::error::{DiscoverError, NoMap};
use crate::extent::{KeyExtent, ShardKeys, ShardTables};
use crate::facts::{Facts, listed, short};
use crate::key::{KeyCandidate, SHOWN, candidates, named};
use crate::snapshot::ShardSnapshot;
use crate::sort::{Keyed, sort};
use connect::Dsn;
use futures::future::try_join_all;
use plans::id::{MapName, MapVersion, ShardName};
use plans::key::KeyType;
use plans::key_set::KeySet;
use plans::shard_map::{DEFAULT_BUCKETS, MapSettings, Mapping, ShardMap, Strategy};

/// The requirements for the proposal.
#[derive(Debug, Clone)]
pub struct ProposalRequest {
    /// The name of the map.
    pub map: MapName,
    /// The key, as a column or as table and column; `None`: the key that ties most tables.
    pub key: Option<String>,
    /// How the map divides the keys; `None`: any strategy that fits.
    pub strategy: Option<Strategy>,
}

/// A map that describes where the keys are now.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Version 1 of the map. No control store contains it yet.
    pub map: ShardMap,
    /// The reasons for the proposal, one line each. A line that begins with `warning:` reports what prevents moves.
    pub reasons: Vec<String>,
    /// All possible keys, the best first.
    pub candidates: Vec<KeyCandidate>,
}

/// Reads `shards` and proposes a map for them. If several keys are possible and the request names none, `choose`
/// returns the index of the key.
///
/// Nothing is changed. Each shard is read in one read-only transaction, in which no statement takes longer than 60 s.
///
/// # Errors
/// [`DiscoverError`]: a shard cannot be read, no key is possible, or no map can describe where the keys are.
pub async fn propose(
    shards: &[(ShardName, Dsn)],
    wish: &ProposalRequest,
    choose: impl FnOnce(&[KeyCandidate]) -> usize,
) -> Result<Proposal, DiscoverError> {
    let snapshots = try_join_all(
        shards
            .iter()
            .map(|(name, dsn)| ShardSnapshot::open(name, dsn)),
    )
    .await?;
    let facts = try_join_all(snapshots.iter().map(ShardSnapshot::facts)).await?;
    let all: Vec<(&ShardSnapshot, &Facts)> = snapshots.iter().zip(&facts).collect();
    let (full, empty): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, facts)| !facts.is_empty());
    if full.is_empty() {
        return Err(DiscoverError::NoTables);
    }
    let merged = Facts::merged(full.iter().map(|(_, facts)| *facts));
    let candidates = candidates(&merged);
    let (key, mut reasons) = chosen(&merged, &candidates, wish, choose)?;
    let keyed = Keyed::of(&merged, &key);
    let places = full.iter();
    let sharded = keyed.sharded.clone();
    let places =
        places.map(|(snapshot, facts)| ShardTables::new(snapshot, facts, &sharded, key.kind));
    let ownership = Ownership {
        places: places.collect(),
        wish,
        key: key.kind,
    };
    let rows = digest::compare(&full, &keyed.rest).await?;
    let (settings, notes) = sort(keyed, &merged, &rows);
    reasons.extend(notes);
    reasons.extend(drift(&full, &merged));
    let (strategy, mappings, why) = ownership.mappings().await?;
    reasons.extend(why);
    if !empty.is_empty() {
        let names = listed(empty.iter().map(|(snapshot, _)| &snapshot.shard));
        reasons.push(format!(
            "no tables on {names}: no keys as yet, a plan may give it some"
        ));
    }
    let map = ownership.map(strategy, mappings, settings).validated()?;
    Ok(Proposal {
        map,
        reasons,
        candidates,
    })
}

/// Returns the key and the reason for it.
fn chosen(
    facts: &Facts,
    candidates: &[KeyCandidate],
    wish: &ProposalRequest,
    choose: impl FnOnce(&[KeyCandidate]) -> usize,
) -> Result<(KeyCandidate, Vec<String>), DiscoverError> {
    if let Some(wished) = &wish.key {
        let key = named(facts, wished)?;
        let reason = format!("key {}, as --key says", key.reason());
        return Ok((key, vec![reason]));
    }
    let best = &candidates[..candidates.len().min(SHOWN)];
    let at = match best.len() {
        0 | 1 => 0,
        _ => choose(best),
    };
    let key = best.get(at).ok_or(DiscoverError::NoKey)?;
    let mut reasons = vec![format!("key {}", key.reason())];
    let remaining = best.iter().enumerate().filter(|(place, _)| *place != at);
    reasons.extend(
        remaining.map(|(_, other)| format!("it could be {}; --key {}", other.reason(), other.name)),
    );
    Ok((key.clone(), reasons))
}

/// The inputs from which the owners of keys are determined.
struct Ownership<'a> {
    places: Vec<ShardTables<'a>>,
    wish: &'a ProposalRequest,
    key: KeyType,
}

impl Ownership<'_> {
    /// Returns the strategy and the mappings, with reasons.
    async fn mappings(&self) -> Result<(Strategy, Vec<Mapping>, Vec<String>), DiscoverError> {
        let extents = try_join_all(self.places.iter().map(ShardTables::extent)).await?;
        let extents: Vec<KeyExtent> = extents.into_iter().flatten().collect();
        let owner = match extents.as_slice() {
            [] => self.places.first().map(ShardTables::shard),
            [only] => Some(&only.shard),
            _ => None,
        };
        let mut why = Vec::new();
        let without = self.places.iter().map(ShardTables::shard);
        let without = without.filter(|shard| !extents.iter().any(|e| &e.shard == *shard));
        let without: Vec<&ShardName> = without.filter(|shard| Some(*shard) != owner).collect();
        if !without.is_empty() {
            let names = listed(without);
            why.push(format!(
                "no rows with a key on {names}: it owns no keys as yet"
            ));
        }
        if let (Some(owner), false) = (owner, self.wish.strategy == Some(Strategy::List)) {
            let (strategy, keys, notes) = self.whole(owner);
            why.push(notes);
            return Ok((strategy, vec![mapping(keys, owner)], why));
        }
        let (strategy, mappings, notes) = self.divided(extents).await?;
        why.push(notes);
        Ok((strategy, mappings, why))
    }

    /// Returns a map in which `owner` owns all keys.
    fn whole(&self, owner: &ShardName) -> (Strategy, KeySet, String) {
        let by_chance = matches!(self.key, KeyType::Uuid | KeyType::Bytea);
        let strategy = self.wish.strategy;
        match strategy.unwrap_or(if by_chance {
            Strategy::Hash
        } else {
            Strategy::Range
        }) {
            Strategy::Hash => (
                Strategy::Hash,
                KeySet::buckets(DEFAULT_BUCKETS, 0, DEFAULT_BUCKETS),
                format!("a hash map of {DEFAULT_BUCKETS} virtual shards: all keys are on {owner}"),
            ),
            Strategy::Range | Strategy::List => (
                Strategy::Range,
                KeySet::range(None, None),
                format!("a range map: all keys are on {owner}"),
            ),
        }
    }

    /// Returns the first kind of map that agrees with every key.
    async fn divided(
        &self,
        extents: Vec<KeyExtent>,
    ) -> Result<(Strategy, Vec<Mapping>, String), DiscoverError> {
        let wished = |strategy| self.wish.strategy.is_none_or(|wished| wished == strategy);
        let mut reasons = Vec::new();
        if wished(Strategy::Range) {
            match assign::by_range(extents) {
                Ok((mappings, why)) => return Ok((Strategy::Range, mappings, why)),
                Err(reason) => reasons.push(reason),
            }
        }
        let keys: Vec<ShardKeys> = if wished(Strategy::Hash) || wished(Strategy::List) {
            try_join_all(self.places.iter().map(ShardTables::keys)).await?
        } else {
            Vec::new()
        };
        let keys: Vec<ShardKeys> = keys
            .into_iter()
            .filter(|keys| !keys.keys.is_empty())
            .collect();
        if wished(Strategy::Hash) {
            match self.proven(assign::by_hash(&keys)).await? {
                Ok((mappings, why)) => return Ok((Strategy::Hash, mappings, why)),
                Err(reason) => reasons.push(reason),
            }
        }
        if wished(Strategy::List) {
            match assign::by_list(&keys) {
                Ok((mappings, why)) => return Ok((Strategy::List, mappings, why)),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(NoMap { reasons }.into())
    }

    /// Checks hash mappings, which may be based on a part of the keys, against every row.
    async fn proven(&self, assigned: Assigned) -> Result<Assigned, DiscoverError> {
        let (mappings, why) = match assigned {
            Ok(assigned) => assigned,
            Err(reason) => return Ok(Err(reason)),
        };
        for place in &self.places {
            let own = mappings
                .iter()
                .find(|mapping| &mapping.shard == place.shard());
            let Some(own) = own else { continue };
            let predicate = |column: &str, kind| own.keys.predicate(&[(column.to_owned(), kind)]);
            if let Some(table) = place.stray(predicate).await? {
                let (shard, table) = (place.shard(), short(table));
                return Ok(Err(format!(
                    "hashes: shard {shard} has others in table {table}"
                )));
            }
        }
        Ok(Ok((mappings, why)))
    }

    fn map(&self, strategy: Strategy, mappings: Vec<Mapping>, settings: MapSettings) -> ShardMap {
        ShardMap {
            name: self.wish.map.clone(),
            strategy,
            key: vec![self.key],
            buckets: match strategy {
                Strategy::Hash => DEFAULT_BUCKETS,
                Strategy::Range | Strategy::List => 0,
            },
            version: MapVersion(1),
            incarnation: String::new(),
            migration: None,
            settings,
            mappings,
        }
    }
}

/// Describes tables that some of the shards lack.
fn drift(shards: &[(&ShardSnapshot, &Facts)], merged: &Facts) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, _) in merged.tables.iter().filter(|(_, table)| table.is_plain()) {
        let lacking = shards
            .iter()
            .filter(|(_, facts)| !facts.tables.contains_key(name));
        let lacking: Vec<&ShardName> = lacking.map(|(snapshot, _)| &snapshot.shard).collect();
        if !lacking.is_empty() {
            let lacking = listed(lacking);
            notes.push(format!("warning: table {}: not on {lacking}", short(name)));
        }
    }
    notes
}
