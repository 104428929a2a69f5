//! Assigns changes of dependent tables to keys: the stream carries the changes of all of their rows, because a publication
//! cannot read other tables (ADR 76).
//!
//! The agent asks the downstream shard, in the transaction of the batch, after it has applied the changes of the parents:
//! - A row that it has is one of the copy if its parent has a moving key, or if its parent is missing: the parent was
//!   deleted a moment ago, or is not copied yet. Other rows with this identity are the shard's own.
//! - A new row moves if its parent is there and has a moving key.
//!
//! So an UPDATE can become an INSERT or a DELETE, and most changes of rows of other keys become nothing.

mod departed;
mod missing_parents;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use connect::Connected;
use plans::failure::StepCode;
use plans::key_set::KeySet;
use plans::table::{MovingTable, ThroughTable};

use super::change::{RowChange, RowChangeKind};
use super::net_changes::{NetChanges, RowSet, SetOperation};
use super::sets::{RowsStatement, classified_rows, present_rows};
use super::target::ApplyTarget;
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{OldRow, Tuple, TupleValue};
pub(crate) use departed::DepartedParents;
pub(crate) use missing_parents::{MissingParents, ParentHash};

/// A row: the index of its table among the move's tables, and its key as text.
pub(crate) type RowName = (usize, String);

/// Rows that came to the moving keys by an UPDATE without some of their values. The next run of the stream reads them again
/// on the upstream shard.
#[derive(Debug, Clone, Default)]
pub(crate) struct EnteringRows(Arc<Mutex<HashSet<RowName>>>);

impl EnteringRows {
    fn add(&self, row: RowName) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.insert(row);
    }

    pub(crate) fn is_empty(&self) -> bool {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.is_empty()
    }

    pub(crate) fn contains(&self, table: usize, key: &str) -> bool {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.contains(&(table, key.to_owned()))
    }
}

/// The changes of one piece that concern moving rows.
#[derive(Debug, Default)]
pub(crate) struct AssignedChanges {
    pub(crate) changes: Vec<RowChange>,
    /// The parents that new rows of the open transaction lack.
    pub(crate) missing_parents: Vec<ParentHash>,
    /// The parents that are missing although rows of the copy refer to them now.
    pub(crate) departed: DepartedParents,
}

/// Looks up on the downstream shard which rows of dependent tables move.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnerLookup<'a> {
    /// The session with the open transaction of the batch.
    pub(crate) session: &'a Connected,
    pub(crate) tables: &'a [MovingTable],
    pub(crate) keys: &'a KeySet,
    pub(crate) entering: &'a EnteringRows,
    /// The position of the commit of a transaction that may have changes in the next piece too.
    pub(crate) open_commit: Option<Lsn>,
}

/// A row of a set, with what the lookups have found.
struct AssignedRow<'a> {
    row: &'a Tuple,
    /// Whether the downstream shard has the row, as one of the copy.
    is_copied: bool,
    parent: ParentState,
}

/// The parent of a new row, on the downstream shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParentState {
    /// It has a moving key.
    Moving,
    /// It does not exist.
    Missing,
    /// It has a key that does not move, or the row refers to none.
    Other,
    /// The change shows no reference, because it is large and unchanged: the row has the parent that it had.
    Unchanged,
}

impl ParentState {
    /// Returns whether the new row belongs to the copy. `is_copied`: the row before it does.
    fn moves(self, is_copied: bool) -> bool {
        match self {
            Self::Moving => true,
            // The rest of the transaction may change the row again, or bring its parent. Otherwise the row is removed at
            // the end of the batch.
            Self::Missing | Self::Unchanged => is_copied,
            Self::Other => false,
        }
    }
}

impl OwnerLookup<'_> {
    /// Assigns changes of tables with the same depth. The result has the net change of each row. Returns `None` if net
    /// changes cannot be computed: the caller then assigns the changes one by one.
    ///
    /// # Errors
    /// `apply.order`, to be tried again, if a row arrives without some of its values; an error of the server.
    pub(crate) async fn assign_net(
        &self,
        changes: &[RowChange],
    ) -> Result<Option<AssignedChanges>, StepError> {
        if changes.iter().any(RowChange::changes_key) {
            return Ok(None);
        }
        let net = NetChanges::of(changes).filter(|net| net.remaining.is_empty());
        let Some(net) = net else { return Ok(None) };
        let known = known_to_move(changes);
        let mut assigned = AssignedChanges::default();
        let mut missing = HashSet::new();
        // All rows that the next run must read again are found in one run.
        let mut incomplete = Ok(());
        for set in &net.sets {
            let found = self.find_parents(set).await?;
            for row in found {
                let name = row_name(set.target, row.row);
                let is_known = name.as_ref().is_some_and(|name| known.contains(name));
                let change = match self.assigned(set, &row, is_known) {
                    Err(error) if is_incomplete_row(&error) => {
                        incomplete = Err(error);
                        continue;
                    }
                    change => change?,
                };
                if row.parent == ParentState::Missing {
                    match change {
                        Some(_) => {
                            let departed = &mut assigned.departed;
                            departed.record_missing(self.tables, set.target, row.row);
                        }
                        None => missing.extend(name),
                    }
                }
                assigned.changes.extend(change);
            }
        }
        incomplete?;
        let lacks_parent = |change: &&RowChange| {
            let name = row_name(&change.target, change.key_image());
            name.is_some_and(|name| missing.contains(&name))
        };
        let open = changes.iter().filter(|change| self.is_of_open(change));
        let hashes = open.filter(lacks_parent).filter_map(|c| self.parent_of(c));
        assigned.missing_parents = hashes.collect();
        Ok(Some(assigned))
    }

    /// Assigns one change. An UPDATE that gives a row another key stays one.
    ///
    /// # Errors
    /// As [`OwnerLookup::assign_net`].
    pub(crate) async fn assign_one(
        &self,
        change: &RowChange,
    ) -> Result<AssignedChanges, StepError> {
        let target = &change.target;
        let set_of = |operation: SetOperation, row: &Tuple| RowSet {
            target,
            operation,
            rows: vec![Cow::Owned(row.clone())],
        };
        let (before, after) = match &change.kind {
            RowChangeKind::Insert(new) => (None, Some(Cow::Borrowed(new))),
            RowChangeKind::Update { old, new, .. } => (
                Some(change.key_image()),
                Some(target.complete_row(old, new)),
            ),
            RowChangeKind::Delete(old) => (Some(old), None),
        };
        let is_copied = match before {
            Some(row) => {
                let set = set_of(SetOperation::Delete, row);
                self.find_parents(&set)
                    .await?
                    .iter()
                    .any(|row| row.is_copied)
            }
            None => false,
        };
        let parent = match &after {
            Some(row) => {
                let set = set_of(SetOperation::Insert, row);
                let found = self.find_parents(&set).await?;
                found.first().map_or(ParentState::Other, |row| row.parent)
            }
            None => ParentState::Other,
        };
        let stays = change.is_known_to_move || parent.moves(is_copied);
        let mut departed = DepartedParents::default();
        if let (true, ParentState::Missing, Some(row)) = (is_copied, parent, &after) {
            departed.record_missing(self.tables, target, row);
        }
        let kind = match (is_copied, after) {
            (true, Some(_)) if stays => Some(change.kind.clone()),
            (true, _) => Some(RowChangeKind::Delete(change.key_image().clone())),
            (false, Some(row)) if stays => {
                Some(RowChangeKind::Insert(self.complete(target, &row)?.clone()))
            }
            (false, _) => None,
        };
        let is_missing =
            kind.is_none() && parent == ParentState::Missing && self.is_of_open(change);
        let missing_parent = is_missing.then(|| self.parent_of(change)).flatten();
        let change = kind.map(|kind| derived(change, kind));
        Ok(AssignedChanges {
            changes: change.into_iter().collect(),
            missing_parents: missing_parent.into_iter().collect(),
            departed,
        })
    }

    /// Returns the change of a row of a set, if it concerns the copy.
    fn assigned(
        &self,
        set: &RowSet<'_>,
        row: &AssignedRow<'_>,
        is_known_to_move: bool,
    ) -> Result<Option<RowChange>, StepError> {
        let moves = is_known_to_move || row.parent.moves(row.is_copied);
        let image = row.row.clone();
        let kind = match (set.operation, row.is_copied, moves) {
            (SetOperation::Delete, true, _) | (SetOperation::Update, true, false) => {
                RowChangeKind::Delete(image)
            }
            (SetOperation::Update, true, true) => RowChangeKind::Update {
                old: OldRow::Absent,
                new: image,
                key_changed: false,
            },
            (SetOperation::Insert, _, true) | (SetOperation::Update, false, true) => {
                self.complete(set.target, row.row)?;
                RowChangeKind::Insert(image)
            }
            (SetOperation::Insert, _, false)
            | (SetOperation::Delete | SetOperation::Update, false, _)
            | (SetOperation::ProveMissing, ..) => return Ok(None),
        };
        Ok(Some(RowChange::new(set.target.clone(), kind)))
    }

    /// Returns the row if it has every value that an INSERT writes. Otherwise the next run reads it again.
    fn complete<'a>(&self, target: &ApplyTarget, row: &'a Tuple) -> Result<&'a Tuple, StepError> {
        if target.is_complete(row) {
            return Ok(row);
        }
        let name = row_name(target, row).ok_or_else(|| target.incomplete_row_error())?;
        self.entering.add(name);
        Err(StepError::passing(
            StepCode::ApplyConflict,
            format!(
                "table {}: an UPDATE gave a row a moving key, and the row arrived without large values that did not change; the stream reads it again",
                target.name
            ),
        ))
    }

    /// Looks up the rows of a set.
    async fn find_parents<'s>(
        &self,
        set: &'s RowSet<'_>,
    ) -> Result<Vec<AssignedRow<'s>>, StepError> {
        let target = set.target;
        let through = self.through(target)?;
        let has_old_rows = matches!(set.operation, SetOperation::Delete | SetOperation::Update);
        let has_new_rows = matches!(set.operation, SetOperation::Insert | SetOperation::Update);
        let copied = async {
            match has_old_rows {
                true => self.copied_rows(set).await,
                false => Ok(HashMap::new()),
            }
        };
        let indexes = reference_columns(target, through)?;
        // All rows of a set lack the same columns.
        let lacks_reference = set.rows.first().is_some_and(|row| {
            let mut indexes = indexes.iter();
            indexes.any(|index| row.0.get(*index) == Some(&TupleValue::UnchangedToast))
        });
        let parents = async {
            match has_new_rows && !lacks_reference {
                true => self.parents(set, through, &indexes).await,
                false => Ok(HashMap::new()),
            }
        };
        let (copied, parents) = futures::future::try_join(copied, parents).await?;
        let rows = set.rows.iter().zip(1..);
        let rows = rows.map(|(row, place)| AssignedRow {
            row,
            is_copied: copied.contains_key(&place),
            parent: match parents.get(&place) {
                _ if lacks_reference => ParentState::Unchanged,
                Some(true) => ParentState::Moving,
                Some(false) => ParentState::Missing,
                None => ParentState::Other,
            },
        });
        Ok(rows.collect())
    }

    /// Returns the places of the rows that the downstream shard has as rows of the copy.
    async fn copied_rows(&self, set: &RowSet<'_>) -> Result<HashMap<i64, bool>, StepError> {
        let condition = self.tables[set.target.table].predicate_or_missing(self.keys, "t");
        let statement = present_rows(set, &condition);
        self.places(set.target, statement).await
    }

    /// Returns the places of the rows whose parents have a moving key (true), or are missing (false).
    async fn parents(
        &self,
        set: &RowSet<'_>,
        through: &ThroughTable,
        indexes: &[usize],
    ) -> Result<HashMap<i64, bool>, StepError> {
        let table = &self.tables[set.target.table];
        let (moving, missing) = (table.predicate(self.keys, "r"), through.lacks_parent("r"));
        let statement = classified_rows(set, indexes, [&moving, &missing]);
        self.places(set.target, statement).await
    }

    async fn places(
        &self,
        target: &ApplyTarget,
        statement: Option<RowsStatement>,
    ) -> Result<HashMap<i64, bool>, StepError> {
        let what = format!(
            "shard {}: looking up the parents of rows of {}",
            self.session.name(),
            target.name
        );
        let statement = statement.ok_or_else(|| unsupported_error(&what))?;
        let rows = self
            .session
            .query_typed(&statement.sql, &statement.params())
            .await;
        let rows = rows.at(&what)?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    fn through(&self, target: &ApplyTarget) -> Result<&ThroughTable, StepError> {
        let through = self.tables.get(target.table).and_then(MovingTable::through);
        through.ok_or_else(|| unsupported_error(&format!("table {}", target.name)))
    }

    fn is_of_open(&self, change: &RowChange) -> bool {
        self.open_commit == Some(change.commit_lsn)
    }

    /// Returns the parent of the new row of a change.
    fn parent_of(&self, change: &RowChange) -> Option<ParentHash> {
        let through = self.through(&change.target).ok()?;
        let own = through.columns.iter().map(|(own, _)| own.as_str());
        ParentHash::of(through, &change.target, own, change.new_image()?)
    }
}

/// Returns whether the stream begins again because a row arrived without some of its values.
pub(crate) fn is_incomplete_row(error: &StepError) -> bool {
    error.has_code(StepCode::ApplyConflict)
}

/// Returns the rows that were read on the upstream shard, and not changed since.
fn known_to_move(changes: &[RowChange]) -> HashSet<RowName> {
    let mut known = HashSet::new();
    for change in changes {
        let Some(name) = row_name(&change.target, change.key_image()) else {
            continue;
        };
        if change.is_known_to_move {
            known.insert(name);
        } else {
            known.remove(&name);
        }
    }
    known
}

/// Returns the row that a change inserts or updates, by its new key.
pub(crate) fn row_after(change: &RowChange) -> Option<RowName> {
    row_name(&change.target, change.new_image()?)
}

fn row_name(target: &ApplyTarget, row: &Tuple) -> Option<RowName> {
    target.key_text(row).map(|key| (target.table, key))
}

fn derived(change: &RowChange, kind: RowChangeKind) -> RowChange {
    RowChange {
        kind,
        ..change.clone()
    }
}

/// Returns the positions of the columns that refer to the parent.
fn reference_columns(
    target: &ApplyTarget,
    through: &ThroughTable,
) -> Result<Vec<usize>, StepError> {
    let own = through.columns.iter().map(|(own, _)| target.position(own));
    let indexes: Option<Vec<usize>> = own.collect();
    indexes.ok_or_else(|| target.incomplete_row_error())
}

fn unsupported_error(what: &str) -> StepError {
    StepError::refused(
        StepCode::ApplyParent,
        format!("{what}: the values of a column cannot be looked up"),
        "`abort` the migration and move with `mode: offline`",
    )
}
