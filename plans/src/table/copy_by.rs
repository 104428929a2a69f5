//! How a table is divided for the copy, and why: by blocks, or by ranges of what tells its rows apart.
//!
//! Blocks are read in the order in which they lie, all with one snapshot. Ranges of the key may each have a
//! snapshot of their own, so that none gets old, and read little where few rows move; on a table that does
//! not lie in the key's order they read about four times as slowly.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MovingTable;

/// What a table is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CopyBy {
    /// Ranges of blocks, with one snapshot.
    #[default]
    Blocks,
    /// Ranges of the first column of the identity, with a snapshot for each that needs one.
    KeyRanges,
}

/// How the rows lie with regard to the first column of the identity, where that is an integer or a uuid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowOrder {
    /// The column.
    pub column: String,
    /// Statistical correlation of its values with their place in the table, percent, -100 to 100; 0: unknown.
    pub correlation_percent: i64,
}

/// Bytes of a table that one pass reads in a second, counted low.
const BYTES_PER_SECOND: i64 = 32 << 20;
/// Rows lie in the key's order from here on.
const ORDERED_PERCENT: i64 = 90;
/// Few rows move up to here, per million.
const FEW_PPM: i64 = 50_000;

/// Decides how `table` is divided when `moving_ppm` of its rows move and a snapshot may be `snapshot_age_s`
/// seconds old.
#[must_use]
pub fn copy_by(table: &MovingTable, moving_ppm: i64, snapshot_age_s: u32) -> (CopyBy, String) {
    let seconds = table.bytes / BYTES_PER_SECOND;
    let Some(row_order) = &table.row_order else {
        return (
            CopyBy::Blocks,
            if table.identity.is_empty() {
                "it has no key".to_owned()
            } else {
                "its key begins with neither an integer nor a uuid".to_owned()
            },
        );
    };
    // Half of the age is left for a server that is slower than assumed.
    if seconds > i64::from(snapshot_age_s) / 2 {
        return (
            CopyBy::KeyRanges,
            format!("one pass would take some {seconds} s, too long for one snapshot"),
        );
    }
    let by_shard_key = table.key_names().first() == Some(&row_order.column.as_str());
    if by_shard_key
        && moving_ppm < FEW_PPM
        && row_order.correlation_percent.abs() >= ORDERED_PERCENT
    {
        return (
            CopyBy::KeyRanges,
            "few of its rows move, and they lie together".to_owned(),
        );
    }
    (
        CopyBy::Blocks,
        format!("one pass takes some {seconds} s, and its rows may lie in any order"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyType;
    use crate::table::{Format, KeyColumn, TableKey, TableName};

    fn table(bytes: i64, correlation: Option<i64>) -> MovingTable {
        MovingTable {
            table: TableName::parse("t"),
            partition_of: None,
            key: TableKey::Columns(vec![KeyColumn {
                name: "k".to_owned(),
                kind: KeyType::Bigint,
            }]),
            identity: vec!["k".to_owned()],
            lookup_columns: None,
            columns: Vec::new(),
            rows: 1,
            bytes,
            row_order: correlation.map(|correlation_percent| RowOrder {
                column: "k".to_owned(),
                correlation_percent,
            }),
            copy_by: CopyBy::Blocks,
            copy_why: String::new(),
            format: Format::Text,
            format_why: String::new(),
        }
    }

    #[test]
    fn size_order_and_moved_part_decide() {
        const GIB: i64 = 1 << 30;
        for (bytes, correlation, ppm, expected) in [
            (GIB, Some(0), 500_000, CopyBy::Blocks),
            (GIB, Some(100), 500_000, CopyBy::Blocks),
            (GIB, Some(-99), 1_000, CopyBy::KeyRanges),
            (GIB, Some(50), 1_000, CopyBy::Blocks),
            (100 * GIB, Some(0), 500_000, CopyBy::KeyRanges),
            (100 * GIB, None, 500_000, CopyBy::Blocks),
        ] {
            let (found, why) = copy_by(&table(bytes, correlation), ppm, 600);
            assert_eq!(found, expected, "{bytes} {correlation:?} {ppm}: {why}");
        }
    }
}
