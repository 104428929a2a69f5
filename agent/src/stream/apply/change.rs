//! A change of one row.

use std::sync::Arc;

use bytes::Bytes;

use super::lane::ApplyLane;
use super::target::ApplyTarget;
use crate::postgres::pgoutput::{OldRow, Tuple, TupleValue};

/// A change of one row, with all that its statement is made of: what finds the row is readable.
#[derive(Debug)]
pub(crate) struct RowChange {
    pub(super) target: Arc<ApplyTarget>,
    pub(super) kind: RowChangeKind,
}

/// What happened to the row.
#[derive(Debug)]
pub(super) enum RowChangeKind {
    /// Every value is there.
    Insert(Tuple),
    /// `moved`: it is found by something else afterwards.
    Update {
        old: OldRow,
        new: Tuple,
        moved: bool,
    },
    Delete(Tuple),
}

impl RowChange {
    pub(super) fn new(target: Arc<ApplyTarget>, kind: RowChangeKind) -> Self {
        Self { target, kind }
    }

    /// Index of the table among the move's tables.
    pub(crate) fn table(&self) -> usize {
        self.target.table
    }

    /// The session that has its row, where two of them apply; a row that it gives another key has that of the old one.
    pub(crate) fn lane(&self) -> ApplyLane {
        ApplyLane::of(&self.target, self.found_by())
    }

    /// What the row is found by, before and after, as JSON arrays of text: what is dirty now.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys = Vec::with_capacity(2);
        keys.extend(self.target.key_text(self.found_by()));
        if let RowChangeKind::Update {
            old,
            new,
            moved: true,
        } = &self.kind
        {
            keys.extend(self.target.key_text(&self.target.complete(old, new)));
        }
        keys
    }

    /// It gives its row another key.
    pub(super) fn moves(&self) -> bool {
        matches!(self.kind, RowChangeKind::Update { moved: true, .. })
    }

    /// About how many bytes it takes until it is executed.
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

    /// Keeps nothing in memory but its own rows.
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

    /// The image whose key is the row's: the one before the change, where there was one.
    pub(super) fn found_by(&self) -> &Tuple {
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

    /// For messages.
    pub(super) fn verb(&self) -> &'static str {
        match self.kind {
            RowChangeKind::Insert(_) => "Insert",
            RowChangeKind::Update { .. } => "Update",
            RowChangeKind::Delete(_) => "Delete",
        }
    }
}

fn size_of_value(value: &TupleValue) -> usize {
    size_of::<TupleValue>() + COPIES * value.bytes().map_or(0, Bytes::len)
}

/// How often the bytes of a value are there in the end: as they arrived, as a parameter, and as a message whose memory
/// doubles as it grows, in two buffers.
const COPIES: usize = 5;

/// Whether two rows are found by different values.
pub(super) fn key_differs(target: &ApplyTarget, one: &Tuple, other: &Tuple) -> bool {
    let differs = |index: &usize| one.0.get(*index) != other.0.get(*index);
    target.key.iter().any(differs)
}
