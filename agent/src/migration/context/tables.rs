//! The tables of a move, by what a step does with them.

use plans::names::Direction;
use plans::step::StepKind;
use plans::table::{MovingTable, TableName};

use super::StepContext;
use crate::shard::guard::GuardedRows;

impl StepContext {
    /// Returns the tables that have moving rows. These exclude reference tables.
    pub(crate) fn keyed_tables(&self) -> Vec<MovingTable> {
        let tables = self.dispatch.tables.iter();
        tables
            .filter(|table| !table.is_reference())
            .cloned()
            .collect()
    }

    /// Returns the partitions that the application has dropped or detached on the owner of the keys.
    pub(crate) fn retired_tables(&self) -> impl Iterator<Item = &MovingTable> {
        self.planned_tables.iter().filter(|table| table.retired)
    }

    /// Returns the names of [`StepContext::retired_tables`].
    pub(crate) fn retired_names(&self) -> Vec<TableName> {
        let retired = self.retired_tables();
        retired.map(|table| table.table.clone()).collect()
    }

    /// Returns the tables whose definitions must be equal on both shards, and the retired partitions, which the
    /// comparison omits.
    pub(crate) fn compared_tables(&self) -> Vec<MovingTable> {
        let tables = self.planned_tables.iter();
        tables
            .filter(|table| !table.is_reference())
            .cloned()
            .collect()
    }

    /// Returns the tables that a stream captures. Before the flip, the forward stream also captures reference tables,
    /// and keeps them equal on a new target.
    pub(crate) fn captured_tables(
        &self,
        direction: Direction,
    ) -> impl Iterator<Item = &MovingTable> {
        let tables = self.dispatch.tables.iter();
        let with_references = direction == Direction::Forward && !self.is_done(StepKind::Cutover);
        tables.filter(move |table| with_references || !table.is_reference())
    }

    /// Returns the rows that the migration's guard covers.
    pub(crate) fn guarded_rows(&self) -> GuardedRows<'_> {
        GuardedRows {
            keys: &self.dispatch.keys,
            tables: &self.planned_tables,
        }
    }
}
