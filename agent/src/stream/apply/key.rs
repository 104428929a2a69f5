//! What tells the rows of changes apart.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::target::Target;
use crate::postgres::pgoutput::{Tuple, Value};

/// What a row of a table is found by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key<'a> {
    pub(super) target: &'a Arc<Target>,
    pub(super) row: &'a Tuple,
}

impl<'a> Key<'a> {
    fn values(self) -> impl Iterator<Item = Option<&'a Value>> {
        self.target.key.iter().map(move |at| self.row.0.get(*at))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.target.table == other.target.table && self.values().eq(other.values())
    }
}

impl Eq for Key<'_> {}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.target.table.hash(state);
        for value in self.values() {
            if let Some(Value::Text(bytes)) = value {
                bytes.hash(state);
            }
        }
    }
}
