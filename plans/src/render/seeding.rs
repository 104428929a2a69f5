//! Prints how a move gets its rows from a standby of the source.

use super::{bytes, write_block};
use crate::plan::{Plan, PlannedMove};
use crate::speed::CopySpeed;
use crate::table::TableKey;
use std::fmt::Write;

/// Writes the effects of a move whose target is a standby: what is not copied, and what is deleted afterwards.
pub(super) fn write(out: &mut String, plan: &Plan, planned: &PlannedMove) -> std::fmt::Result {
    let (moving, estimate) = (&planned.moving, &planned.estimate);
    let (rows, surplus_bytes) = surplus(planned);
    let copying = CopySpeed::assumed().duration(estimate.bytes);
    writeln!(
        out,
        "  seed             standby of shard {}, promoted: about {} rows ({}) are not copied, and no index is built",
        moving.source,
        estimate.rows,
        bytes(estimate.bytes)
    )?;
    writeln!(
        out,
        "  surplus          about {rows} rows ({}) of keys that shard {} will not own; they are deleted there after `finish`",
        bytes(surplus_bytes),
        moving.target
    )?;
    writeln!(
        out,
        "  abort            after the step promote shard {} is no standby any more: create it again before the next plan",
        moving.target
    )?;
    write_block(out, plan)?;
    writeln!(
        out,
        "  copy instead     with `seed: copy` {} are copied to an empty database or a shard in use, and indexes are built there: about {} {}",
        bytes(estimate.bytes),
        copying.range(),
        copying.basis()
    )
}

/// Returns the estimated rows and bytes of the surplus: everything in the tables that does not move. Reference tables
/// stay on both shards.
fn surplus(planned: &PlannedMove) -> (i64, i64) {
    let tables = planned.moving.tables.iter();
    let sharded = tables.filter(|table| table.key != TableKey::Reference);
    let rest = sharded.filter_map(|table| {
        let moving = planned.estimate.of(&table.table)?;
        let (rows, bytes) = (table.rows - moving.rows, table.bytes - moving.bytes);
        Some((rows.max(0), bytes.max(0)))
    });
    rest.fold((0, 0), |sum, rest| {
        (sum.0.saturating_add(rest.0), sum.1.saturating_add(rest.1))
    })
}
