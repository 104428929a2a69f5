//! From connection strings to a proposed map.

use crate::assign::{self, Assigned, active_mapping};
use crate::digest;
use crate::error::{DiscoverError, NoMap};
use crate::extent::{KeyExtent, ShardKeys, ShardTables};
use crate::facts::{Facts, comma_separated, map_name};
use crate::key::{KeyCandidate, MAX_SHOWN, candidates, named_key};
use crate::snapshot::ShardSnapshot;
use crate::sort::{Keyed, map_settings};
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
    request: &ProposalRequest,
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
    let (key, mut reasons) = choose_key(&merged, &candidates, request, choose)?;
    let keyed = Keyed::of(&merged, &key);
    let shard_tables = full.iter();
    let sharded = keyed.sharded.clone();
    let shard_tables =
        shard_tables.map(|(snapshot, facts)| ShardTables::new(snapshot, facts, &sharded, key.kind));
    let ownership = Ownership {
        shard_tables: shard_tables.collect(),
        request,
        key: key.kind,
    };
    let rows = digest::compare(&full, &keyed.rest).await?;
    let (settings, notes) = map_settings(keyed, &merged, &rows);
    reasons.extend(notes);
    reasons.extend(missing_table_warnings(&full, &merged));
    let (strategy, mappings, why) = ownership.mappings().await?;
    reasons.extend(why);
    if !empty.is_empty() {
        let names = comma_separated(empty.iter().map(|(snapshot, _)| &snapshot.shard));
        reasons.push(format!(
            "no tables on {names}: no keys yet; a plan can move keys to it"
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
fn choose_key(
    facts: &Facts,
    candidates: &[KeyCandidate],
    request: &ProposalRequest,
    choose: impl FnOnce(&[KeyCandidate]) -> usize,
) -> Result<(KeyCandidate, Vec<String>), DiscoverError> {
    if let Some(requested) = &request.key {
        let key = named_key(facts, requested)?;
        let reason = format!("key {}, as requested with --key", key.reason());
        return Ok((key, vec![reason]));
    }
    let best = &candidates[..candidates.len().min(MAX_SHOWN)];
    let chosen = match best.len() {
        0 | 1 => 0,
        _ => choose(best),
    };
    let key = best.get(chosen).ok_or(DiscoverError::NoKey)?;
    let mut reasons = vec![format!("key {}", key.reason())];
    let remaining = best
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != chosen);
    reasons.extend(
        remaining.map(|(_, other)| format!("it could be {}; --key {}", other.reason(), other.name)),
    );
    Ok((key.clone(), reasons))
}

/// The inputs from which the owners of keys are determined.
struct Ownership<'a> {
    shard_tables: Vec<ShardTables<'a>>,
    request: &'a ProposalRequest,
    key: KeyType,
}

impl Ownership<'_> {
    /// Returns the strategy and the mappings, with reasons.
    async fn mappings(&self) -> Result<(Strategy, Vec<Mapping>, Vec<String>), DiscoverError> {
        let extents = try_join_all(self.shard_tables.iter().map(ShardTables::extent)).await?;
        let extents: Vec<KeyExtent> = extents.into_iter().flatten().collect();
        let owner = match extents.as_slice() {
            [] => self.shard_tables.first().map(ShardTables::shard),
            [only] => Some(&only.shard),
            _ => None,
        };
        let mut why = Vec::new();
        let shards_without_keys = self.shard_tables.iter().map(ShardTables::shard);
        let shards_without_keys =
            shards_without_keys.filter(|shard| !extents.iter().any(|e| &e.shard == *shard));
        let shards_without_keys: Vec<&ShardName> = shards_without_keys
            .filter(|shard| Some(*shard) != owner)
            .collect();
        if !shards_without_keys.is_empty() {
            let names = comma_separated(shards_without_keys);
            why.push(format!(
                "no rows with a key on {names}: it owns no keys yet"
            ));
        }
        if let (Some(owner), false) = (owner, self.request.strategy == Some(Strategy::List)) {
            let (strategy, keys, notes) = self.single_owner(owner);
            why.push(notes);
            return Ok((strategy, vec![active_mapping(keys, owner)], why));
        }
        let (strategy, mappings, notes) = self.divide_keys(extents).await?;
        why.push(notes);
        Ok((strategy, mappings, why))
    }

    /// Returns a map in which `owner` owns all keys.
    fn single_owner(&self, owner: &ShardName) -> (Strategy, KeySet, String) {
        let is_random_type = matches!(self.key, KeyType::Uuid | KeyType::Bytea);
        let strategy = self.request.strategy;
        match strategy.unwrap_or(if is_random_type {
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
    async fn divide_keys(
        &self,
        extents: Vec<KeyExtent>,
    ) -> Result<(Strategy, Vec<Mapping>, String), DiscoverError> {
        let is_permitted = |strategy| {
            self.request
                .strategy
                .is_none_or(|requested| requested == strategy)
        };
        let mut reasons = Vec::new();
        if is_permitted(Strategy::Range) {
            match assign::by_range(extents) {
                Ok((mappings, why)) => return Ok((Strategy::Range, mappings, why)),
                Err(reason) => reasons.push(reason),
            }
        }
        let keys: Vec<ShardKeys> = if is_permitted(Strategy::Hash) || is_permitted(Strategy::List) {
            try_join_all(self.shard_tables.iter().map(ShardTables::keys)).await?
        } else {
            Vec::new()
        };
        let keys: Vec<ShardKeys> = keys
            .into_iter()
            .filter(|keys| !keys.keys.is_empty())
            .collect();
        if is_permitted(Strategy::Hash) {
            match self.check_every_row(assign::by_hash(&keys)).await? {
                Ok((mappings, why)) => return Ok((Strategy::Hash, mappings, why)),
                Err(reason) => reasons.push(reason),
            }
        }
        if is_permitted(Strategy::List) {
            match assign::by_list(&keys) {
                Ok((mappings, why)) => return Ok((Strategy::List, mappings, why)),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(NoMap { reasons }.into())
    }

    /// Checks hash mappings, which may be based on a part of the keys, against every row.
    async fn check_every_row(&self, assigned: Assigned) -> Result<Assigned, DiscoverError> {
        let (mappings, why) = match assigned {
            Ok(assigned) => assigned,
            Err(reason) => return Ok(Err(reason)),
        };
        for tables in &self.shard_tables {
            let own = mappings
                .iter()
                .find(|mapping| &mapping.shard == tables.shard());
            let Some(own) = own else { continue };
            let predicate = |column: &str, kind| own.keys.predicate(&[(column.to_owned(), kind)]);
            if let Some(table) = tables.find_table_with_other_keys(predicate).await? {
                let (shard, table) = (tables.shard(), map_name(table));
                return Ok(Err(format!(
                    "hashes: table {table} on shard {shard} has keys outside of its hash interval"
                )));
            }
        }
        Ok(Ok((mappings, why)))
    }

    fn map(&self, strategy: Strategy, mappings: Vec<Mapping>, settings: MapSettings) -> ShardMap {
        ShardMap {
            name: self.request.map.clone(),
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
fn missing_table_warnings(shards: &[(&ShardSnapshot, &Facts)], merged: &Facts) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, _) in merged.tables.iter().filter(|(_, table)| table.is_plain()) {
        let lacking = shards
            .iter()
            .filter(|(_, facts)| !facts.tables.contains_key(name));
        let lacking: Vec<&ShardName> = lacking.map(|(snapshot, _)| &snapshot.shard).collect();
        if !lacking.is_empty() {
            let lacking = comma_separated(lacking);
            notes.push(format!(
                "warning: table {}: not on {lacking}",
                map_name(name)
            ));
        }
    }
    notes
}
