//! Retires partitions that the application dropped or detached on the owner of the keys during the migration.
//!
//! Order:
//! 1. On the owner, one transaction proves by OIDs that the partition was published and has left its table since. It
//!    removes a detached partition from the publication, and records the new state of the publication.
//! 2. The agent reports the partition, and the plan retires it. The streams of the next epoch discard its changes.
//! 3. On the other shard, the agent deletes the moving rows of the partition, and its guard there. No stream writes such
//!    rows any more, because each write proves the new epoch (I7). If the migration created the partition there, the
//!    agent drops it.
//!
//! The keys change their owner only when neither shard has the partition: on the new owner the application could write
//! to it, and a rollback would lose the rows.

use connect::Connected;
use plans::failure::{Failure, RetryClass, StepCode};
use plans::id::MigrationId;
use plans::names::Direction;
use plans::sql::quote_ident;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use plans::table::MovingTable;

use super::DefinitionSessions;
use super::adoption::AdoptionWay;
use crate::cleanup::delete_rows::ClosedProof;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::partitions::{self, TablePartition};
use crate::shard::published_tables::{self, Departure};
use crate::shard::{created, ddl, guard, publication, register, user_code};
use crate::steps::delete::row_deletion;

/// Retires the partitions of the owner that have departed, and removes the rows of retired ones on the other shard.
///
/// # Errors
/// [`StepError::Reshaped`] if partitions have departed; `schema.changed`, to be tried again, if the step changes the
/// owner of the keys and a shard has a retired partition.
pub(super) async fn retire_partitions(
    context: &StepContext,
    kind: StepKind,
    sessions: &DefinitionSessions<'_>,
) -> Result<(), StepError> {
    let Some(way) = AdoptionWay::read(context, sessions.target).await? else {
        return Ok(());
    };
    let retirement = Retirement {
        context,
        way,
        sessions,
    };
    let departed = retirement.find_departed().await?;
    if !departed.is_empty() {
        retirement.retire(&departed).await?;
    }
    for table in context.retired_tables() {
        retirement.remove_rows(table).await?;
        retirement.drop_created(table).await?;
    }
    if matches!(kind, StepKind::Cutover | StepKind::Rollback) {
        retirement.refuse_attached().await?;
    }
    Ok(())
}

/// Returns a description of a partition that the owner does not have any more and the next check retires; `None` if
/// there is no such partition.
pub(crate) async fn departed_partition(
    context: &StepContext,
    owner: &Connected,
    direction: Direction,
) -> Result<Option<String>, StepError> {
    let departed = departed_tables(context, owner, direction).await?;
    let is_planned = |table: &&(&MovingTable, Departure)| !table.0.retired;
    let first = departed.iter().find(is_planned);
    Ok(first.map(|(table, departure)| describe(table, departure)))
}

/// Returns the partitions of the plan that have departed from the owner since they were published. A partition whose
/// rows are the parents of moving rows does not count: the rows that belong to it are found by their parents.
async fn departed_tables<'a>(
    context: &'a StepContext,
    owner: &Connected,
    direction: Direction,
) -> Result<Vec<(&'a MovingTable, Departure)>, StepError> {
    let planned = &context.planned_tables;
    let tops = partitions::topmost_tables(planned.iter());
    if tops.is_empty() {
        return Ok(Vec::new());
    }
    let attached = partitions::read(owner, &tops).await?;
    let is_missing = |table: &&MovingTable| {
        table.partition_of.is_some()
            && !is_attached(&attached, table)
            && !table.is_parent_among(planned)
    };
    let missing: Vec<&MovingTable> = planned.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let migration = &context.dispatch.migration;
    let found = published_tables::departures(owner, migration, direction, &missing).await?;
    let departed = found.into_iter().filter_map(|departure| {
        let table = *missing.get(departure.place)?;
        let is_done = table.retired && departure.is_retired;
        (!is_done).then_some((table, departure))
    });
    Ok(departed.collect())
}

fn is_attached(attached: &[TablePartition], table: &MovingTable) -> bool {
    attached.iter().any(|found| found.table == table.table)
}

fn describe(table: &MovingTable, departure: &Departure) -> String {
    let verb = match departure.detached {
        None => "dropped",
        Some(_) => "detached",
    };
    format!("{}: partition {} was {verb}", table.top(), table.table)
}

/// Partitions that the agent retires, in a step.
struct Retirement<'a> {
    context: &'a StepContext,
    way: AdoptionWay,
    sessions: &'a DefinitionSessions<'a>,
}

impl<'a> Retirement<'a> {
    /// Returns the sessions on the owner of the keys and on the other shard.
    fn sides(&self) -> (&'a Connected, &'a Connected) {
        match self.way.direction {
            Direction::Forward => (self.sessions.source, self.sessions.target),
            Direction::Reverse => (self.sessions.target, self.sessions.source),
        }
    }

    async fn find_departed(&self) -> Result<Vec<(&'a MovingTable, Departure)>, StepError> {
        departed_tables(self.context, self.sides().0, self.way.direction).await
    }

    /// Removes the departed partitions from the publication, and reports those that the plan has not retired yet.
    async fn retire(&self, departed: &[(&MovingTable, Departure)]) -> Result<(), StepError> {
        let (owner, _) = self.sides();
        let token = self.way.token(self.context);
        if self.context.has_flipped() {
            register::require_owner(owner, &token, self.way.direction).await?;
        }
        let tables: Vec<&MovingTable> = departed.iter().map(|(table, _)| *table).collect();
        let removed =
            publication::remove_departed(owner, &token, self.way.direction, &tables).await?;
        fail_point::hit("retirement.unpublished").await?;
        let removed = removed
            .into_iter()
            .filter_map(|departure| Some((departed.get(departure.place)?.0, departure)));
        let retired: Vec<(&MovingTable, Departure)> =
            removed.filter(|(table, _)| !table.retired).collect();
        match retired.is_empty() {
            true => Ok(()),
            false => self.report(&retired).await,
        }
    }

    /// Returns [`StepError::Reshaped`] with the other tables. If they have changed too, the next check reports it.
    async fn report(&self, retired: &[(&MovingTable, Departure)]) -> Result<(), StepError> {
        let dispatch = &self.context.dispatch;
        let is_retired =
            |table: &MovingTable| retired.iter().any(|(gone, _)| gone.table == table.table);
        let mut planned = self.context.planned_tables.to_vec();
        for table in &mut planned {
            table.retired |= is_retired(table);
        }
        let mut tables = dispatch.tables.clone();
        tables.retain(|table| !is_retired(table));
        let (owner, other) = self.sides();
        let mut fingerprint = dispatch.schema_fingerprint.clone();
        let on_owner = catalog::fingerprint(owner, &planned).await?;
        if on_owner == catalog::fingerprint_of_follower(other, &planned).await? {
            tables = ddl::reshaped_tables(&planned, [owner, other]).await?.0;
            fingerprint = on_owner;
        }
        let changes = retired.iter();
        Err(StepError::Reshaped {
            tables,
            fingerprint,
            changes: changes.map(|(table, how)| describe(table, how)).collect(),
            followed: Vec::new(),
            copy_again: false,
            retired: retired
                .iter()
                .map(|(table, _)| table.table.clone())
                .collect(),
        })
    }

    /// Deletes the moving rows of a retired partition on the other shard, and the records of its copy. The trigger of the
    /// guard on it, which is dropped last, shows that this is the partition of the migration.
    async fn remove_rows(&self, table: &MovingTable) -> Result<(), StepError> {
        let (owner, other) = self.sides();
        let shard = other.name();
        let migration = &self.context.dispatch.migration;
        let found = guard::tables_with_rows(other, migration, vec![table.clone()]).await?;
        if found.is_empty() {
            return Ok(());
        }
        let trigger = migration.trigger("truncate");
        let (_, other_shard) = self.context.owner_and_other(self.way.direction)?;
        let token = self.way.token(self.context);
        if self.context.has_flipped() {
            register::require_owner(owner, &token, self.way.direction).await?;
        }
        let closed = ClosedProof::Follower(self.way.direction);
        row_deletion(self.context, &other_shard, token.clone(), closed)
            .delete_rows_of(table)
            .await?;
        fail_point::hit("retirement.rows_deleted").await?;
        let sql = format!(
            "drop trigger if exists {} on {}; {}",
            quote_ident(&trigger),
            table.table.sql(),
            published_tables::forget_sql(&token.migration, &table.table),
        );
        let what = format!("shard {shard}: removing the guard of {}", table.table);
        guard::execute_with_short_locks(other, &token, &sql, &what).await
    }

    /// Drops a retired partition that the migration created on the target, after the copy. It stays if it has rows, or if
    /// another migration uses it; and while the indexes are built, because the stored statements can name it.
    async fn drop_created(&self, table: &MovingTable) -> Result<(), StepError> {
        let (context, target) = (self.context, self.sessions.target);
        let created: TargetCreated = context.output(StepKind::CreateTarget)?;
        let has_copy = created.created && context.is_done(StepKind::Copy);
        if !has_copy || context.has_flipped() || builds_indexes(context, target).await? {
            return Ok(());
        }
        let what = format!("shard {}: dropping {}", target.name(), table.table);
        let migration = &context.dispatch.migration;
        let is_created = created::has_created(target, migration, &table.table.sql()).await;
        if !is_created.at(&what)? {
            return Ok(());
        }
        let tops = [table.top()];
        let attached = partitions::read(target, &tops).await?;
        let parent = attached.iter().find(|found| found.table == table.table);
        let token = self.way.token(context);
        epoch::begin(target, &token).await?;
        let dropped = async {
            drop_unused(target, &token, table, parent).await?;
            drop_empty_parents(target, migration, table, parent).await
        };
        match dropped.await {
            Ok(()) => epoch::commit(target, &what).await,
            Err(error) => {
                epoch::rollback(target).await;
                // Rows that refer to it may still be there, until the stream has applied their deletion.
                tracing::info!(%error, "{what}: not yet");
                Ok(())
            }
        }
    }

    /// Refuses to change the owner of the keys while a shard has a retired partition.
    async fn refuse_attached(&self) -> Result<(), StepError> {
        let tops = partitions::topmost_tables(self.context.retired_tables());
        if tops.is_empty() {
            return Ok(());
        }
        for session in [self.sessions.source, self.sessions.target] {
            let attached = partitions::read(session, &tops).await?;
            let mut retired = self.context.retired_tables();
            if let Some(table) = retired.find(|table| is_attached(&attached, table)) {
                return Err(attached_error(session.name(), table));
            }
        }
        Ok(())
    }
}

/// Returns whether the build of the target's indexes has begun and not ended. It reads its statements when it begins.
async fn builds_indexes(context: &StepContext, target: &Connected) -> Result<bool, StepError> {
    if context.is_done(StepKind::BuildIndexes) {
        return Ok(false);
    }
    let row = target
        .query_one(
            "select exists (select from shardwright.schema_entry where migration = $1 and section = 'post' and done)",
            &[&context.dispatch.migration.0],
        )
        .await;
    let row = row.at(format_args!(
        "shard {}: reading which indexes are built",
        target.name()
    ))?;
    Ok(row.get(0))
}

/// Whether the locked table `$1` has rows, or a guard of any migration against TRUNCATE.
const IS_USED: &str = "
    select exists (select from pg_catalog.pg_trigger t
                   where t.tgrelid = pg_catalog.to_regclass($1) and not t.tgisinternal and (t.tgtype & 32) <> 0)
           or exists (select from only {table})";

/// Drops a table in the caller's transaction, detached from its parent, if the migration created it, it is empty, and no
/// migration guards it.
async fn drop_unused(
    target: &Connected,
    token: &EpochToken,
    table: &MovingTable,
    parent: Option<&TablePartition>,
) -> Result<(), StepError> {
    let (shard, name) = (target.name(), table.table.sql());
    let what = format!("shard {shard}: dropping {}", table.table);
    register::prove_not_owner(target, token, Direction::Forward).await?;
    let parent = parent.map(|found| found.parent.sql());
    let lock_parent = parent.as_ref().map_or_else(String::new, |parent| {
        format!("lock table only {parent} in access exclusive mode; ")
    });
    let lock = format!(
        "set local lock_timeout = '1s'; {lock_parent}lock table only {name} in access exclusive mode"
    );
    target.batch_execute(&lock).await.at(&what)?;
    // Under the lock: no other table can get the name any more.
    let is_created = created::has_created(target, &token.migration, &name).await;
    if !is_created.at(&what)? {
        return Err(StepError::not_yet(
            StepCode::SchemaChanged,
            format!("{what}: the migration did not create it"),
        ));
    }
    user_code::prove(target, std::slice::from_ref(table)).await?;
    let is_used = IS_USED.replace("{table}", &name);
    let row = target.query_one(&is_used, &[&name]).await.at(&what)?;
    if row.get(0) {
        return Err(StepError::not_yet(
            StepCode::SchemaChanged,
            format!("{what}: it has rows, or another migration uses it"),
        ));
    }
    let detach = parent.map_or_else(String::new, |parent| {
        format!("alter table {parent} detach partition {name}; ")
    });
    let sql = format!("{detach}drop table {name}");
    target.batch_execute(&sql).await.at(&what)
}

/// Drops the parent of a dropped partition, and its parents, if the migration created them and they have no partition any
/// more; not the topmost table.
async fn drop_empty_parents(
    target: &Connected,
    migration: &MigrationId,
    table: &MovingTable,
    parent: Option<&TablePartition>,
) -> Result<(), StepError> {
    let mut parent = parent.map(|found| found.parent.clone());
    while let Some(name) = parent.take().filter(|name| name != table.top()) {
        let sql = name.sql();
        let what = format!("shard {}: dropping {name}", target.name());
        let is_created = created::has_created(target, migration, &sql).await;
        let attached = partitions::read(target, &[table.top()]).await?;
        let has_partition = attached.iter().any(|found| found.parent == name);
        if has_partition || !is_created.at(&what)? {
            break;
        }
        let above = attached.iter().find(|found| found.table == name);
        parent = above.map(|found| found.parent.clone());
        target
            .batch_execute(&format!("drop table {sql}"))
            .await
            .at(&what)?;
    }
    Ok(())
}

fn attached_error(shard: &str, table: &MovingTable) -> StepError {
    StepError::Failed(Failure {
        code: StepCode::SchemaChanged.into(),
        message: format!(
            "shard {shard} has partition {} of {}, which was dropped or detached on the owner of the keys during the migration",
            table.table,
            table.top()
        ),
        hint: Some(format!(
            "drop or detach it on shard {shard}; the migration then continues, after a failure with `resume`"
        )),
        retry: RetryClass::Fixed,
    })
}
