//! Verify: both sides at one exact point, digests per chunk first, rows where digests differ.
//!
//! A chunk that was found equal counts until the run ends: an interrupted run goes on with the chunks
//! that are left, at a new point. What it counts with is made sound by the keys that changed since the
//! oldest point that counts: they are dirty, and are compared again before and inside the cutover.
//! The values of rows never leave their shard; the keys of rows that differ leave it in a
//! [`DifferenceReport`] alone, which an operator asks for.

use crate::fleet::ShardRef;
use crate::id::MigrationId;
use crate::names::Direction;
use crate::table::MovingTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rows that a report names for each table; the others are counted.
pub const ROWS_NAMED: usize = 1_000;
/// Rows that one repair writes at most; more of them are no damage but another copy.
pub const ROWS_REPAIRED: usize = 50_000;

/// What was compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verified {
    /// Rows compared on the source.
    pub rows_compared: i64,
    /// Rows that differ or are missing on one side; a step with any fails.
    pub different: i64,
    /// The oldest point in the source's log that a chunk was compared at.
    pub at: String,
    /// Chunks compared.
    #[serde(default)]
    pub chunks: i64,
    /// Those of them that an interrupted attempt had compared: they were not compared again.
    #[serde(default)]
    pub chunks_kept: i64,
    /// Rows that a repair wrote again.
    #[serde(default)]
    pub repaired: i64,
    /// What was compared of each table.
    #[serde(default)]
    pub tables: Vec<TableVerified>,
}

impl Verified {
    /// What keeps it from showing that every one of `tables` is the same on both shards; the rows of reference tables
    /// do not move.
    #[must_use]
    pub fn objection(&self, tables: &[MovingTable]) -> Option<String> {
        if self.different != 0 {
            return Some(format!("{} row(s) differ", self.different));
        }
        let mut moving = tables.iter().filter(|table| !table.is_reference());
        let missing = moving.find(|table| {
            let name = table.table.to_string();
            self.tables.iter().all(|compared| compared.table != name)
        })?;
        Some(format!("table {} was not compared", missing.table))
    }

    /// What keeps `recorded`, which a shard has kept of a comparison, from being what this one found.
    #[must_use]
    pub fn objection_to(&self, recorded: &[TableVerified]) -> Option<String> {
        let of = |tables: &[TableVerified], name: &str| {
            let mut tables = tables.iter();
            tables.find(|table| table.table == name).cloned()
        };
        self.tables.iter().find_map(|compared| {
            let name = &compared.table;
            match of(recorded, name) {
                None => Some(format!("the shard has no record of table {name}")),
                Some(found) if found == *compared => None,
                Some(found) => Some(format!(
                    "the shard has the record of {} row(s) of table {name}, the comparison found {}{}",
                    found.rows,
                    compared.rows,
                    if found.rows == compared.rows { " with another digest" } else { "" }
                )),
            }
        })
    }
}

/// What was compared of a table; both sides had the same, unless rows differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableVerified {
    /// `schema.name`.
    pub table: String,
    /// Rows of the owner.
    pub rows: i64,
    /// The first 128 bits of the SHA-256 of both sums of hashes over the owner's rows, in hex: the same rows give the
    /// same digest, in whatever order and chunks. `None` where chunks were compared before digests were kept.
    pub digest: Option<String>,
}

/// Which comparison a step is to make: another number begins anew, the same one goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VerifyRun {
    /// Its number within the migration; grows.
    pub number: i64,
    /// Rows that differ are written again from the owner's side.
    #[serde(default)]
    pub repair: bool,
}

/// How a row differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DifferenceKind {
    /// The owner has it, the copy does not.
    Missing,
    /// The copy has it, the owner does not.
    Extra,
    /// Both have it.
    Changed {
        /// The columns whose values are not the same, byte for byte.
        columns: Vec<String>,
    },
}

/// A row that differs.
///
/// Its key is a value of the row: it goes into this report and nowhere else, no log and no event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowDifference {
    /// The primary key, as text, in the order of its columns.
    pub key: Vec<String>,
    /// How.
    #[serde(flatten)]
    pub kind: DifferenceKind,
}

/// How a table's copies differ.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TableDifferences {
    /// `schema.name`.
    pub table: String,
    /// Rows compared on the owner's side.
    pub rows: i64,
    /// Rows that the copy lacks.
    pub missing: i64,
    /// Rows that only the copy has.
    pub extra: i64,
    /// Rows that both have, with other values.
    pub changed: i64,
    /// The first [`ROWS_NAMED`] of them.
    pub named: Vec<RowDifference>,
}

impl TableDifferences {
    /// Rows that differ, named or not.
    #[must_use]
    pub fn different(&self) -> i64 {
        self.missing + self.extra + self.changed
    }
}

/// What the last comparison in one direction found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceReport {
    /// Forward: the target was compared with the source; reverse: the old copy with the target.
    pub direction: Direction,
    /// The comparison's number.
    pub run: i64,
    /// When it began, RFC 3339, by the clock of the shard that was compared.
    pub started_at: String,
    /// When it ended; `None` while it is under way or interrupted.
    pub finished_at: Option<String>,
    /// The oldest point in the owner's log that a chunk was compared at.
    pub at: Option<String>,
    /// Rows that a repair wrote again.
    pub repaired: i64,
    /// Chunks compared so far.
    pub chunks: i64,
    /// Chunks to compare.
    pub chunks_total: i64,
    /// One entry for each table that was compared.
    pub tables: Vec<TableDifferences>,
}

impl DifferenceReport {
    /// Rows that differ in all tables.
    #[must_use]
    pub fn different(&self) -> i64 {
        self.tables.iter().map(TableDifferences::different).sum()
    }

    /// Rows compared in all tables.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

/// The reports of one migration, the older one first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Differences {
    /// One for each direction in which copies were compared.
    pub reports: Vec<DifferenceReport>,
}

/// Reads the reports of one migration from both shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportTask {
    /// The migration.
    pub migration: MigrationId,
    /// Where the keys were.
    pub source: ShardRef,
    /// Where they go.
    pub target: ShardRef,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_readable_json() {
        let row = RowDifference {
            key: vec!["100".to_owned(), "7".to_owned()],
            kind: DifferenceKind::Changed {
                columns: vec!["price".to_owned()],
            },
        };
        let text = serde_json::to_string(&row).unwrap();
        assert_eq!(
            text,
            r#"{"key":["100","7"],"kind":"changed","columns":["price"]}"#
        );
        assert_eq!(serde_json::from_str::<RowDifference>(&text).unwrap(), row);
    }

    #[test]
    fn a_record_of_another_database_is_told_from_the_comparisons() {
        let table = |name: &str, rows, digest: &str| TableVerified {
            table: name.to_owned(),
            rows,
            digest: Some(digest.to_owned()),
        };
        let orders = table("public.orders", 3, "a1");
        let verified = Verified {
            tables: vec![orders.clone(), table("public.items", 9, "b2")],
            ..Verified::default()
        };
        let objection =
            |recorded: &[TableVerified]| verified.objection_to(recorded).unwrap_or_default();
        assert_eq!(
            objection(&[table("public.items", 9, "b2"), orders.clone()]),
            ""
        );
        assert_eq!(
            objection(&[]),
            "the shard has no record of table public.orders"
        );
        let empty = table("public.items", 0, "b2");
        assert!(
            objection(&[orders.clone(), empty])
                .contains("record of 0 row(s) of table public.items")
        );
        let other = table("public.items", 9, "c3");
        assert!(objection(&[orders, other]).ends_with("found 9 with another digest"));
    }

    #[test]
    fn an_older_output_is_understood() {
        let text = r#"{"rows_compared":3,"different":0,"at":"0/1"}"#;
        let verified: Verified = serde_json::from_str(text).unwrap();
        assert_eq!((verified.rows_compared, verified.chunks), (3, 0));
    }
}
