//! Reads which keys a shard has: the least and the greatest key, and if these do not suffice, the keys themselves.

use crate::error::DiscoverError;
use crate::facts::{Facts, map_name};
use crate::snapshot::ShardSnapshot;
use plans::id::ShardName;
use plans::key::{Key, KeyType};
use plans::sql::quote_ident;
use plans::table::TableName;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of keys that are read from one shard.
pub(crate) const MAX_KEYS: usize = 10_000;

/// The sharded tables of one shard.
#[derive(Debug)]
pub(crate) struct ShardTables<'a> {
    snapshot: &'a ShardSnapshot,
    /// Each table with its key column and that column's type on this shard.
    tables: Vec<(&'a TableName, &'a str, KeyType)>,
    key: KeyType,
}

/// The least and the greatest key of a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyExtent {
    pub(crate) shard: ShardName,
    pub(crate) least: Key,
    pub(crate) greatest: Key,
}

/// The keys of a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShardKeys {
    pub(crate) shard: ShardName,
    pub(crate) keys: BTreeSet<Key>,
    /// True if `keys` contains all keys of the shard.
    pub(crate) is_complete: bool,
}

impl<'a> ShardTables<'a> {
    pub(crate) fn new(
        snapshot: &'a ShardSnapshot,
        facts: &'a Facts,
        sharded: &'a BTreeMap<TableName, String>,
        key: KeyType,
    ) -> Self {
        let tables = sharded.iter().filter_map(|(name, column)| {
            let kind = facts.tables.get(name)?.column(column)?.kind?;
            Some((name, column.as_str(), kind))
        });
        Self {
            snapshot,
            tables: tables.collect(),
            key,
        }
    }

    pub(crate) fn shard(&self) -> &ShardName {
        &self.snapshot.shard
    }

    /// Returns the extent of the keys, or `None` if no sharded table has rows.
    pub(crate) async fn extent(&self) -> Result<Option<KeyExtent>, DiscoverError> {
        let mut keys = BTreeSet::new();
        for (table, column, kind) in &self.tables {
            let (name, column) = (table.sql(), quote_ident(column));
            // The sort expression uses the table's alias: a bare name after `order by` would denote the output column,
            // which is text.
            let comparable = kind.comparable_expression(&format!("t.{column}"));
            let end = |direction: &str| {
                format!(
                    "(select {column}::text from {name} t where {column} is not null order by {comparable} {direction} limit 1)"
                )
            };
            let sql = format!("select {}, {}", end("asc"), end("desc"));
            let action = format!(
                "find the least and the greatest key of table {}",
                map_name(table)
            );
            for row in self.snapshot.query(&sql, &action).await? {
                let ends: [Option<String>; 2] = [row.get(0), row.get(1)];
                for text in ends.into_iter().flatten() {
                    keys.insert(self.parse_key(table, &text)?);
                }
            }
        }
        let (Some(least), Some(greatest)) = (keys.first(), keys.last()) else {
            return Ok(None);
        };
        Ok(Some(KeyExtent {
            shard: self.shard().clone(),
            least: least.clone(),
            greatest: greatest.clone(),
        }))
    }

    /// Returns the keys of all tables, at most [`MAX_KEYS`].
    pub(crate) async fn keys(&self) -> Result<ShardKeys, DiscoverError> {
        let mut keys = BTreeSet::new();
        let mut is_complete = true;
        for (table, column, _) in &self.tables {
            let (name, column) = (table.sql(), quote_ident(column));
            let limit = MAX_KEYS + 1;
            let sql = format!(
                "select distinct {column}::text from {name} where {column} is not null limit {limit}"
            );
            let action = format!("list the keys of table {}", map_name(table));
            let rows = self.snapshot.query(&sql, &action).await?;
            is_complete &= rows.len() < limit;
            for row in rows {
                keys.insert(self.parse_key(table, row.get(0))?);
            }
        }
        Ok(ShardKeys {
            shard: self.shard().clone(),
            is_complete: is_complete && keys.len() <= MAX_KEYS,
            keys,
        })
    }

    /// Returns the first table with a row that does not belong to this shard. `predicate` returns the SQL condition for
    /// the shard's keys.
    pub(crate) async fn find_table_with_other_keys(
        &self,
        predicate: impl Fn(&str, KeyType) -> String,
    ) -> Result<Option<&'a TableName>, DiscoverError> {
        for (table, column, kind) in &self.tables {
            let (name, column) = (table.sql(), quote_ident(column));
            let is_owned = predicate(&column, *kind);
            let sql = format!(
                "select exists (select from {name} where {column} is not null and not {is_owned})"
            );
            let action = format!("look for keys of other shards in table {}", map_name(table));
            let rows = self.snapshot.query(&sql, &action).await?;
            if rows.first().is_some_and(|row| row.get(0)) {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    fn parse_key(&self, table: &TableName, text: &str) -> Result<Key, DiscoverError> {
        self.key.read(text).ok_or_else(|| DiscoverError::UnfitKey {
            column: map_name(table),
            reason: format!(
                "shard {} has {text:?} there, which is not a valid {}",
                self.shard(),
                self.key
            ),
        })
    }
}
