//! Rows of a stream, each judged by what the copy holds already.

use super::{HaltPoint, StreamRun};
use crate::error::StepError;
use crate::postgres::pgoutput::{OldRow, Tuple, TupleValue};
use crate::stream::StreamState;
use crate::stream::recopy::FoundRow;

impl StreamRun {
    /// A row that lacks values is read on the origin.
    pub(super) async fn insert(
        &mut self,
        shared: &StreamState,
        relation: u32,
        new: Tuple,
    ) -> Result<(), StepError> {
        let applier = self.batch.applier_ref();
        if applier.is_complete(relation, &new)? {
            let change = applier.insert(relation, new)?;
            return self.push(shared, change).await;
        }
        let (table, key) = applier.key(relation, &new)?;
        self.batch.keep_together();
        let xid = self.arriving.as_ref().map_or(0, |tx| tx.begin.xid);
        let at = match &shared.halt {
            Some(HaltPoint::Before(at, _)) => Some(at),
            Some(HaltPoint::Here) | None => None,
        };
        let read = self.recopied.read(&shared.spec, at, table, &key, xid);
        match read.await? {
            FoundRow::Row(values) => {
                let change = self.batch.applier().insert_read(table, values)?;
                self.push(shared, change).await
            }
            FoundRow::Large => self.copy(shared, table, &key).await,
            FoundRow::Nothing => Ok(()),
        }
    }

    /// Writes a row that was found on the origin and is too large to be held.
    async fn copy(
        &mut self,
        shared: &StreamState,
        table: usize,
        key: &str,
    ) -> Result<(), StepError> {
        let Some(taken) = self.taken(shared) else {
            return Ok(());
        };
        let copied = &mut self.recopied;
        self.batch
            .copy(&shared.spec, copied, table, key, taken)
            .await
    }

    /// An UPDATE may take a row from a unit whose copy holds it to one whose copy does not, and back.
    pub(super) async fn update(
        &mut self,
        shared: &StreamState,
        relation: u32,
        old: OldRow,
        new: Tuple,
    ) -> Result<(), StepError> {
        let applier = self.batch.applier_ref();
        let whole = applier.complete(relation, &old, &new)?;
        let to = self.held(relation, &whole)?;
        let from = match &old {
            OldRow::Absent => to,
            OldRow::Key(row) | OldRow::Full(row) => self.held(relation, row)?,
        };
        let change = match (from, to) {
            (false, false) if new.0.contains(&TupleValue::LeftOut) => {
                let whole = whole.into_owned();
                let old = match old {
                    OldRow::Absent => OldRow::Key(new),
                    known @ (OldRow::Key(_) | OldRow::Full(_)) => known,
                };
                let before = applier.delete(relation, old)?;
                self.push(shared, before).await?;
                return self.insert(shared, relation, whole).await;
            }
            (false, false) => applier.update(relation, old, new)?,
            (false, true) => applier.delete(relation, old)?,
            (true, false) => {
                let whole = whole.into_owned();
                return self.insert(shared, relation, whole).await;
            }
            (true, true) => return Ok(()),
        };
        self.push(shared, change).await
    }

    /// Whether the copy, or a row that was read since, holds this image of a row already.
    pub(super) fn held(&self, relation: u32, row: &Tuple) -> Result<bool, StepError> {
        let Some(arriving) = &self.arriving else {
            return Ok(false);
        };
        let (applier, xid) = (self.batch.applier_ref(), arriving.begin.xid);
        if self.is_ahead() {
            let (table, key) = applier.key(relation, row)?;
            if let Some(held) = self.recopied.holds(table, &key, xid) {
                return Ok(held);
            }
        }
        let Some(visible) = self.visible.as_ref().filter(|_| arriving.judge) else {
            return Ok(false);
        };
        let (table, first) = applier.place(relation, row)?;
        visible.holds(table, &first, xid)
    }

    pub(super) fn held_old(&self, relation: u32, old: &OldRow) -> Result<bool, StepError> {
        match old {
            // The applier refuses it with the reason.
            OldRow::Absent => Ok(false),
            OldRow::Key(row) | OldRow::Full(row) => self.held(relation, row),
        }
    }
}
