//! Creates new partitions on the shard that does not own the keys, guarded and without moving rows.
//!
//! On a live shard the application uses the same tables for other keys, so the transaction gives way to it.

use plans::failure::StepCode;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use plans::table::TableName;

use super::{Adoption, RowTransfer};
use crate::controller::CleanupRecord;
use crate::error::{StepError, WithIntent};
use crate::postgres::pg_dump::{SchemaEntry, restore_all};
use crate::schema;
use crate::schema::partition_entries::{self, PartitionEntries};
use crate::shard::give_way::{NO_WAIT_LIMIT, Pauses, WAIT_LIMIT};
use crate::shard::partitions::{self, TablePartition};
use crate::shard::{created, epoch, guard};
use crate::steps::definitions::has_no_indexes_yet;

/// Time limit for a lock that the transaction does not take at its beginning. All locks that ATTACH PARTITION is known
/// to take are taken there.
const LATER_LOCK_LIMIT: &str = "100ms";

/// What the other shard gets.
struct MissingPartitions<'a> {
    entries: &'a PartitionEntries,
    /// True if the other shard is a target whose tables the migration has created.
    is_new_target: bool,
    /// The role of the agent's session there.
    role: &'a str,
}

impl Adoption<'_> {
    /// Creates the missing partitions on the other shard, and guards the adopted ones there against TRUNCATE. The guard's
    /// row triggers are on the topmost table, so PostgreSQL creates them with ATTACH PARTITION.
    pub(super) async fn create_on_other(
        &self,
        missing: &[&TablePartition],
    ) -> Result<(), StepError> {
        let (context, other) = (self.context, self.other);
        let what = format!("shard {}: creating new partitions and tables", other.name());
        let created: TargetCreated = context.output(StepKind::CreateTarget)?;
        let is_new_target = created.created && self.way.direction == Direction::Forward;
        let entries = match missing.is_empty() {
            true => PartitionEntries::default(),
            false => self.read_entries(missing).await?,
        };
        if is_new_target {
            self.record_cleanup(missing).await?;
        }
        let role = guard::session_user(other).await.at(&what)?;
        let build = MissingPartitions {
            entries: &entries,
            is_new_target,
            role: &role,
        };
        let mut pauses = Pauses::default();
        while let Err(error) = self.build_on_other(missing, &build).await {
            if !pauses.allow_retry(error.sqlstate()).await {
                return Err(error);
            }
        }
        match self.way.rows {
            RowTransfer::Copy => self.refuse_moving_rows().await,
            // Those that an interrupted adoption has left are removed with the copy.
            RowTransfer::Publishing => Ok(()),
        }
    }

    /// Creates the partitions in one transaction, which gives way to sessions of the application: it takes all locks on
    /// tables that exist before it does anything else.
    async fn build_on_other(
        &self,
        missing: &[&TablePartition],
        build: &MissingPartitions<'_>,
    ) -> Result<(), StepError> {
        let other = self.other;
        let what = format!("shard {}: creating new partitions and tables", other.name());
        let lock = self.lock_sql(missing).await?;
        epoch::begin(other, &self.token()).await?;
        let built = async {
            let setup = format!(
                "set local check_function_bodies = off; set local lock_timeout = '{LATER_LOCK_LIMIT}'; \
                 {WAIT_LIMIT}; {lock}; {NO_WAIT_LIMIT}"
            );
            other.batch_execute(&setup).await.at(&what)?;
            self.restore_and_guard(build).await
        };
        let built: Result<(), StepError> = built.await;
        if let Err(error) = built {
            epoch::rollback(other).await;
            return Err(error);
        }
        epoch::commit(other, &what).await
    }

    /// Returns the statement that takes the locks on tables which the other shard has already.
    async fn lock_sql(&self, missing: &[&TablePartition]) -> Result<String, StepError> {
        let is_missing = |table: &TableName| missing.iter().any(|found| &found.table == table);
        let mut parents: Vec<&TableName> = missing.iter().map(|found| &found.parent).collect();
        parents.retain(|parent| !is_missing(parent));
        parents.sort();
        parents.dedup();
        let leaves = self.adopted.iter().map(|table| &table.table);
        let leaves: Vec<&TableName> = leaves.filter(|leaf| !is_missing(leaf)).collect();
        partitions::lock_sql(self.other, &parents, &leaves).await
    }

    async fn restore_and_guard(&self, build: &MissingPartitions<'_>) -> Result<(), StepError> {
        let (context, other) = (self.context, self.other);
        let what = format!("shard {}: creating new partitions and tables", other.name());
        let migration = &context.dispatch.migration;
        let now: Vec<&SchemaEntry> = build.entries.now.iter().collect();
        if let Err((entry, error)) = restore_all(other, &now).await {
            return Err(error).at(format_args!("{what}: {}", entry.label));
        }
        // On a live target the application may use the partition for other keys: an abort must not drop it.
        if build.is_new_target {
            created::record(other, migration).await.at(&what)?;
            if self.way.rows == RowTransfer::Copy {
                self.store_entries(&build.entries.later).await?;
            }
        }
        for index in self.adopted_indexes() {
            let keys = &context.dispatch.keys;
            let sql = guard::triggers_sql(migration, keys, index, self.tables, build.role);
            other.batch_execute(&sql).await.at(&what)?;
        }
        context.record_tables(other, self.tables).await
    }

    /// Reads the statements that create the missing partitions.
    async fn read_entries(
        &self,
        missing: &[&TablePartition],
    ) -> Result<PartitionEntries, StepError> {
        let version = schema::read_major_version(self.other).await?;
        let (owner, _) = self.context.owner_and_other(self.way.direction)?;
        let read = schema::read(&owner, version).await?;
        let names: Vec<&TableName> = missing.iter().map(|found| &found.table).collect();
        let has_new_parent = |found: &&&TablePartition| names.contains(&&found.parent);
        let roots: Vec<&TableName> = missing
            .iter()
            .filter(|found| !has_new_parent(found))
            .map(|found| &found.table)
            .collect();
        let mut entries = partition_entries::select(self.owner, read, &names, &roots).await?;
        if has_no_indexes_yet(self.context)? {
            entries.put_off_foreign_keys();
        }
        Ok(entries)
    }

    async fn record_cleanup(&self, missing: &[&TablePartition]) -> Result<(), StepError> {
        let record = |found: &&TablePartition| CleanupRecord {
            shard: self.context.dispatch.target.name.to_string(),
            kind: "table".to_owned(),
            name: found.table.to_string(),
            policy: "on_failure".to_owned(),
        };
        let records: Vec<CleanupRecord> = missing.iter().map(record).collect();
        let controller = &self.context.controller;
        controller
            .record_cleanup(&self.context.dispatch, &records)
            .await?;
        Ok(())
    }

    /// Stores statements that later steps execute, after those that are stored already.
    async fn store_entries(&self, entries: &[SchemaEntry]) -> Result<(), StepError> {
        let target = self.other;
        for entry in entries {
            target
                .execute(
                    "insert into shardwright.schema_entry (migration, ordinal, section, parallel, label, statement)
                     select $1, coalesce(max(ordinal) + 1, 0), $2, $3, $4, $5
                     from shardwright.schema_entry where migration = $1",
                    &[
                        &self.context.dispatch.migration.0,
                        &entry.section.name(),
                        &entry.parallel,
                        &entry.label,
                        &entry.sql(),
                    ],
                )
                .await
                .at(format_args!("shard {}: storing {}", target.name(), entry.label))?;
        }
        Ok(())
    }

    /// Refuses an adopted partition in which the target already has moving rows. The guard covers the partition now, so
    /// no other session can add such a row afterwards.
    async fn refuse_moving_rows(&self) -> Result<(), StepError> {
        let (context, target) = (self.context, self.other);
        let shard = target.name();
        let prover = context.session.code_prover(&context.target()?).await?;
        for table in self.adopted {
            // One table in each transaction: the session never waits for a lock while it holds another.
            prover.begin(target, std::slice::from_ref(table)).await?;
            let (name, rows) = (table.table.sql(), context.predicate(table, ""));
            let sql = format!("select exists (select from only {name} where {rows})");
            let what = format!("shard {shard}: searching for rows of the moving keys in {name}");
            let found = target.query_one(&sql, &[]).await;
            epoch::rollback(target).await;
            if found.at(what)?.get(0) {
                return Err(StepError::refused(
                    StepCode::TargetStray,
                    format!(
                        "shard {shard}: the new table {} already has rows of the moving keys",
                        table.table
                    ),
                    "find out where these rows come from and delete them, then `resume`; or `abort` the migration",
                ));
            }
        }
        Ok(())
    }
}
