//! Recognizes parents that arrive too late: the agent has discarded the changes of rows that belong to them.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use plans::failure::StepCode;
use plans::table::{MovingTable, TableName, ThroughTable};

use super::super::change::RowChange;
use super::super::target::ApplyTarget;
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::Tuple;

/// A hash of a parent table and of the values by which rows refer to a row of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ParentHash(u64);

impl ParentHash {
    /// `columns` are those of the row that correspond to the columns of the relation. Returns `None` if the row lacks a
    /// value.
    pub(super) fn of<'a>(
        through: &ThroughTable,
        target: &ApplyTarget,
        columns: impl Iterator<Item = &'a str>,
        row: &Tuple,
    ) -> Option<Self> {
        let mut hasher = DefaultHasher::new();
        through.parent.hash(&mut hasher);
        for (column, (_, theirs)) in columns.zip(&through.columns) {
            let index = target.position(column)?;
            theirs.hash(&mut hasher);
            row.0.get(index)?.bytes()?.hash(&mut hasher);
        }
        Some(Self(hasher.finish()))
    }
}

/// The parents that new rows of an open transaction lack, of which earlier pieces of the batch have discarded the changes.
#[derive(Debug, Default)]
pub(crate) struct MissingParents {
    commit: Option<Lsn>,
    hashes: HashSet<ParentHash>,
}

impl MissingParents {
    pub(crate) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Records parents that rows of the open transaction lack at the end of a piece. Forgets those of other transactions.
    pub(crate) fn record(
        &mut self,
        open_commit: Option<Lsn>,
        hashes: impl IntoIterator<Item = ParentHash>,
    ) {
        if self.commit != open_commit {
            self.commit = open_commit;
            self.hashes.clear();
        }
        if open_commit.is_some() {
            self.hashes.extend(hashes);
        }
    }

    /// Fails if changes insert a parent that a row of an earlier piece lacked: the agent has discarded this row.
    ///
    /// # Errors
    /// `apply.parent`.
    pub(crate) fn check<'a>(
        &self,
        tables: &[MovingTable],
        changes: impl Iterator<Item = &'a RowChange>,
    ) -> Result<(), StepError> {
        let of_transaction = changes.filter(|change| self.commit == Some(change.commit_lsn));
        for change in of_transaction {
            let parent: &TableName = tables[change.table()].top();
            let through = tables.iter().filter_map(MovingTable::through);
            for through in through.filter(|through| through.parent == *parent) {
                let theirs = through.columns.iter().map(|(_, theirs)| theirs.as_str());
                let new = change.new_image();
                let hash = new.and_then(|new| ParentHash::of(through, &change.target, theirs, new));
                if hash.is_some_and(|hash| self.hashes.contains(&hash)) {
                    return Err(late_parent_error(&change.target.name));
                }
            }
        }
        Ok(())
    }
}

fn late_parent_error(table: &TableName) -> StepError {
    StepError::refused(
        StepCode::ApplyParent,
        format!(
            "a transaction wrote rows before the row of {table} to which they belong, and is too large to be applied at once"
        ),
        "`abort` the migration and plan it again; write the row of the parent table first, or move with `mode: offline`",
    )
}
