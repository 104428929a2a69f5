//! Decides what a sweep does with the physical slot of a standby.

use super::super::{SweepInput, SweepVerdict};
use crate::sql::quote_literal;

/// Decides about the physical slot of a standby. A standby whose slot is dropped may have to be created again, so only a
/// slot of this control store is removed.
pub(super) fn decide(input: &SweepInput, slot: &str, in_use: bool) -> (SweepVerdict, String) {
    match input.standby_slots.get(slot) {
        _ if in_use => (
            SweepVerdict::Keep,
            "a standby streams from it, or is being created".to_owned(),
        ),
        Some(standby) if input.needed_slots.contains(slot) => (
            SweepVerdict::Keep,
            format!("shard {standby} is a standby and streams from it, although not at the moment"),
        ),
        Some(standby) => (
            SweepVerdict::Remove,
            format!(
                "it retains log for shard {standby}, which is no registered standby or streams from another slot"
            ),
        ),
        None => (
            SweepVerdict::Decide,
            format!(
                "another control store may have recorded it: if no standby needs it, `select pg_drop_replication_slot({})`",
                quote_literal(slot)
            ),
        ),
    }
}
