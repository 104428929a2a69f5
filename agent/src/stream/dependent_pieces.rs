//! Executes pieces with changes of dependent tables: first the changes of the tables that have the key, then those of the
//! tables whose rows belong to them, and so on. Before each of these levels the agent assigns the changes to keys
//! ([`dependents`](super::apply::dependents)).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use connect::Connected;
use plans::table::{MovingTable, ThroughTable};

use super::StreamSpec;
use super::lanes::{ApplyLanes, PreparedPiece};
use super::pieces::ChangePiece;
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress;
use crate::stream::apply::dependents::{
    AssignedChanges, DepartedParents, OwnerLookup, ParentHash, RowName, is_incomplete_row,
    row_after,
};
use crate::stream::apply::{RowChange, is_statement_error};

/// The savepoint to which the net changes of a level are rolled back.
const SAVEPOINT: &str = "savepoint dependents";
const RELEASE: &str = "release savepoint dependents";
const ROLL_BACK: &str = "rollback to savepoint dependents; release savepoint dependents";

/// Lets the server read a whole table for the rest of the batch's transaction: an application need not have an index on the
/// columns by which rows refer to their parents.
const ALLOW_SCANS: &str = "set local enable_hashjoin = on; set local enable_seqscan = on";

/// What the levels of a piece have in common.
#[derive(Clone, Copy)]
struct PieceScope<'a> {
    spec: &'a StreamSpec,
    records_dirty: bool,
    commit_lsn: Lsn,
    /// The position of the commit of a transaction that may continue in the next piece.
    open_commit: Option<Lsn>,
}

impl ApplyLanes {
    /// Executes a piece level by level. The progress is written with the first level.
    ///
    /// # Errors
    /// Those of [`ApplyLanes::execute`] and [`OwnerLookup::assign_net`]; `apply.parent` if a row was discarded before its
    /// parent arrived.
    pub(super) async fn execute_by_levels(
        &mut self,
        spec: &StreamSpec,
        piece: &mut ChangePiece,
        commit_lsn: Lsn,
    ) -> Result<(), StepError> {
        let changes = std::mem::take(&mut piece.changes);
        let last = changes.last().map(|change| change.commit_lsn);
        let scope = PieceScope {
            spec,
            records_dirty: piece.records_dirty,
            commit_lsn,
            open_commit: last.filter(|_| piece.batch_end.is_none()),
        };
        let mut levels = divide(&spec.tables, changes).into_iter();
        piece.changes = levels.next().unwrap_or_default();
        let prepared = PreparedPiece::new(spec, piece, commit_lsn);
        self.execute(spec, &prepared).await?;
        self.note_parents(spec, &piece.changes, &piece.changes)?;
        let mut missing = Vec::new();
        for level in levels.filter(|level| !level.is_empty()) {
            missing.extend(self.execute_level(scope, &level).await?);
        }
        self.missing_parents.record(scope.open_commit, missing);
        self.batch_may_be_in_copy |= piece.may_be_in_copy;
        if piece.batch_end.is_none() {
            return Ok(());
        }
        // The copied rows can be later than this batch, and have a parent that comes back in a later one. The step
        // `catch_up` removes the others when the stream has passed all snapshots (I2).
        if std::mem::take(&mut self.batch_may_be_in_copy) {
            self.departed_parents = DepartedParents::default();
            return Ok(());
        }
        self.remove_dependents_of_departed(scope).await
    }

    /// Checks and records executed changes of parents. `arrived` has the changes as they arrived, with their transactions.
    fn note_parents(
        &mut self,
        spec: &StreamSpec,
        executed: &[RowChange],
        arrived: &[RowChange],
    ) -> Result<(), StepError> {
        self.departed_parents.record(&spec.tables, executed);
        if self.missing_parents.is_empty() {
            return Ok(());
        }
        let rows: HashSet<RowName> = executed.iter().filter_map(row_after).collect();
        let of_moving =
            |change: &&RowChange| row_after(change).is_some_and(|row| rows.contains(&row));
        let arrived = arrived.iter().filter(of_moving);
        self.missing_parents.check(&spec.tables, arrived)
    }

    /// Removes rows whose parents the batch has deleted. This is done at its end, because a transaction may delete a parent
    /// and insert it again.
    async fn remove_dependents_of_departed(
        &mut self,
        scope: PieceScope<'_>,
    ) -> Result<(), StepError> {
        if self.departed_parents.is_empty() {
            return Ok(());
        }
        let session = self.first_session().session().clone();
        let spec = scope.spec;
        run(&session, ALLOW_SCANS).await?;
        let removed = self
            .departed_parents
            .remove_dependents(&session, &spec.tables);
        let removed = removed.await?;
        if !scope.records_dirty || removed.is_empty() {
            return Ok(());
        }
        let name = |table: usize| spec.tables[table].table.to_string();
        let keys = removed.into_iter().map(|(table, key)| (name(table), key));
        let keys: Vec<(String, String)> = keys.collect();
        apply_progress::mark_dirty(&session, &spec.token, &keys, scope.commit_lsn).await
    }

    /// Executes the changes of one level: as net changes, or one by one if that is not possible. Returns the parents that
    /// rows of the open transaction lack.
    async fn execute_level(
        &mut self,
        scope: PieceScope<'_>,
        changes: &[RowChange],
    ) -> Result<Vec<ParentHash>, StepError> {
        let session = self.first_session().session().clone();
        run(&session, SAVEPOINT).await?;
        match self.execute_net(scope, &session, changes).await {
            Ok(Some(missing)) => {
                run(&session, RELEASE).await?;
                return Ok(missing);
            }
            Ok(None) => run(&session, RELEASE).await?,
            Err(error) if is_statement_error(&error) => {
                let code = error.failure().map(|failure| failure.code.as_str());
                tracing::debug!(
                    code,
                    "net changes of dependent rows failed; they are applied one by one"
                );
                run(&session, ROLL_BACK).await?;
            }
            Err(error) => return Err(error),
        }
        let mut missing = Vec::new();
        let mut incomplete = Ok(());
        for change in changes {
            match lookup(scope, &session).assign_one(change).await {
                Err(error) if is_incomplete_row(&error) => incomplete = Err(error),
                assigned => {
                    let arrived = std::slice::from_ref(change);
                    missing.extend(self.execute_assigned(scope, assigned?, arrived).await?);
                }
            }
        }
        incomplete.map(|()| missing)
    }

    async fn execute_net(
        &mut self,
        scope: PieceScope<'_>,
        session: &Connected,
        changes: &[RowChange],
    ) -> Result<Option<Vec<ParentHash>>, StepError> {
        match lookup(scope, session).assign_net(changes).await? {
            Some(assigned) => {
                let missing = self.execute_assigned(scope, assigned, changes).await?;
                Ok(Some(missing))
            }
            None => Ok(None),
        }
    }

    async fn execute_assigned(
        &mut self,
        scope: PieceScope<'_>,
        assigned: AssignedChanges,
        arrived: &[RowChange],
    ) -> Result<Vec<ParentHash>, StepError> {
        let piece = ChangePiece {
            changes: assigned.changes,
            records_dirty: scope.records_dirty,
            ..ChangePiece::default()
        };
        if !piece.changes.is_empty() {
            let prepared = PreparedPiece::new(scope.spec, &piece, scope.commit_lsn);
            self.execute(scope.spec, &prepared).await?;
            self.note_parents(scope.spec, &piece.changes, arrived)?;
            let rows = u64::try_from(piece.changes.len()).unwrap_or(u64::MAX);
            self.dependent_rows.fetch_add(rows, Ordering::SeqCst);
        }
        self.departed_parents.extend(assigned.departed);
        Ok(assigned.missing_parents)
    }
}

fn lookup<'a>(scope: PieceScope<'a>, session: &'a Connected) -> OwnerLookup<'a> {
    OwnerLookup {
        session,
        tables: &scope.spec.tables,
        keys: &scope.spec.keys,
        entering: &scope.spec.entering,
        open_commit: scope.open_commit,
    }
}

/// Divides changes by the number of parents between their rows and the rows with the key.
fn divide(tables: &[MovingTable], changes: Vec<RowChange>) -> Vec<Vec<RowChange>> {
    let depth = |table: &MovingTable| table.through().map_or(0, ThroughTable::depth);
    let deepest = tables.iter().map(depth).max().unwrap_or(0);
    let mut levels: Vec<Vec<RowChange>> = (0..=deepest).map(|_| Vec::new()).collect();
    for change in changes {
        levels[depth(&tables[change.table()])].push(change);
    }
    levels
}

async fn run(session: &Arc<Connected>, sql: &str) -> Result<(), StepError> {
    let what = format!("shard {}: applying changes", session.name());
    session.batch_execute(sql).await.at(what)
}
