//! Which changes the copy holds already: those of transactions that the snapshot of their copy unit saw.
//!
//! A unit (a table, or a range of its keys) is copied with one snapshot, which may be later than the slot's.
//! Each row image is judged by the unit that it belongs to: an UPDATE that takes a row from one unit to
//! another is a delete there and an insert here. Once the stream is past the horizon, the newest barrier of
//! any snapshot, nothing is left to judge (docs/protocol.md, units and snapshots).

use std::collections::HashMap;

use connect::Connected;
use plans::table::MovingTable;

use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::postgres::visibility::TxSnapshot;
use crate::shard::epoch::EpochToken;

/// A value of the column that divides a table into units, in its order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum UnitBound {
    Integer(i64),
    /// Canonical text of a uuid, whose order is that of its bytes.
    Uuid(String),
}

impl UnitBound {
    fn parse(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::Uuid(text.to_lowercase()), Self::Integer)
    }
}

/// Rows from `low` to before `high` that were copied with one snapshot.
#[derive(Debug)]
struct CopiedUnit {
    low: Option<UnitBound>,
    high: Option<UnitBound>,
    snapshot: usize,
}

impl CopiedUnit {
    fn holds(&self, place: &UnitBound) -> bool {
        self.low.as_ref().is_none_or(|low| low <= place)
            && self.high.as_ref().is_none_or(|high| place < high)
    }
}

/// What the copy holds.
#[derive(Debug)]
pub(super) struct VisibleRows {
    snapshots: Vec<TxSnapshot>,
    /// Units of each table of the move, by its index.
    units: Vec<Vec<CopiedUnit>>,
    /// Nothing that commits after it is seen by any snapshot.
    horizon: Lsn,
}

impl VisibleRows {
    /// Reads snapshots and units from the destination; none when every unit has the slot's own snapshot,
    /// which sees nothing of what the slot sends.
    ///
    /// # Errors
    /// `copy.snapshot` when a unit was not copied with exactly one snapshot.
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
        let mut numbers = HashMap::new();
        let (mut snapshots, mut horizon) = (Vec::new(), Lsn::ZERO);
        for row in &rows {
            let text: String = row.get(1);
            let snapshot = text.parse::<TxSnapshot>();
            numbers.insert(row.get::<_, i32>(0), snapshots.len());
            snapshots.push(snapshot.map_err(|error| unreadable(&what, &error.to_string()))?);
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
            let only = first.filter(|_| row.get(5) && first == last);
            let snapshot = only.and_then(|number| numbers.get(&number));
            let table = tables.iter().position(|t| t.table.to_string() == relation);
            let (Some(table), Some(snapshot)) = (table, snapshot) else {
                let why = format!("a unit of {relation} has none, or more than one");
                return Err(unreadable(&what, &why));
            };
            let place = |at: usize| row.get::<_, Option<&str>>(at).map(UnitBound::parse);
            units[table].push(CopiedUnit {
                low: place(1),
                high: place(2),
                snapshot: *snapshot,
            });
        }
        Ok(Some(Self {
            snapshots,
            units,
            horizon,
        }))
    }

    /// Whether some change that commits at `commit` could be held by the copy.
    pub(super) fn reaches(&self, commit: Lsn) -> bool {
        commit <= self.horizon
    }

    /// Whether the copy holds the effect of transaction `xid` on the row of `table` whose first primary key
    /// value is `first`, as text.
    ///
    /// # Errors
    /// `capture.unit` when no unit holds the row: the copy was not complete.
    pub(super) fn holds(&self, table: usize, first: &str, xid: u32) -> Result<bool, StepError> {
        let place = UnitBound::parse(first);
        let units = self.units.get(table).map_or(&[][..], Vec::as_slice);
        let unit = match units {
            [only] => Some(only),
            several => several.iter().find(|unit| unit.holds(&place)),
        };
        let snapshot = unit.and_then(|unit| self.snapshots.get(unit.snapshot));
        let snapshot = snapshot.ok_or_else(|| {
            StepError::refused(
                "capture.unit",
                "a change arrived of a row that no unit of the copy holds",
                "`abort` it and plan it again",
            )
        })?;
        Ok(snapshot.sees(snapshot.widen(xid)))
    }
}

fn unreadable(what: &str, why: &str) -> StepError {
    StepError::refused(
        "copy.snapshot",
        format!("{what}: {why}"),
        "`abort` it and plan it again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(units: Vec<Vec<CopiedUnit>>) -> VisibleRows {
        let parse = |text: &str| text.parse().expect("a snapshot");
        VisibleRows {
            snapshots: vec![parse("10:10:"), parse("20:30:25")],
            units,
            horizon: Lsn(100),
        }
    }

    #[test]
    fn a_change_is_judged_by_the_snapshot_of_its_row() {
        let unit = |low: Option<i64>, high: Option<i64>, snapshot| CopiedUnit {
            low: low.map(UnitBound::Integer),
            high: high.map(UnitBound::Integer),
            snapshot,
        };
        let v = visible(vec![vec![unit(None, Some(5), 0), unit(Some(5), None, 1)]]);
        for (key, xid, held) in [
            ("4", 9, true),
            ("4", 22, false),
            ("5", 22, true),
            ("5", 25, false),
            ("-3", 25, false),
        ] {
            assert_eq!(v.holds(0, key, xid).expect("a unit"), held, "{key} {xid}");
        }
        assert!(v.reaches(Lsn(100)) && !v.reaches(Lsn(101)));
    }

    #[test]
    fn a_table_of_one_unit_needs_no_key_and_a_row_without_unit_is_an_error() {
        let all = |snapshot| CopiedUnit {
            low: None,
            high: None,
            snapshot,
        };
        assert!(
            visible(vec![vec![all(1)]])
                .holds(0, "any text", 12)
                .is_ok_and(|held| held)
        );
        assert!(visible(vec![vec![]]).holds(0, "1", 12).is_err());
    }
}
