//! Creates new partitions on the target, guarded and without moving rows.
//!
//! On a live target the application uses the same tables for other keys, so the transaction gives way to it.

use plans::failure::StepCode;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use plans::table::TableName;

use super::Adoption;
use crate::controller::CleanupRecord;
use crate::error::{StepError, WithIntent};
use crate::postgres::pg_dump::{SchemaEntry, restore_all};
use crate::schema;
use crate::schema::partition_entries::{self, PartitionEntries};
use crate::shard::give_way::{NO_WAIT_LIMIT, Pauses, WAIT_LIMIT};
use crate::shard::partitions::{self, TablePartition};
use crate::shard::{created, epoch, guard};

/// Time limit for a lock that the transaction does not take at its beginning. All locks that ATTACH PARTITION is known
/// to take are taken there.
const LATER_LOCK_LIMIT: &str = "100ms";

/// What the target gets.
struct TargetPartitions<'a> {
    entries: &'a PartitionEntries,
    /// True if the migration has created the tables of the target.
    is_new_target: bool,
    /// The role of the agent's session there.
    role: &'a str,
}

impl Adoption<'_> {
    /// Creates the missing partitions on the target, and guards the adopted ones there against TRUNCATE. The guard's row
    /// triggers are on the topmost table, so PostgreSQL creates them with ATTACH PARTITION.
    pub(super) async fn create_on_target(
        &self,
        missing: &[&TablePartition],
    ) -> Result<(), StepError> {
        let (context, target) = (self.context, self.sessions.target);
        let what = format!("shard {}: creating new partitions", target.name());
        let created: TargetCreated = context.output(StepKind::CreateTarget)?;
        let entries = match missing.is_empty() {
            true => PartitionEntries::default(),
            false => self.read_entries(missing).await?,
        };
        if created.created {
            self.record_cleanup(missing).await?;
        }
        let role = guard::session_user(target).await.at(&what)?;
        let build = TargetPartitions {
            entries: &entries,
            is_new_target: created.created,
            role: &role,
        };
        let mut pauses = Pauses::default();
        while let Err(error) = self.build_on_target(missing, &build).await {
            if !pauses.allow_retry(error.sqlstate()).await {
                return Err(error);
            }
        }
        self.refuse_moving_rows().await
    }

    /// Creates the partitions in one transaction, which gives way to sessions of the application: it takes all locks on
    /// tables that exist before it does anything else.
    async fn build_on_target(
        &self,
        missing: &[&TablePartition],
        build: &TargetPartitions<'_>,
    ) -> Result<(), StepError> {
        let target = self.sessions.target;
        let what = format!("shard {}: creating new partitions", target.name());
        let lock = self.lock_sql(missing).await?;
        epoch::begin(target, &self.context.token()).await?;
        let built = async {
            let setup = format!(
                "set local check_function_bodies = off; set local lock_timeout = '{LATER_LOCK_LIMIT}'; \
                 {WAIT_LIMIT}; {lock}; {NO_WAIT_LIMIT}"
            );
            target.batch_execute(&setup).await.at(&what)?;
            self.restore_and_guard(build).await
        };
        let built: Result<(), StepError> = built.await;
        if let Err(error) = built {
            epoch::rollback(target).await;
            return Err(error);
        }
        epoch::commit(target, &what).await
    }

    /// Returns the statement that takes the locks on tables which the target has already.
    async fn lock_sql(&self, missing: &[&TablePartition]) -> Result<String, StepError> {
        let is_missing = |table: &TableName| missing.iter().any(|found| &found.table == table);
        let mut parents: Vec<&TableName> = missing.iter().map(|found| &found.parent).collect();
        parents.retain(|parent| !is_missing(parent));
        parents.sort();
        parents.dedup();
        let leaves = self.adopted.iter().map(|table| &table.table);
        let leaves: Vec<&TableName> = leaves.filter(|leaf| !is_missing(leaf)).collect();
        partitions::lock_sql(self.sessions.target, &parents, &leaves).await
    }

    async fn restore_and_guard(&self, build: &TargetPartitions<'_>) -> Result<(), StepError> {
        let (context, target) = (self.context, self.sessions.target);
        let what = format!("shard {}: creating new partitions", target.name());
        let migration = &context.dispatch.migration;
        let now: Vec<&SchemaEntry> = build.entries.now.iter().collect();
        if let Err((entry, error)) = restore_all(target, &now).await {
            return Err(error).at(format_args!("{what}: {}", entry.label));
        }
        // On a live target the application may use the partition for other keys: an abort must not drop it.
        if build.is_new_target {
            created::record(target, migration).await.at(&what)?;
            self.store_entries(&build.entries.later).await?;
        }
        for index in self.adopted_indexes() {
            let keys = &context.dispatch.keys;
            let sql = guard::triggers_sql(migration, keys, index, self.tables, build.role);
            target.batch_execute(&sql).await.at(&what)?;
        }
        context.record_tables(target, self.tables).await
    }

    /// Reads the statements that create the missing partitions.
    async fn read_entries(
        &self,
        missing: &[&TablePartition],
    ) -> Result<PartitionEntries, StepError> {
        let version = schema::read_major_version(self.sessions.target).await?;
        let read = schema::read(&self.context.source()?, version).await?;
        let names: Vec<&TableName> = missing.iter().map(|found| &found.table).collect();
        let has_new_parent = |found: &&&TablePartition| names.contains(&&found.parent);
        let roots: Vec<&TableName> = missing
            .iter()
            .filter(|found| !has_new_parent(found))
            .map(|found| &found.table)
            .collect();
        partition_entries::select(self.sessions.source, read, &names, &roots).await
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
        let target = self.sessions.target;
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
        let (context, target) = (self.context, self.sessions.target);
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
                        "shard {shard}: the new partition {} already has rows of the moving keys",
                        table.table
                    ),
                    "find out where these rows come from and delete them, then `resume`; or `abort` the migration",
                ));
            }
        }
        Ok(())
    }
}
