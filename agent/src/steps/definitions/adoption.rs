//! Adopts partitions that the application created on the source during the migration, until the flip.
//!
//! Order:
//! 1. The target gets the partitions with the definitions of the source, attached and guarded, unless it has them.
//! 2. The definitions on both shards are compared. Only an equal partition is published.
//! 3. On the source, one transaction for each partition guards it against TRUNCATE and adds it to the publication, under
//!    a lock that excludes its writers.
//! 4. The target records that only a later snapshot may copy the partition.
//! 5. The agent reports the new list of tables, and the migration continues from the step `copy`.
//!
//! A row that was committed before 3 is in the snapshot of the partition's unit, because this snapshot is taken after
//! 4. A row that is committed after 3 is in the stream; the stream discards it if the snapshot sees it (I2). After an
//! interruption the agent begins again with 1, because the plan does not contain the partition yet.

mod new_leaf;
mod on_target;

use connect::Connected;
use plans::failure::StepCode;
use plans::names::Direction;
use plans::request::Mode;
use plans::step::StepKind;
use plans::table::{MovingTable, TableName};

use super::DefinitionSessions;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::ddl::{self, DefinitionSide};
use crate::shard::partitions::{self, TablePartition};
use crate::shard::publication::{self, AddedTable};
use crate::shard::{epoch, guard};
use crate::steps::copy;
use new_leaf::moving_partition;

/// Adopts new partitions of the source, if the plan lacks any and the migration can still copy them.
///
/// # Errors
/// [`StepError::Reshaped`] with the new list of tables if it has adopted a partition; `schema.drift` if a new partition
/// cannot move, or if the tables differ otherwise; `target.stray` if the target has moving rows in such a partition.
pub(super) async fn adopt_partitions(
    context: &StepContext,
    sessions: &DefinitionSessions<'_>,
) -> Result<(), StepError> {
    let planned = &context.dispatch.tables;
    if !can_adopt(context, sessions.target).await? {
        return Ok(());
    }
    let tops = partitions::topmost_tables(planned.iter());
    if tops.is_empty() {
        return Ok(());
    }
    let on_source = partitions::read(sessions.source, &tops).await?;
    let on_target = partitions::read(sessions.target, &tops).await?;
    let is_missing =
        |found: &&TablePartition| !on_target.iter().any(|have| have.table == found.table);
    let missing: Vec<&TablePartition> = on_source.iter().filter(is_missing).collect();
    let unknown: Vec<&TablePartition> = on_source
        .iter()
        .filter(|found| found.is_leaf && planned.iter().all(|known| known.table != found.table))
        .collect();
    // A planned leaf that the target lacks was dropped there: this is a difference, not a new partition.
    let is_planned =
        |found: &&TablePartition| planned.iter().any(|known| known.table == found.table);
    if missing.iter().any(is_planned) || (missing.is_empty() && unknown.is_empty()) {
        return Ok(());
    }
    let names: Vec<String> = unknown
        .iter()
        .map(|found| found.table.to_string())
        .collect();
    context.report_message(format!("adopting new partitions: {}", names.join(", ")));
    let mut tables = planned.clone();
    for found in &unknown {
        tables.push(moving_partition(context, sessions.source, found).await?);
    }
    let adopted = &tables[planned.len()..];
    let adoption = Adoption {
        context,
        sessions,
        tables: &tables,
        adopted,
    };
    adoption.create_on_target(&missing).await?;
    adoption.compare().await?;
    adoption.publish().await?;
    if adopted.is_empty() {
        // Only partitioned tables without leaves are new: their definitions are compared like any other change.
        return Ok(());
    }
    copy::record_adoption(context, sessions.target, adopted).await?;
    adoption.report(&unknown).await
}

/// Returns whether the migration can still copy a new partition: it is an online move that copies rows, and the keys
/// have never changed their owner.
async fn can_adopt(context: &StepContext, target: &Connected) -> Result<bool, StepError> {
    let copies = context.dispatch.mode == Mode::Online
        && !context.is_seeded()
        && context.is_done(StepKind::OpenCapture)
        && !context.is_done(StepKind::Cutover);
    if !copies {
        return Ok(false);
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
    Ok(row.is_some_and(|row| row.get(0)))
}

/// Partitions that the agent adopts.
struct Adoption<'a> {
    context: &'a StepContext,
    sessions: &'a DefinitionSessions<'a>,
    /// The planned tables, and after them the adopted ones: the position of a table in the list never changes.
    tables: &'a [MovingTable],
    adopted: &'a [MovingTable],
}

impl Adoption<'_> {
    /// The positions of the adopted tables in the list.
    fn adopted_indexes(&self) -> std::ops::Range<usize> {
        self.tables.len() - self.adopted.len()..self.tables.len()
    }

    /// Checks that both shards have the same definitions, before the partitions are published.
    async fn compare(&self) -> Result<(), StepError> {
        let (source, target) = (self.sessions.source, self.sessions.target);
        let without_indexes = super::has_no_indexes_yet(self.context)?;
        let keyed = self.tables.iter().filter(|table| !table.is_reference());
        let names: Vec<TableName> = keyed.map(|table| table.table.clone()).collect();
        let on_source = catalog::facts(source, &names).await?;
        let on_target = catalog::facts(target, &names).await?;
        let side = |shard, definitions| DefinitionSide { shard, definitions };
        let differences = ddl::differences(
            side(source.name(), &on_source),
            side(target.name(), &on_target),
            without_indexes,
        );
        match differences.is_empty() {
            true => Ok(()),
            false => Err(ddl::drift_error(&differences)),
        }
    }

    /// Guards the adopted partitions on the source, and adds them to the publication of the forward stream.
    async fn publish(&self) -> Result<(), StepError> {
        let (context, source) = (self.context, self.sessions.source);
        let shard = source.name();
        let role = guard::session_user(source)
            .await
            .at(format_args!("shard {shard}: reading the session's role"))?;
        let token = context.token();
        for index in self.adopted_indexes() {
            let table = &self.tables[index];
            let name = table.table.sql();
            let keys = &context.dispatch.keys;
            let added = AddedTable {
                name: &name,
                published: context.published(table),
                statements: guard::triggers_sql(
                    &context.dispatch.migration,
                    keys,
                    index,
                    self.tables,
                    &role,
                ),
            };
            publication::add_table(source, &token, Direction::Forward, &added).await?;
        }
        epoch::begin(source, &token).await?;
        context.record_tables(source, self.tables).await?;
        epoch::commit(source, &format!("shard {shard}: recording the move")).await
    }

    /// Returns [`StepError::Reshaped`] with the new list of tables.
    async fn report(&self, unknown: &[&TablePartition]) -> Result<(), StepError> {
        let (source, target) = (self.sessions.source, self.sessions.target);
        if let Some(later) = partitions::unknown_leaves(source, self.tables)
            .await?
            .first()
        {
            return Err(StepError::not_yet(
                StepCode::SchemaChanged,
                format!(
                    "partition {} was created while others were adopted",
                    later.table
                ),
            ));
        }
        let keyed: Vec<MovingTable> = self
            .tables
            .iter()
            .filter(|table| !table.is_reference())
            .cloned()
            .collect();
        // The planned tables may have changed too, which the plan then contains.
        let (tables, mut changes) = ddl::reshaped_tables(self.tables, [source, target]).await?;
        changes.extend(
            unknown
                .iter()
                .map(|found| format!("{}: new partition {}", found.top, found.table)),
        );
        Err(StepError::Reshaped {
            tables,
            fingerprint: catalog::fingerprint(source, &keyed).await?,
            changes,
            followed: Vec::new(),
        })
    }
}
