//! The key of a row as it is in a change. Changes with the same key are changes of the same row.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::target::ApplyTarget;
use crate::postgres::pgoutput::{Tuple, TupleValue};

/// The key of a row, with its table.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowKey<'a> {
    pub(super) target: &'a Arc<ApplyTarget>,
    pub(super) row: &'a Tuple,
}

impl<'a> RowKey<'a> {
    fn values(self) -> impl Iterator<Item = Option<&'a TupleValue>> {
        self.target
            .key
            .iter()
            .map(move |index| self.row.0.get(*index))
    }
}

impl PartialEq for RowKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.target.table == other.target.table && self.values().eq(other.values())
    }
}

impl Eq for RowKey<'_> {}

impl Hash for RowKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.target.table.hash(state);
        for value in self.values() {
            if let Some(TupleValue::Text(bytes)) = value {
                bytes.hash(state);
            }
        }
    }
}
