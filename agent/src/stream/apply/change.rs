//! A change of one row.

use std::sync::Arc;

use bytes::Bytes;

use super::lane::ApplyLane;
use super::target::ApplyTarget;
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::{OldRow, Tuple, TupleValue};

/// A change of one row. The values that identify the row are text.
#[derive(Debug, Clone)]
pub(crate) struct RowChange {
    pub(super) target: Arc<ApplyTarget>,
    pub(super) kind: RowChangeKind,
    /// The position of the commit of its transaction.
    pub(crate) commit_lsn: Lsn,
    /// Whether the agent read the row on the upstream shard, which has decided that it moves.
    pub(super) is_known_to_move: bool,
}

/// The kind of a change, with its row images.
#[derive(Debug, Clone)]
pub(super) enum RowChangeKind {
    /// The new row, with every value.
    Insert(Tuple),
    /// `old` is the image of the row before, if the server sent one; `key_changed` is whether the key differs in `new`.
    Update {
        old: OldRow,
        new: Tuple,
        key_changed: bool,
    },
    /// The old row.
    Delete(Tuple),
}

impl RowChange {
    pub(super) fn new(target: Arc<ApplyTarget>, kind: RowChangeKind) -> Self {
        Self {
            target,
            kind,
            commit_lsn: Lsn::ZERO,
            is_known_to_move: false,
        }
    }

    /// Returns the change as one of the transaction that commits at this position.
    pub(crate) fn committed_at(self, commit_lsn: Lsn) -> Self {
        Self { commit_lsn, ..self }
    }

    /// The index of the table among the move's tables.
    pub(crate) fn table(&self) -> usize {
        self.target.table
    }

    /// Returns the lane of the row. A change that gives the row another key is in the lane of the old key.
    pub(crate) fn lane(&self) -> ApplyLane {
        ApplyLane::of(&self.target, self.key_image())
    }

    /// Returns the keys of the row before and after the change, as JSON arrays of text: the keys that become dirty.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys = Vec::with_capacity(2);
        keys.extend(self.target.key_text(self.key_image()));
        if let RowChangeKind::Update {
            old,
            new,
            key_changed: true,
        } = &self.kind
        {
            keys.extend(self.target.key_text(&self.target.complete_row(old, new)));
        }
        keys
    }

    /// Returns whether the change gives its row another key.
    pub(super) fn changes_key(&self) -> bool {
        matches!(
            self.kind,
            RowChangeKind::Update {
                key_changed: true,
                ..
            }
        )
    }

    /// Returns the approximate memory that the change needs until it is executed, in bytes.
    pub(crate) fn size(&self) -> usize {
        let row = |row: &Tuple| row.0.iter().map(size_of_value).sum();
        match &self.kind {
            RowChangeKind::Insert(new) => row(new),
            RowChangeKind::Update { old, new, .. } => {
                let before = match old {
                    OldRow::Absent => 0,
                    OldRow::Key(old) | OldRow::Full(old) => row(old),
                };
                before + row(new)
            }
            RowChangeKind::Delete(old) => row(old),
        }
    }

    /// Copies the values out of the received message, so that the change does not keep the rest of the message in
    /// memory.
    pub(super) fn detach(&mut self) {
        match &mut self.kind {
            RowChangeKind::Insert(row) | RowChangeKind::Delete(row) => row.detach(),
            RowChangeKind::Update { old, new, .. } => {
                if let OldRow::Key(old) | OldRow::Full(old) = old {
                    old.detach();
                }
                new.detach();
            }
        }
    }

    /// Returns the image that has the key of the row before the change. Without an old image this is the new one.
    pub(super) fn key_image(&self) -> &Tuple {
        match &self.kind {
            RowChangeKind::Insert(row)
            | RowChangeKind::Delete(row)
            | RowChangeKind::Update {
                old: OldRow::Absent,
                new: row,
                ..
            }
            | RowChangeKind::Update {
                old: OldRow::Key(row) | OldRow::Full(row),
                ..
            } => row,
        }
    }

    /// Returns the image of the row after the change, as it arrived.
    pub(super) fn new_image(&self) -> Option<&Tuple> {
        match &self.kind {
            RowChangeKind::Insert(new) | RowChangeKind::Update { new, .. } => Some(new),
            RowChangeKind::Delete(_) => None,
        }
    }

    /// Returns the name of the operation for messages.
    pub(super) fn operation_name(&self) -> &'static str {
        match self.kind {
            RowChangeKind::Insert(_) => "Insert",
            RowChangeKind::Update { .. } => "Update",
            RowChangeKind::Delete(_) => "Delete",
        }
    }
}

fn size_of_value(value: &TupleValue) -> usize {
    size_of::<TupleValue>() + BYTE_COPIES * value.bytes().map_or(0, Bytes::len)
}

/// The maximum number of copies of a value in memory: one as received, one as a parameter, and those in two buffers
/// with the message to the server, whose capacity doubles when they grow.
const BYTE_COPIES: usize = 5;

/// Returns whether two rows have different keys.
pub(super) fn key_differs(target: &ApplyTarget, one: &Tuple, other: &Tuple) -> bool {
    let differs = |index: &usize| one.0.get(*index) != other.0.get(*index);
    target.key.iter().any(differs)
}
