//! Adopts partitions that the application created on the owner of the keys during the migration, and, with `ddl: follow`,
//! [new tables](new_tables).
//!
//! Order:
//! 1. The other shard gets the partitions with the definitions of the owner, attached and guarded, unless it has them.
//! 2. The definitions on both shards are compared. Only an equal partition is published.
//! 3. On the owner, one transaction for each partition guards it against TRUNCATE and adds it to the publication, under
//!    a lock that excludes its writers.
//! 4. Its rows come to the other shard:
//!    - Before the flip the step `copy` reads them. The target records that only a later snapshot may be used for this.
//!    - After a flip nothing copies rows any more. The transaction of 3 copies them, before it commits ([`rows`]).
//! 5. The agent reports the new list of tables. Before the flip, the migration continues from the step `copy`.
//!
//! A row that was committed before 3 is in the snapshot of the partition's unit, because this snapshot is taken after
//! 3, or is copied by the transaction of 3, for which its writer has ended. A row that is committed after 3 is in the
//! stream; the stream discards it if the snapshot sees it (I2). After an interruption the agent begins again with 1,
//! because the plan does not contain the partition yet.

mod new_leaf;
pub(super) mod new_tables;
mod on_other_shard;
mod rows;

use std::collections::BTreeSet;

use connect::Connected;
use plans::failure::StepCode;
use plans::names::Direction;
use plans::request::Mode;
use plans::step::StepKind;
use plans::table::{MovingTable, TableName};

use super::{DefinitionSessions, direction_of};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog::{self, RetiredPartitions};
use crate::shard::ddl::{self, DefinitionSide};
use crate::shard::epoch::EpochToken;
use crate::shard::partitions::{self, TablePartition};
use crate::shard::publication::{self, AddedTable};
use crate::shard::{epoch, guard};
use crate::steps::copy;
use new_leaf::moving_partition;
use new_tables::NewTable;

/// How a step adopts new partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AdoptionWay {
    /// The direction from the owner of the keys to the other shard.
    pub(super) direction: Direction,
    rows: RowTransfer,
}

/// How the rows of a new partition come to the other shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowTransfer {
    /// The step `copy` reads them with a later snapshot.
    Copy,
    /// The transaction that publishes the partition copies them.
    Publishing,
}

impl AdoptionWay {
    /// Returns how the step adopts partitions; `None` if it cannot: the move does not copy rows, or the stream that must
    /// send the later changes has ended or does not exist.
    pub(super) async fn read(
        context: &StepContext,
        target: &Connected,
    ) -> Result<Option<Self>, StepError> {
        let Some((_, kind)) = context.dispatch.step else {
            return Ok(None);
        };
        let has_stream = context.dispatch.mode == Mode::Online
            && !context.is_seeded()
            && context.is_done(StepKind::OpenCapture)
            && context.session.stream_end().is_none();
        let direction = direction_of(kind);
        if !has_stream {
            return Ok(None);
        }
        let in_hold = Self {
            direction,
            rows: RowTransfer::Publishing,
        };
        if direction == Direction::Reverse || kind == StepKind::HoldBack {
            return Ok(Some(in_hold));
        }
        if context.is_done(StepKind::Cutover) {
            return Ok(None);
        }
        // After a rollback the stream reads another slot, for which no snapshot of the copy is recorded (G1).
        let row = target
            .query_opt(
                "select flipped is null from shardwright.move where migration = $1",
                &[&context.dispatch.migration.0],
            )
            .await
            .at(format_args!(
                "shard {}: reading the last flip",
                target.name()
            ))?;
        let before_flip = Self {
            direction,
            rows: RowTransfer::Copy,
        };
        Ok(row.map(|row| if row.get(0) { before_flip } else { in_hold }))
    }

    /// Returns the sessions on the owner of the keys and on the other shard.
    pub(super) fn owner_and_other<'a>(
        self,
        sessions: &DefinitionSessions<'a>,
    ) -> (&'a Connected, &'a Connected) {
        match self.direction {
            Direction::Forward => (sessions.source, sessions.target),
            Direction::Reverse => (sessions.target, sessions.source),
        }
    }

    /// Returns the proof of epoch for writes on both shards.
    pub(super) fn token(self, context: &StepContext) -> EpochToken {
        match self.direction {
            Direction::Forward => context.token(),
            Direction::Reverse => context.token_after_flip(),
        }
    }

    /// Returns the tables whose partitions the step adopts, also retired partitions. Reference tables are captured only before the flip.
    pub(super) fn tables(self, context: &StepContext) -> Vec<MovingTable> {
        match self.rows {
            RowTransfer::Copy => context.planned_tables.to_vec(),
            RowTransfer::Publishing => keyed(&context.planned_tables),
        }
    }
}

/// Adopts new partitions and tables of the owner, if the plan lacks any and the step can adopt them. Returns whether it
/// can.
///
/// # Errors
/// [`StepError::Reshaped`] with the new list of tables if it has adopted one; `schema.drift` if a new one cannot move, or
/// if the tables differ otherwise; `target.stray` if the target has moving rows in it.
pub(super) async fn adopt_new(
    context: &StepContext,
    sessions: &DefinitionSessions<'_>,
) -> Result<bool, StepError> {
    let planned = &context.planned_tables;
    let Some(way) = AdoptionWay::read(context, sessions.target).await? else {
        return Ok(false);
    };
    let (owner, other) = way.owner_and_other(sessions);
    let mut new_tables = match context.follows_definitions() {
        true => new_tables::find(context, owner).await?,
        false => Vec::new(),
    };
    // Until a partitioned table has a partition, its definition is not followed.
    new_tables.retain(NewTable::has_leaf);
    let (missing, unknown) = match read_new(way, context, [owner, other], &new_tables).await? {
        Some(new) => (new.missing, new.unknown),
        None => return Ok(true),
    };
    let names: Vec<String> = unknown
        .iter()
        .map(|found| found.table.to_string())
        .collect();
    context.report_message(format!(
        "adopting new partitions and tables: {}",
        names.join(", ")
    ));
    let mut tables = planned.to_vec();
    let of_new_tables = new_leaf::of_new_tables(context, owner, way.direction, &new_tables).await?;
    for found in &unknown {
        let of_new = of_new_tables.iter().find(|leaf| leaf.table == found.table);
        tables.push(match of_new {
            Some(leaf) => leaf.clone(),
            None => moving_partition(context, owner, found).await?,
        });
    }
    let adopted = &tables[planned.len()..];
    let adoption = Adoption {
        context,
        way,
        owner,
        other,
        tables: &tables,
        adopted,
    };
    adoption
        .create_on_other(&missing.iter().collect::<Vec<_>>())
        .await?;
    adoption.compare().await?;
    adoption.publish().await?;
    if adopted.is_empty() {
        // Only partitioned tables without leaves are new: their definitions are compared like any other change.
        return Ok(true);
    }
    match way.rows {
        RowTransfer::Copy => copy::record_adoption(context, sessions.target, adopted).await?,
        RowTransfer::Publishing => {
            let sides = (sessions.source, sessions.target);
            copy::record_copied_tables(&adoption.token(), sides, adopted).await?;
        }
    }
    adoption.report(&unknown).await?;
    Ok(true)
}

/// The partitions and tables of the owner that are new.
struct NewParts {
    /// Those that the other shard lacks.
    missing: Vec<TablePartition>,
    /// The leaves that the plan lacks.
    unknown: Vec<TablePartition>,
}

/// Reads what is new on the owner. `None` if nothing is, or if the shards differ otherwise.
async fn read_new(
    way: AdoptionWay,
    context: &StepContext,
    [owner, other]: [&Connected; 2],
    new_tables: &[NewTable],
) -> Result<Option<NewParts>, StepError> {
    let tables = way.tables(context);
    let new_tops = new_tables.iter().map(|new| &new.table);
    let mut tops = partitions::topmost_tables(tables.iter());
    if tops.is_empty() && new_tables.is_empty() {
        return Ok(None);
    }
    let mut on_owner = partitions::read(owner, &tops).await?;
    on_owner.extend(new_tables.iter().flat_map(|new| new.parts.iter().cloned()));
    tops.extend(new_tops);
    let on_other = partitions::read(other, &tops).await?;
    let mut existing: BTreeSet<TableName> = on_other.into_iter().map(|found| found.table).collect();
    for new in new_tables {
        if new_tables::exists(other, &new.table).await? {
            existing.insert(new.table.clone());
        }
    }
    let planned = &context.planned_tables;
    let is_planned =
        |found: &TablePartition| planned.iter().any(|known| known.table == found.table);
    let missing = on_owner
        .iter()
        .filter(|found| !existing.contains(&found.table));
    let missing: Vec<TablePartition> = missing.cloned().collect();
    let unknown = on_owner
        .iter()
        .filter(|found| found.is_leaf && !is_planned(found));
    let unknown: Vec<TablePartition> = unknown.cloned().collect();
    // A planned leaf that the other shard lacks was dropped there: this is a difference, not a new partition.
    let is_different = missing.iter().any(is_planned);
    let is_new = !missing.is_empty() || !unknown.is_empty();
    Ok((is_new && !is_different).then_some(NewParts { missing, unknown }))
}

/// Partitions that the agent adopts.
struct Adoption<'a> {
    context: &'a StepContext,
    way: AdoptionWay,
    /// A session on the owner of the keys.
    owner: &'a Connected,
    /// A session on the other shard.
    other: &'a Connected,
    /// All tables of the plan, and after them the adopted ones: the position of a table in the list never changes.
    tables: &'a [MovingTable],
    adopted: &'a [MovingTable],
}

impl Adoption<'_> {
    /// The positions of the adopted tables in the list.
    fn adopted_indexes(&self) -> std::ops::Range<usize> {
        self.tables.len() - self.adopted.len()..self.tables.len()
    }

    /// Returns the proof of epoch for writes on both shards.
    fn token(&self) -> EpochToken {
        self.way.token(self.context)
    }

    /// Checks that both shards have the same definitions, before the partitions are published.
    async fn compare(&self) -> Result<(), StepError> {
        let without_indexes = super::has_no_indexes_yet(self.context)?;
        let keyed = keyed(&present(self.tables)).into_iter();
        let names: Vec<TableName> = keyed.map(|table| table.table).collect();
        let retired = self.context.retired_names();
        let on_owner =
            catalog::facts(self.owner, &names, RetiredPartitions::OfOwner(&retired)).await?;
        let on_other =
            catalog::facts(self.other, &names, RetiredPartitions::OfFollower(&retired)).await?;
        let side = |shard, definitions| DefinitionSide { shard, definitions };
        let differences = ddl::differences(
            side(self.owner.name(), &on_owner),
            side(self.other.name(), &on_other),
            without_indexes,
        );
        match differences.is_empty() {
            true => Ok(()),
            false => Err(ddl::drift_error(&differences)),
        }
    }

    /// Guards the adopted partitions on the owner, and adds them to the publication of the stream.
    async fn publish(&self) -> Result<(), StepError> {
        let (context, owner) = (self.context, self.owner);
        let shard = owner.name();
        let role = guard::session_user(owner)
            .await
            .at(format_args!("shard {shard}: reading the session's role"))?;
        let token = self.token();
        for index in self.adopted_indexes() {
            let table = &self.tables[index];
            let name = table.table.sql();
            let keys = &context.dispatch.keys;
            let guards_top = table.partition_of.is_some()
                && !guard::is_covered_by_earlier_leaf(self.tables, index);
            let added = AddedTable {
                name: &name,
                locked_top: guards_top.then(|| table.top().sql()),
                published: context.published(table),
                statements: guard::triggers_sql(
                    &context.dispatch.migration,
                    keys,
                    index,
                    self.tables,
                    &role,
                ),
            };
            match self.way.rows {
                RowTransfer::Copy => {
                    publication::add_table(owner, &token, self.way.direction, &added).await?;
                }
                RowTransfer::Publishing => self.publish_with_rows(table, &added).await?,
            }
        }
        epoch::begin(owner, &token).await?;
        context.record_tables(owner, self.tables).await?;
        epoch::commit(owner, &format!("shard {shard}: recording the move")).await
    }

    /// Returns [`StepError::Reshaped`] with the new list of tables.
    async fn report(&self, unknown: &[TablePartition]) -> Result<(), StepError> {
        let sides = [self.owner, self.other];
        let captured: Vec<MovingTable> = match self.way.rows {
            RowTransfer::Copy => self.tables.to_vec(),
            RowTransfer::Publishing => keyed(self.tables),
        };
        if let Some(later) = partitions::unknown_leaves(self.owner, &captured)
            .await?
            .first()
        {
            return Err(StepError::not_yet(
                StepCode::SchemaChanged,
                format!(
                    "partition {} was created while the agent adopted others",
                    later.table
                ),
            ));
        }
        // The planned tables may have changed too, which the plan then contains.
        let (tables, mut changes) = ddl::reshaped_tables(self.tables, sides).await?;
        changes.extend(unknown.iter().map(|found| match found.table == found.top {
            true => format!("{}: new table", found.table),
            false => format!("{}: new partition {}", found.top, found.table),
        }));
        Err(StepError::Reshaped {
            tables,
            fingerprint: catalog::fingerprint(self.owner, &keyed(self.tables)).await?,
            changes,
            followed: Vec::new(),
            copy_again: self.way.rows == RowTransfer::Copy,
            retired: Box::default(),
        })
    }
}

/// Returns the tables without the retired partitions.
fn present(tables: &[MovingTable]) -> Vec<MovingTable> {
    let present = tables.iter().filter(|table| !table.retired);
    present.cloned().collect()
}

/// Returns the tables that have moving rows.
fn keyed(tables: &[MovingTable]) -> Vec<MovingTable> {
    let keyed = tables.iter().filter(|table| !table.is_reference());
    keyed.cloned().collect()
}
