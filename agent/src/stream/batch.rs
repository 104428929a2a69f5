//! A batch: whole source transactions that become one transaction on the destination.

use plans::names::Direction;

use super::StreamSpec;
use crate::error::StepError;
use crate::pg::apply::{Applier, RowChange};
use crate::pg::epoch;
use crate::pg::lsn::Lsn;
use crate::pg::marker::Marker;
use crate::pg::progress::{self, Progress};
use connect::Connected;

/// Changes that are sent to the destination at once.
const PIPELINE: usize = 500;
/// Changes after which a batch is closed at the next commit.
const FULL: u64 = 2000;

/// The destination's side of a stream.
#[derive(Debug)]
pub(super) struct Batch {
    session: Connected,
    applier: Applier,
    /// Durable progress.
    pub(super) progress: Progress,
    /// Whether a transaction is open on the destination.
    open: bool,
    pending: Vec<RowChange>,
    dirty: Vec<(String, String)>,
    /// What the progress will be once this batch commits.
    next: Progress,
    rows: u64,
    /// Those of them that are of moving tables, not of reference tables.
    moving: u64,
    /// Markers whose transactions are in this batch, with the rows before each.
    pub(super) markers: Vec<(Marker, u64)>,
}

impl Batch {
    pub(super) fn new(session: Connected, applier: Applier, progress: Progress) -> Self {
        Self {
            session,
            applier,
            progress,
            open: false,
            pending: Vec::new(),
            dirty: Vec::new(),
            next: progress,
            rows: 0,
            moving: 0,
            markers: Vec::new(),
        }
    }

    pub(super) fn applier(&mut self) -> &mut Applier {
        &mut self.applier
    }

    pub(super) fn applier_ref(&self) -> &Applier {
        &self.applier
    }

    /// End of the last transaction that was taken.
    pub(super) fn position(&self) -> Lsn {
        self.next.lsn
    }

    /// Nothing of it would be lost.
    pub(super) fn is_empty(&self) -> bool {
        self.next == self.progress && self.pending.is_empty() && !self.open
    }

    /// It should be closed at the next commit.
    pub(super) fn is_full(&self) -> bool {
        self.rows >= FULL
    }

    /// Moving rows in this batch so far.
    pub(super) fn moving(&self) -> u64 {
        self.moving
    }

    /// Takes a change; sends what is gathered when that is much, so memory does not grow with a
    /// large transaction.
    pub(super) async fn push(
        &mut self,
        spec: &StreamSpec,
        change: RowChange,
        dirty: bool,
        commit_lsn: Lsn,
    ) -> Result<(), StepError> {
        let table = &spec.tables[change.table()];
        // Reference tables are written to all the time, also inside the cutover: they are never dirty.
        if dirty && !table.is_reference() {
            let relation = table.table.to_string();
            let keys = change
                .keys
                .iter()
                .map(|key| (relation.clone(), key.clone()));
            self.dirty.extend(keys);
        }
        self.pending.push(change);
        self.rows += 1;
        self.moving += u64::from(!table.is_reference());
        if self.pending.len() >= PIPELINE {
            self.send(spec, commit_lsn).await?;
        }
        Ok(())
    }

    /// The source transaction is complete.
    pub(super) fn end_transaction(&mut self, end: Lsn, rows: u64, opened: bool) {
        self.next.lsn = end;
        self.next.opened |= opened;
        self.next.transactions += 1;
        self.next.changes += i64::try_from(rows).unwrap_or(i64::MAX);
    }

    /// Nothing of interest lies before `lsn`: the progress may jump there.
    pub(super) fn skip_to(&mut self, lsn: Lsn) {
        self.next.lsn = self.next.lsn.max(lsn);
    }

    /// Commits everything, synchronously, with the progress that it makes.
    pub(super) async fn commit(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if self.is_empty() {
            return Ok(());
        }
        let shard = spec.destination.name.as_str();
        let lsn = self.next.lsn;
        self.send(spec, lsn).await?;
        self.begin(spec).await?;
        progress::write(&self.session, &spec.token, spec.direction, self.next, shard).await?;
        if spec.direction == Direction::Forward {
            fail_point::hit("catch_up.batch_applied").await?;
        }
        epoch::commit(
            &self.session,
            &format!("shard {shard}: committing applied changes"),
        )
        .await?;
        self.open = false;
        self.progress = self.next;
        self.rows = 0;
        self.moving = 0;
        Ok(())
    }

    async fn begin(&mut self, spec: &StreamSpec) -> Result<(), StepError> {
        if !self.open {
            epoch::begin(&self.session, &spec.token, &spec.destination.name).await?;
            self.open = true;
        }
        Ok(())
    }

    async fn send(&mut self, spec: &StreamSpec, commit_lsn: Lsn) -> Result<(), StepError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.begin(spec).await?;
        let pending = std::mem::take(&mut self.pending);
        self.applier.execute(&self.session, &pending).await?;
        if !self.dirty.is_empty() {
            let mut keys = std::mem::take(&mut self.dirty);
            keys.sort_unstable();
            keys.dedup();
            let shard = spec.destination.name.as_str();
            progress::mark_dirty(&self.session, &spec.token, &keys, commit_lsn, shard).await?;
        }
        Ok(())
    }
}
