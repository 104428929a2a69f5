//! Adds the row changes of a stream to the batch, without those that the copy already contains.

use super::StreamRun;
use crate::error::StepError;
use crate::postgres::pgoutput::{OldRow, Tuple, TupleValue};
use crate::stream::apply::RowChange;
use crate::stream::recopy::FoundRow;
use crate::stream::state::{PausePoint, StreamState};

impl StreamRun {
    /// Adds the insertion of a row. If the row arrived without some of its values, reads it again on the upstream
    /// shard.
    pub(super) async fn insert_row(
        &mut self,
        shared: &StreamState,
        relation: u32,
        new: Tuple,
    ) -> Result<(), StepError> {
        let applier = self.batch.applier();
        if applier.is_complete(relation, &new)? {
            let change = applier.insert(relation, new)?;
            return self.add_change(shared, change).await;
        }
        let (table, key) = applier.key_text(relation, &new)?;
        self.batch.forbid_sharing();
        let xid = self.arriving.as_ref().map_or(0, |tx| tx.begin.xid);
        let park_at = match &shared.pause {
            Some(PausePoint::BeforeCommit(at, _)) => Some(at),
            Some(PausePoint::BeforeNext) | None => None,
        };
        let read = self
            .recopied
            .read_row(&shared.spec, park_at, table, &key, xid);
        match read.await? {
            FoundRow::Row(values) => {
                let change = self.batch.applier_mut().insert_of_read_row(table, values)?;
                self.add_change(shared, change).await
            }
            FoundRow::TooLarge => {
                let copied = self.batch.applier().incomplete_row(relation, new)?;
                self.copy_large_row(shared, table, &key, copied).await
            }
            FoundRow::Missing => Ok(()),
        }
    }

    /// Copies a row that was found on the upstream shard and is too large for memory.
    async fn copy_large_row(
        &mut self,
        shared: &StreamState,
        table: usize,
        key: &str,
        arrived: RowChange,
    ) -> Result<(), StepError> {
        let Some(arrival) = self.count_change(shared) else {
            return Ok(());
        };
        let recopied = &mut self.recopied;
        self.batch
            .copy_row(&shared.spec, recopied, table, key, arrival)
            .await?;
        let arrived = arrived.committed_at(arrival.commit_lsn);
        self.batch.check_parent(&shared.spec, arrived).await
    }

    /// Adds an UPDATE. The copy may contain only one of the two row images, because each belongs to its own unit: then
    /// the UPDATE becomes a DELETE or an INSERT.
    pub(super) async fn update_row(
        &mut self,
        shared: &StreamState,
        relation: u32,
        old: OldRow,
        new: Tuple,
    ) -> Result<(), StepError> {
        let applier = self.batch.applier();
        let new_row = applier.complete_row(relation, &old, &new)?;
        let is_new_in_copy = self.is_in_copy(relation, &new_row)?;
        let is_old_in_copy = match &old {
            OldRow::Absent => is_new_in_copy,
            OldRow::Key(row) | OldRow::Full(row) => self.is_in_copy(relation, row)?,
        };
        let change = match (is_old_in_copy, is_new_in_copy) {
            // A large value is missing: the row is read again, in place of the UPDATE.
            (false, false)
                if new.0.contains(&TupleValue::LeftOut)
                    || self.is_entering(shared, relation, &new_row)? =>
            {
                let new_row = new_row.into_owned();
                let old = match old {
                    OldRow::Absent => OldRow::Key(new),
                    known @ (OldRow::Key(_) | OldRow::Full(_)) => known,
                };
                let deletion = applier.delete(relation, old)?;
                // Rows that were gathered before must find this row: their parent is missing only until it is inserted.
                if shared.spec.has_dependents() {
                    self.batch.execute_gathered(&shared.spec).await?;
                }
                self.add_change(shared, deletion).await?;
                return self.insert_row(shared, relation, new_row).await;
            }
            (false, false) => applier.update(relation, old, new)?,
            (false, true) => applier.delete(relation, old)?,
            (true, false) => {
                let new_row = new_row.into_owned();
                return self.insert_row(shared, relation, new_row).await;
            }
            (true, true) => return Ok(()),
        };
        self.add_change(shared, change).await
    }

    /// Returns whether an earlier run has found that the row came to the moving keys by an UPDATE without some of its
    /// values.
    fn is_entering(
        &self,
        shared: &StreamState,
        relation: u32,
        new_row: &Tuple,
    ) -> Result<bool, StepError> {
        let entering = &shared.spec.entering;
        if entering.is_empty() || !new_row.0.contains(&TupleValue::UnchangedToast) {
            return Ok(false);
        }
        let (table, key) = self.batch.applier().key_text(relation, new_row)?;
        Ok(entering.contains(table, &key))
    }

    /// Returns whether the copy, or the row as it was read again, already contains this image of a row.
    pub(super) fn is_in_copy(&self, relation: u32, row: &Tuple) -> Result<bool, StepError> {
        let Some(arriving) = &self.arriving else {
            return Ok(false);
        };
        let (applier, xid) = (self.batch.applier(), arriving.begin.xid);
        if self.has_row_ahead() {
            let (table, key) = applier.key_text(relation, row)?;
            if let Some(is_contained) = self.recopied.contains_effect(table, &key, xid) {
                return Ok(is_contained);
            }
        }
        let Some(snapshots) = self
            .copy_snapshots
            .as_ref()
            .filter(|_| arriving.may_be_in_copy)
        else {
            return Ok(false);
        };
        let (table, first) = applier.first_key_value(relation, row)?;
        snapshots.contains_effect(table, &first, xid)
    }

    pub(super) fn is_old_row_in_copy(
        &self,
        relation: u32,
        old: &OldRow,
    ) -> Result<bool, StepError> {
        match old {
            // The applier refuses a DELETE without an old row, and reports the reason.
            OldRow::Absent => Ok(false),
            OldRow::Key(row) | OldRow::Full(row) => self.is_in_copy(relation, row),
        }
    }
}
