//! The step `verify`: compares both shards at one exact point. It first compares digests of chunks, then rows if
//! digests differ.
//!
//! The result for an equal chunk is kept until the run ends: an interrupted run continues with the other chunks, at a
//! new point. Keys that changed after the oldest of these points are dirty. They are compared again before and inside
//! the cutover, so that the earlier results stay valid.
//!
//! Values of rows never leave their shard. The keys of rows that differ leave it only in a [`DifferenceReport`], which
//! an operator requests.

use crate::fleet::ShardRef;
use crate::id::MigrationId;
use crate::names::Direction;
use crate::table::MovingTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum number of rows that a report names for each table. Further rows are only counted.
pub const ROWS_NAMED: usize = 1_000;
/// The maximum number of rows that one repair writes. If more rows differ, the table must be copied again.
pub const ROWS_REPAIRED: usize = 50_000;

/// The result of the step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verified {
    /// The number of compared rows of the source.
    pub rows_compared: i64,
    /// The number of rows that differ or are missing on one shard. If there are any, the step fails.
    pub different: i64,
    /// The oldest position in the source's log at which a chunk was compared.
    pub at: String,
    /// The number of compared chunks.
    #[serde(default)]
    pub chunks: i64,
    /// The number of these chunks that an interrupted attempt had already compared.
    #[serde(default)]
    pub chunks_kept: i64,
    /// The number of rows that a repair wrote.
    #[serde(default)]
    pub repaired: i64,
    /// The result for each table.
    #[serde(default)]
    pub tables: Vec<TableVerified>,
}

impl Verified {
    /// Returns why the result does not prove that all of `tables` are equal on both shards, or `None` if it does.
    /// Reference tables are not included, because their rows do not move.
    #[must_use]
    pub fn objection(&self, tables: &[MovingTable]) -> Option<String> {
        if self.different != 0 {
            return Some(format!("{} row(s) differ", self.different));
        }
        let mut moving = tables
            .iter()
            .filter(|table| !table.is_reference() && !table.retired);
        let missing = moving.find(|table| {
            let name = table.table.to_string();
            self.tables.iter().all(|compared| compared.table != name)
        })?;
        Some(format!("table {} was not compared", missing.table))
    }

    /// Returns why this result does not agree with `recorded`, the results that a shard has stored, or `None` if it
    /// does.
    #[must_use]
    pub fn objection_to(&self, recorded: &[TableVerified]) -> Option<String> {
        let recorded_result = |name: &str| recorded.iter().find(|table| table.table == name);
        self.tables.iter().find_map(|compared| {
            let name = &compared.table;
            match recorded_result(name) {
                None => Some(format!("the shard has no record of table {name}")),
                Some(found) if found == compared => None,
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

/// The result for a table. Both shards have the same rows, unless `different` is greater than 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableVerified {
    /// `schema.name`.
    pub table: String,
    /// The number of rows on the owner.
    pub rows: i64,
    /// The first 128 bits of the SHA-256 of both sums of hashes over the owner's rows, in hexadecimal. Equal rows have
    /// the same digest, in any order and with any chunks. It has no value if chunks were compared by a version without
    /// digests.
    pub digest: Option<String>,
}

/// Identifies the comparison that a step makes. A new number begins a new comparison; the same number continues one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VerifyRun {
    /// The number of the comparison within the migration. It grows.
    pub number: i64,
    /// True to write rows that differ again, with the owner's values.
    #[serde(default)]
    pub repair: bool,
}

/// How a row differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DifferenceKind {
    /// The owner has the row, the copy does not.
    Missing,
    /// The copy has the row, the owner does not.
    Extra,
    /// Both have the row, with different values.
    Changed {
        /// The columns whose values differ, byte by byte.
        columns: Vec<String>,
    },
}

/// A row that differs.
///
/// Its key is a value of the row. Therefore it is only in this report, and never in a log or an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowDifference {
    /// The primary key, as text, in the order of its columns.
    pub key: Vec<String>,
    /// How the row differs.
    #[serde(flatten)]
    pub kind: DifferenceKind,
}

/// The differences between the two copies of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TableDifferences {
    /// `schema.name`.
    pub table: String,
    /// The number of compared rows of the owner.
    pub rows: i64,
    /// The number of rows that the copy does not have.
    pub missing: i64,
    /// The number of rows that only the copy has.
    pub extra: i64,
    /// The number of rows that both have with different values.
    pub changed: i64,
    /// The first [`ROWS_NAMED`] of these rows.
    pub named: Vec<RowDifference>,
}

impl TableDifferences {
    /// Returns the number of rows that differ, named or not.
    #[must_use]
    pub fn different(&self) -> i64 {
        self.missing + self.extra + self.changed
    }
}

/// The result of the last comparison in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceReport {
    /// Forward: the target was compared with the source. Reverse: the old owner was compared with the target.
    pub direction: Direction,
    /// The number of the comparison.
    pub run: i64,
    /// When it began (RFC 3339), by the clock of the compared shard.
    pub started_at: String,
    /// When it ended; `None` while it runs or is interrupted.
    pub finished_at: Option<String>,
    /// The oldest position in the owner's log at which a chunk was compared.
    pub at: Option<String>,
    /// The number of rows that a repair wrote.
    pub repaired: i64,
    /// The number of chunks compared so far.
    pub chunks: i64,
    /// The number of chunks to compare.
    pub chunks_total: i64,
    /// One entry for each table that was compared.
    pub tables: Vec<TableDifferences>,
}

impl DifferenceReport {
    /// Returns the number of rows that differ in all tables.
    #[must_use]
    pub fn different(&self) -> i64 {
        self.tables.iter().map(TableDifferences::different).sum()
    }

    /// Returns the number of compared rows in all tables.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

/// The reports of one migration, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Differences {
    /// One report for each direction in which rows were compared.
    pub reports: Vec<DifferenceReport>,
}

/// A task to read the reports of one migration from both shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportTask {
    /// The migration.
    pub migration: MigrationId,
    /// The source of the migration.
    pub source: ShardRef,
    /// The target of the migration.
    pub target: ShardRef,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_difference_has_flat_json() {
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
    fn a_result_that_disagrees_with_the_stored_record_is_refused() {
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
    fn the_output_of_an_older_version_can_be_parsed() {
        let text = r#"{"rows_compared":3,"different":0,"at":"0/1"}"#;
        let verified: Verified = serde_json::from_str(text).unwrap();
        assert_eq!((verified.rows_compared, verified.chunks), (3, 0));
    }
}
