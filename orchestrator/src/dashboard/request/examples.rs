//! Example requests of each kind, with shards, keys and tables of the selected map.

use super::yaml;
use plans::id::ShardName;
use plans::key::{Key, KeyType};
use plans::key_set::{KeyRange, KeySet};
use plans::shard_map::{Mapping, Selection, ShardMap};
use std::collections::HashSet;

/// The maximum number of a list's keys in a request.
const MAX_LISTED_KEYS: usize = 16;
/// The tables in an example if the map's settings name none.
const TABLES: &str = "# Every sharded table and the column that holds the shard key.\n\
     tables:\n  tenants: id\n  orders: tenant_id\n\
     # Tables that Shardwright ignores.\nignore: []\n";

/// The kinds of example requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Example {
    /// A split at split points that the operator writes.
    Split,
    /// A split at split points that the planner computes from samples.
    Even,
    /// A merge of two shards.
    Merge,
    /// A move of keys to another shard.
    Move,
    /// An offline move: the keys are read-only while it runs.
    Offline,
    /// A single tenant gets its own shard.
    Isolate,
    /// All keys of a shard move to other shards.
    Drain,
    /// Keys move between all shards so that their load becomes equal.
    Rebalance,
}

impl Example {
    /// All kinds, in the order of the list.
    pub(super) const ALL: [Self; 8] = [
        Self::Split,
        Self::Even,
        Self::Merge,
        Self::Move,
        Self::Offline,
        Self::Isolate,
        Self::Drain,
        Self::Rebalance,
    ];

    /// Returns the name in the URL.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Even => "split-even",
            Self::Merge => "merge",
            Self::Move => "move",
            Self::Offline => "move-offline",
            Self::Isolate => "isolate",
            Self::Drain => "drain",
            Self::Rebalance => "rebalance",
        }
    }

    /// Returns the label in the list.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Split => "Split a shard at keys that you name",
            Self::Even => "Split a shard evenly",
            Self::Merge => "Merge shards",
            Self::Move => "Move keys to another shard",
            Self::Offline => "Move keys offline",
            Self::Isolate => "Move a single tenant to its own shard",
            Self::Drain => "Move all keys away from a shard",
            Self::Rebalance => "Balance the load of all shards",
        }
    }

    /// Returns the kind with this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|example| example.name() == name)
    }

    /// Returns the request text for `map`. It names shards of `fleet` if there are some.
    pub(super) fn text(self, map: Option<&ShardMap>, fleet: &[ShardName]) -> String {
        let input = ExampleInput { map, fleet };
        let name = map.map_or("tenants", |map| map.name.as_str());
        let (operation, body) = match self {
            Self::Split => ("split", input.split()),
            Self::Even => ("split", input.split_evenly()),
            Self::Merge => ("merge", input.merge()),
            Self::Move | Self::Offline => ("move", input.moves()),
            Self::Isolate => ("isolate", input.isolate()),
            Self::Drain => ("drain", input.drain()),
            Self::Rebalance => ("rebalance", input.rebalance()),
        };
        let tables = match map {
            Some(map) if !map.settings.tables.is_empty() || !map.settings.keyed_by.is_column() => {
                "# The tables are those of the map.\n"
            }
            Some(_) | None => TABLES,
        };
        let mode = if self == Self::Offline {
            "# The moving keys are read-only until the flip; nothing is captured.\noptions: { mode: offline }\n"
        } else {
            "# These are the defaults.\noptions: { mode: online, cutover: approve, hold: until_finish }\n"
        };
        format!("operation: {operation}\nmap: {name}\n{body}{tables}{mode}")
    }
}

/// The values from which an example is written.
struct ExampleInput<'a> {
    map: Option<&'a ShardMap>,
    fleet: &'a [ShardName],
}

impl ExampleInput<'_> {
    /// Returns the first mapping that is no exception of a hash map.
    fn first(&self) -> Option<&Mapping> {
        let mut mappings = self.map?.mappings.iter();
        mappings.find(|mapping| mapping.keys.exception().is_none())
    }

    /// Returns a shard that owns keys.
    fn source(&self) -> &str {
        self.first()
            .map_or("shard-a", |mapping| mapping.shard.as_str())
    }

    /// Returns the first shard of the fleet that owns no keys of the map, other than `shard`.
    fn shard_without_keys(&self, shard: &str) -> Option<&ShardName> {
        let others = self.fleet.iter().filter(|name| name.as_str() != shard);
        let mut without_keys: HashSet<&ShardName> = others.collect();
        for mapping in self.map.into_iter().flat_map(|map| &map.mappings) {
            // In a map with a million mappings, the first ones can have all owners.
            if without_keys.is_empty() {
                return None;
            }
            without_keys.remove(&mapping.shard);
        }
        let mut fleet = self.fleet.iter();
        fleet.find(|name| without_keys.contains(name))
    }

    /// Returns another shard than `shard`, preferably one that owns no keys.
    fn other_shard(&self, shard: &str) -> &str {
        let other = || self.fleet.iter().find(|name| name.as_str() != shard);
        let fallback = if shard == "shard-b" {
            "shard-a"
        } else {
            "shard-b"
        };
        let found = self.shard_without_keys(shard).or_else(other);
        found.map_or(fallback, ShardName::as_str)
    }

    /// Returns another shard than `shard` that owns keys.
    fn other_owner(&self, shard: &str) -> Option<&str> {
        let mut mappings = self.map.into_iter().flat_map(|map| &map.mappings);
        let other = mappings.find(|mapping| mapping.shard.as_str() != shard);
        other.map(|mapping| mapping.shard.as_str())
    }

    fn split(&self) -> String {
        let source = self.source();
        let keys = self
            .first()
            .map_or_else(|| KeySet::range(None, None), |m| m.keys.clone());
        let Some((staying, moving)) = halves(&keys, &self.types()) else {
            return self.split_evenly();
        };
        format!(
            "source: {source}\ninto:\n  - shard: {source}\n    keys: {}\n  - shard: {}\n    keys: {}\n",
            selection(&staying),
            self.other_shard(source),
            selection(&moving)
        )
    }

    fn split_evenly(&self) -> String {
        let source = self.source();
        format!(
            "source: {source}\n# In which measure the parts become equal: rows, bytes, writes, or {{ query: \"...\" }}.\neven: rows\n\
             into:\n  - shard: {source}\n  - shard: {}\n",
            self.other_shard(source)
        )
    }

    fn merge(&self) -> String {
        let into = self.source();
        match self.other_owner(into) {
            Some(source) => format!(
                "# `into` is one of the sources, another shard of the map, or a new shard.\nsources: [{source}]\ninto: {into}\n"
            ),
            None => format!("sources: [{into}]\ninto: {}\n", self.other_shard(into)),
        }
    }

    fn moves(&self) -> String {
        let source = self.source();
        let target = self.other_shard(source);
        let keys = self
            .first()
            .filter(|m| fits_in_one_line(&m.keys))
            .map_or_else(
                || "    # Without `keys`, all keys of the source move.\n".to_owned(),
                |m| {
                    format!(
                        "    # Without `keys`, all keys of the source move.\n    keys: {}\n",
                        selection(&m.keys)
                    )
                },
            );
        format!("moves:\n  - source: {source}\n    target: {target}\n{keys}")
    }

    fn isolate(&self) -> String {
        let key = self.key();
        let owner = self.map.and_then(|map| map.locate(&key));
        let owner = owner.map_or_else(|| self.source(), |mapping| mapping.shard.as_str());
        format!(
            "key: {}\ntarget: {}\n",
            yaml::key(&key),
            self.other_shard(owner)
        )
    }

    fn drain(&self) -> String {
        let source = self.source();
        let target = self
            .other_owner(source)
            .unwrap_or_else(|| self.other_shard(source));
        format!(
            "source: {source}\n# The shards that may receive its keys; by default every other shard of the map.\ntargets: [{target}]\n\
             by: rows\n# Whether the tables on the shard are dropped at the end.\ndrop_tables: false\n"
        )
    }

    fn rebalance(&self) -> String {
        // Without a map, no shard is known to own nothing.
        let shard_without_keys = self.map.and_then(|_| self.shard_without_keys(""));
        let onto = shard_without_keys.map_or_else(String::new, |shard| {
            format!("# Shards that receive keys although they own none yet.\nonto: [{shard}]\n")
        });
        format!(
            "# The measure of load: rows, bytes, writes, or {{ query: \"...\" }}.\nby: rows\n{onto}\
             # By how many percent a shard may exceed its fair share.\nthreshold_percent: 10\n"
        )
    }

    fn types(&self) -> Vec<KeyType> {
        self.map
            .map_or_else(|| vec![KeyType::Bigint], |map| map.key.clone())
    }

    /// Returns a key of the map: a bound of a range or a key of a list if there is one, otherwise an invented key.
    fn key(&self) -> Key {
        let existing_key = self.first().and_then(|mapping| match &mapping.keys {
            KeySet::Range(ranges) => ranges.first().and_then(|range| range.from.clone()),
            KeySet::List(keys) => keys.first().cloned(),
            KeySet::Hash(_) => None,
        });
        existing_key.unwrap_or_else(|| sample(&self.types()))
    }
}

/// Divides `keys` into two parts of about the same size, if a request can name them.
fn halves(keys: &KeySet, types: &[KeyType]) -> Option<(KeySet, KeySet)> {
    match keys {
        KeySet::Range(ranges) => {
            let [range] = ranges.as_slice() else {
                return None;
            };
            let at = split_point(range, types)
                .filter(|at| range.contains(at) && range.from.as_ref() != Some(at))?;
            Some((
                KeySet::range(range.from.clone(), Some(at.clone())),
                KeySet::range(Some(at), range.to.clone()),
            ))
        }
        KeySet::Hash(buckets) => {
            let range = buckets
                .ranges
                .first()
                .filter(|range| range.to - range.from > 1)?;
            let at = range.from.midpoint(range.to);
            let part = |from, to| KeySet::buckets(buckets.of, from, to);
            Some((part(range.from, at), part(at, range.to)))
        }
        KeySet::List(keys) => {
            let half = keys.len() / 2;
            let part = |skip, take| KeySet::list(keys.iter().skip(skip).take(take).cloned());
            let is_short = (2..=MAX_LISTED_KEYS).contains(&keys.len());
            is_short.then(|| (part(0, half), part(half, keys.len())))
        }
    }
}

/// Returns a key between the ends of a range. If none can be computed, it returns a sample key.
fn split_point(range: &KeyRange, types: &[KeyType]) -> Option<Key> {
    match (&range.from, &range.to) {
        (Some(Key::Int(from)), Some(Key::Int(to))) => Some(Key::Int(from.midpoint(*to))),
        (Some(Key::Int(from)), None) => Some(Key::Int(from.saturating_add(500))),
        (None, Some(Key::Int(to))) => Some(Key::Int(to.saturating_sub(500))),
        (None, None)
            if matches!(
                types,
                [KeyType::Smallint | KeyType::Integer | KeyType::Bigint]
            ) =>
        {
            Some(Key::Int(501))
        }
        (_, _) => plans::key::accept(types, &sample(types)).ok(),
    }
}

/// Returns a sample key of these types.
fn sample(types: &[KeyType]) -> Key {
    let value = |kind: &KeyType| match kind {
        KeyType::Smallint | KeyType::Integer | KeyType::Bigint => Key::Int(42),
        KeyType::Text => Key::from("m"),
        KeyType::Uuid => Key::from("80000000-0000-0000-0000-000000000000"),
        KeyType::Bytea => Key::from("\\x80"),
        KeyType::Date => Key::from("2026-01-01"),
        KeyType::Timestamptz => Key::from("2026-01-01 00:00:00+00"),
    };
    match types {
        [only] => value(only),
        several => Key::Row(several.iter().map(value).collect()),
    }
}

/// Returns true if a request can name all of `keys` in one line.
fn fits_in_one_line(keys: &KeySet) -> bool {
    match keys {
        KeySet::Range(_) | KeySet::Hash(_) => true,
        KeySet::List(keys) => keys.len() <= MAX_LISTED_KEYS,
    }
}

/// Returns the keys in the syntax of a request.
fn selection(keys: &KeySet) -> String {
    yaml::selection(&Selection::of(keys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::request::Request;

    #[test]
    fn every_example_is_a_request_without_any_map() {
        for example in Example::ALL {
            let text = example.text(None, &[]);
            Request::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(Example::parse(example.name()), Some(example));
        }
    }
}
