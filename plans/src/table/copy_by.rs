//! How the copy divides a table, and why: by blocks, or by ranges of its identity columns.
//!
//! Blocks are read in physical order, all with one snapshot. Ranges of the key may each have their own snapshot, so
//! that no snapshot gets old, and they read little if few rows move. If the physical order of a table differs from the
//! key's order, they read about four times as slowly.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MovingTable;

/// How a table is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CopyBy {
    /// By ranges of blocks, with one snapshot.
    #[default]
    Blocks,
    /// By ranges of the first identity column, with another snapshot for each range that needs one.
    KeyRanges,
}

/// How far the physical order of the rows follows the first identity column, if that is an integer or a uuid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowOrder {
    /// The name of the column.
    pub column: String,
    /// The statistical correlation of its values with the physical order, in percent from -100 to 100; 0: unknown.
    pub correlation_percent: i64,
}

/// A low estimate of the bytes of a table that one session reads per second.
const BYTES_PER_SECOND: i64 = 32 << 20;
/// From this correlation on, the rows count as ordered by the key.
const ORDERED_PERCENT: i64 = 90;
/// If less than this part of the rows moves, in millionths, few rows move.
const FEW_PPM: i64 = 50_000;

/// Decides how `table` is divided if `moving_ppm` of its rows move and a snapshot may be up to `snapshot_age_s` seconds
/// old.
#[must_use]
pub fn copy_by(table: &MovingTable, moving_ppm: i64, snapshot_age_s: u32) -> (CopyBy, String) {
    // How long one session needs to read the table.
    let seconds = table.bytes / BYTES_PER_SECOND;
    let Some(row_order) = &table.row_order else {
        return (
            CopyBy::Blocks,
            if table.identity.is_empty() {
                "no columns identify its rows".to_owned()
            } else {
                "its first identity column is neither an integer nor a uuid".to_owned()
            },
        );
    };
    // Only half of the permitted age is used, because the server may be slower than assumed.
    if seconds > i64::from(snapshot_age_s) / 2 {
        return (
            CopyBy::KeyRanges,
            format!("one pass would take about {seconds} s, too long for one snapshot"),
        );
    }
    let begins_with_shard_key = table.key_names().first() == Some(&row_order.column.as_str());
    if begins_with_shard_key
        && moving_ppm < FEW_PPM
        && row_order.correlation_percent.abs() >= ORDERED_PERCENT
    {
        return (
            CopyBy::KeyRanges,
            "few of its rows move, and they are stored together".to_owned(),
        );
    }
    (
        CopyBy::Blocks,
        format!(
            "one pass takes about {seconds} s, and its moving rows may be anywhere in the table"
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
            renamed_columns: BTreeMap::new(),
            retired: false,
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
