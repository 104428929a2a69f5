//! Adds the row changes of a stream to the batch, without those that the copy already contains.

use super::StreamRun;
use crate::error::StepError;
use crate::postgres::pgoutput::{OldRow, Tuple, TupleValue};
use crate::stream::recopy::FoundRow;
use crate::stream::state::{PausePoint, StreamState};

impl StreamRun {
    /// Inserts a row. A row that arrived without some of its values is read on the upstream shard.
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
        let at = match &shared.pause {
            Some(PausePoint::BeforeCommit(at, _)) => Some(at),
            Some(PausePoint::BeforeNext) | None => None,
        };
        let read = self.recopied.read_row(&shared.spec, at, table, &key, xid);
        match read.await? {
            FoundRow::Row(values) => {
                let change = self.batch.applier_mut().insert_of_read_row(table, values)?;
                self.add_change(shared, change).await
            }
            FoundRow::TooLarge => self.copy_large_row(shared, table, &key).await,
            FoundRow::Missing => Ok(()),
        }
    }

    /// Copies a row that was found on the upstream shard and is too large for memory.
    async fn copy_large_row(
        &mut self,
        shared: &StreamState,
        table: usize,
        key: &str,
    ) -> Result<(), StepError> {
        let Some(arrival) = self.count_change(shared) else {
            return Ok(());
        };
        let copied = &mut self.recopied;
        self.batch
            .copy_row(&shared.spec, copied, table, key, arrival)
            .await
    }

    /// Applies an UPDATE. It may take a row from a unit whose copy contains the change to a unit whose copy does not,
    /// or the reverse.
    pub(super) async fn update_row(
        &mut self,
        shared: &StreamState,
        relation: u32,
        old: OldRow,
        new: Tuple,
    ) -> Result<(), StepError> {
        let applier = self.batch.applier();
        let whole = applier.complete_row(relation, &old, &new)?;
        let to = self.is_in_copy(relation, &whole)?;
        let from = match &old {
            OldRow::Absent => to,
            OldRow::Key(row) | OldRow::Full(row) => self.is_in_copy(relation, row)?,
        };
        let change = match (from, to) {
            (false, false) if new.0.contains(&TupleValue::LeftOut) => {
                let whole = whole.into_owned();
                let old = match old {
                    OldRow::Absent => OldRow::Key(new),
                    known @ (OldRow::Key(_) | OldRow::Full(_)) => known,
                };
                let before = applier.delete(relation, old)?;
                self.add_change(shared, before).await?;
                return self.insert_row(shared, relation, whole).await;
            }
            (false, false) => applier.update(relation, old, new)?,
            (false, true) => applier.delete(relation, old)?,
            (true, false) => {
                let whole = whole.into_owned();
                return self.insert_row(shared, relation, whole).await;
            }
            (true, true) => return Ok(()),
        };
        self.add_change(shared, change).await
    }

    /// Whether the copy, or a row that was read again since, already contains this image of a row.
    pub(super) fn is_in_copy(&self, relation: u32, row: &Tuple) -> Result<bool, StepError> {
        let Some(arriving) = &self.arriving else {
            return Ok(false);
        };
        let (applier, xid) = (self.batch.applier(), arriving.begin.xid);
        if self.has_row_ahead() {
            let (table, key) = applier.key_text(relation, row)?;
            if let Some(held) = self.recopied.contains_effect(table, &key, xid) {
                return Ok(held);
            }
        }
        let Some(visible_rows) = self.visible_rows.as_ref().filter(|_| arriving.check_copied)
        else {
            return Ok(false);
        };
        let (table, first) = applier.first_key_value(relation, row)?;
        visible_rows.contains_effect(table, &first, xid)
    }

    pub(super) fn is_old_row_in_copy(
        &self,
        relation: u32,
        old: &OldRow,
    ) -> Result<bool, StepError> {
        match old {
            // The applier refuses such a change and reports the reason.
            OldRow::Absent => Ok(false),
            OldRow::Key(row) | OldRow::Full(row) => self.is_in_copy(relation, row),
        }
    }
}
