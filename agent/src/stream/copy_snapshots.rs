//! Decides which changes the copy already contains: the copy of a row contains a transaction if the transaction is
//! visible in the snapshot of the row's copy unit.
//!
//! A unit (a table, or a range of its keys) is copied with one snapshot, which may be later than the slot's.
//! The old and the new image of a row are checked separately: an UPDATE that moves a row from one unit to another is a
//! DELETE in the first and an INSERT in the second. After the horizon, which is the position of the newest barrier, the
//! copy contains no change (docs/protocol.md, units and snapshots).

use std::collections::HashMap;

use connect::Connected;
use plans::failure::StepCode;
use plans::table::MovingTable;

use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::postgres::visibility::TxSnapshot;
use crate::shard::epoch::EpochToken;

/// A value of the column that divides a table into units. The values of this type have the same order as in the column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum UnitBound {
    Integer(i64),
    /// The text of a uuid in lower case, which sorts like the bytes of the uuid.
    Uuid(String),
}

impl UnitBound {
    fn parse(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::Uuid(text.to_lowercase()), Self::Integer)
    }
}

/// A unit: the rows from `low` (included) to `high` (excluded), which were copied with one snapshot.
#[derive(Debug)]
struct CopiedUnit {
    low: Option<UnitBound>,
    high: Option<UnitBound>,
    /// The index of the snapshot in [`CopySnapshots::snapshots`].
    snapshot: usize,
}

impl CopiedUnit {
    fn contains(&self, bound: &UnitBound) -> bool {
        self.low.as_ref().is_none_or(|low| low <= bound)
            && self.high.as_ref().is_none_or(|high| bound < high)
    }
}

/// The snapshots with which the units of the copy were read. This value contains no rows; it decides which transactions
/// the copy already contains.
#[derive(Debug)]
pub(super) struct CopySnapshots {
    snapshots: Vec<TxSnapshot>,
    /// The units of each table of the move, by the table's index.
    units: Vec<Vec<CopiedUnit>>,
    /// No transaction that commits after this position is visible in any snapshot.
    horizon: Lsn,
}

impl CopySnapshots {
    /// Reads snapshots and units from the downstream shard. Returns `None` if every unit has the slot's own snapshot,
    /// in which no transaction of the stream is visible.
    ///
    /// # Errors
    /// `copy.snapshot` if a unit was copied with no snapshot, or with more than one.
    pub(super) async fn load(
        client: &Connected,
        token: &EpochToken,
        tables: &[MovingTable],
    ) -> Result<Option<Self>, StepError> {
        let shard = client.name();
        let what = format!("shard {shard}: reading the copy's snapshots");
        let rows = client
            .query(
                "select number, snapshot, barrier from shardwright.snapshot where migration = $1 order by number",
                &[&token.migration.0],
            )
            .await
            .at(&what)?;
        if rows.len() < 2 {
            return Ok(None);
        }
        let mut index_by_number = HashMap::new();
        let (mut snapshots, mut horizon) = (Vec::new(), Lsn::ZERO);
        for row in &rows {
            let text: String = row.get(1);
            let snapshot = text.parse::<TxSnapshot>();
            index_by_number.insert(row.get::<_, i32>(0), snapshots.len());
            snapshots.push(snapshot.map_err(|error| snapshot_error(&what, &error.to_string()))?);
            horizon = horizon.max(row.get(2));
        }
        let rows = client
            .query(
                "select relation, low, high, min(snapshot), max(snapshot), count(snapshot) = count(*)
                 from shardwright.chunk where migration = $1
                 group by unit, relation, low, high order by unit",
                &[&token.migration.0],
            )
            .await
            .at(&what)?;
        let mut units: Vec<Vec<CopiedUnit>> = tables.iter().map(|_| Vec::new()).collect();
        for row in &rows {
            let relation: String = row.get(0);
            let (first, last): (Option<i32>, Option<i32>) = (row.get(3), row.get(4));
            let number = first.filter(|_| row.get(5) && first == last);
            let snapshot = number.and_then(|number| index_by_number.get(&number));
            let table = tables.iter().position(|t| t.table.to_string() == relation);
            // A partition that was retired since does not move any more.
            let Some(table) = table else { continue };
            let Some(snapshot) = snapshot else {
                let why = format!(
                    "a unit of {relation} was copied with no snapshot, or with more than one"
                );
                return Err(snapshot_error(&what, &why));
            };
            let bound = |column: usize| row.get::<_, Option<&str>>(column).map(UnitBound::parse);
            units[table].push(CopiedUnit {
                low: bound(1),
                high: bound(2),
                snapshot: *snapshot,
            });
        }
        Ok(Some(Self {
            snapshots,
            units,
            horizon,
        }))
    }

    /// Returns whether the copy may contain changes of a transaction whose commit is at the position `commit`.
    pub(super) fn may_contain_transaction(&self, commit: Lsn) -> bool {
        commit <= self.horizon
    }

    /// Returns whether the copy contains the effect of transaction `xid` on a row of `table`. `first` is the text of
    /// the first value of the row's identity.
    ///
    /// # Errors
    /// `capture.unit` if no unit contains the row: the copy is incomplete.
    pub(super) fn contains_effect(
        &self,
        table: usize,
        first: &str,
        xid: u32,
    ) -> Result<bool, StepError> {
        let bound = UnitBound::parse(first);
        let units = self.units.get(table).map_or(&[][..], Vec::as_slice);
        let unit = match units {
            [only] => Some(only),
            several => several.iter().find(|unit| unit.contains(&bound)),
        };
        let snapshot = unit.and_then(|unit| self.snapshots.get(unit.snapshot));
        let snapshot = snapshot.ok_or_else(|| {
            StepError::refused(
                StepCode::CaptureUnit,
                "the stream has a change of a row that no unit of the copy contains",
                "`abort` the migration and plan it again",
            )
        })?;
        Ok(snapshot.sees(snapshot.widen(xid)))
    }
}

fn snapshot_error(what: &str, why: &str) -> StepError {
    StepError::refused(
        StepCode::CopySnapshot,
        format!("{what}: {why}"),
        "`abort` the migration and plan it again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy_with_units(units: Vec<Vec<CopiedUnit>>) -> CopySnapshots {
        let parse = |text: &str| text.parse().expect("a snapshot");
        CopySnapshots {
            snapshots: vec![parse("10:10:"), parse("20:30:25")],
            units,
            horizon: Lsn(100),
        }
    }

    #[test]
    fn a_change_is_checked_against_the_snapshot_of_its_row() {
        let unit = |low: Option<i64>, high: Option<i64>, snapshot| CopiedUnit {
            low: low.map(UnitBound::Integer),
            high: high.map(UnitBound::Integer),
            snapshot,
        };
        let copy = copy_with_units(vec![vec![unit(None, Some(5), 0), unit(Some(5), None, 1)]]);
        for (key, xid, is_contained) in [
            ("4", 9, true),
            ("4", 22, false),
            ("5", 22, true),
            ("5", 25, false),
            ("-3", 25, false),
        ] {
            assert_eq!(
                copy.contains_effect(0, key, xid).expect("a unit"),
                is_contained,
                "{key} {xid}"
            );
        }
        assert!(copy.may_contain_transaction(Lsn(100)) && !copy.may_contain_transaction(Lsn(101)));
    }

    #[test]
    fn a_table_of_one_unit_needs_no_key_and_a_row_without_unit_is_an_error() {
        let whole_table = |snapshot| CopiedUnit {
            low: None,
            high: None,
            snapshot,
        };
        assert!(
            copy_with_units(vec![vec![whole_table(1)]])
                .contains_effect(0, "any text", 12)
                .is_ok_and(|is_contained| is_contained)
        );
        assert!(
            copy_with_units(vec![vec![]])
                .contains_effect(0, "1", 12)
                .is_err()
        );
    }
}
