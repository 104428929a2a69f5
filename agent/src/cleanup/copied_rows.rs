//! Removes what a migration copied to a shard that does not own the keys: in `unwind`, in `drop_new`, in a second run
//! of `create_target`, and in a sweep (`shardwright cleanup`).
//!
//! Meanwhile the register of the shard is closed, and the migration's guard exists. Order:
//!
//! - If the tables that the migration created contain only its rows, one transaction drops them. Otherwise the agent
//!   deletes the rows that the migration copied.
//! - The guard of released keys refuses again the keys that the shard had released earlier.
//! - The guard of the migration is dropped.
//! - The records of the copy are deleted.

use connect::Connected;
use plans::inspection::inventory::About;
use plans::table::MovingTable;
use serde_json::Value;
use tokio_postgres::error::SqlState;

use crate::cleanup::delete_rows::RowDeletion;
use crate::error::{StepError, WithIntent};
use crate::postgres::catalog;
use crate::shard::conflicting_migrations::{SHARED_OBJECTS, about_of};
use crate::shard::created::{self, CreatedTable};
use crate::shard::released_keys::ReleasedKeys;
use crate::shard::{epoch, guard, register, sidecar_schema, user_code};

/// The rows that the copy of a migration wrote on one shard.
pub(crate) struct CopiedRows<'a> {
    pub(crate) session: &'a Connected,
    pub(crate) deletion: RowDeletion<'a>,
    /// The tables of the migration, including reference tables.
    pub(crate) tables: &'a [MovingTable],
}

impl CopiedRows<'_> {
    /// Removes the copy. After an interruption a second call continues.
    ///
    /// Returns the tables that the migration created and that remain, because they contain other rows or other objects
    /// need them.
    pub(crate) async fn remove(&self) -> Result<Vec<String>, StepError> {
        let (session, token, shard) = (self.session, &self.deletion.token, self.shard());
        let what = format!("shard {shard}: removing copied rows");
        let row = session
            .query_opt(
                "select loaded, about, drop_script is not null from shardwright.move where migration = $1",
                &[&token.migration.0],
            )
            .await
            .at(&what)?;
        let Some(row) = row else {
            return Ok(Vec::new());
        };
        let mut remaining = Vec::new();
        let (has_copied_rows, has_script): (bool, bool) = (row.get(0), row.get(2));
        let tables = self.with_reference_tables(row.get(1));
        // If the register is missing, an earlier run has already removed the tables or rows and the guard.
        if register::exists(session, &token.migration).await? {
            let is_recorded = created::is_recorded(session, &token.migration).await;
            let is_recorded = is_recorded.at(&what)?;
            let is_dropped = is_recorded && self.drop_tables(&tables).await?;
            if is_recorded && !is_dropped {
                let created = created::tables(session, &token.migration, &sql_names(&tables)).await;
                remaining.extend(created.at(&what)?.into_iter().map(|table| table.name));
            } else if has_script && !is_recorded {
                // An older version recorded a script that drops the tables; this version does not run it.
                remaining.extend(sql_names(&self.existing_keyed_tables().await?));
            }
            if has_copied_rows && !is_dropped {
                // Children come before parents.
                for table in self.existing_keyed_tables().await?.iter().rev() {
                    self.deletion.delete_rows_of(table).await?;
                }
            }
        }
        ReleasedKeys {
            token,
            map: self.deletion.map,
            keys: self.deletion.keys,
            tables: &self.existing_keyed_tables().await?,
            shard,
        }
        .restore(session)
        .await?;
        guard::drop_all_quickly(session, token).await?;
        fail_point::hit("create_target.guards_dropped").await?;
        sidecar_schema::delete_copy_records(session, token).await?;
        Ok(remaining)
    }

    fn shard(&self) -> &str {
        &self.deletion.shard.name
    }

    /// Returns the tables of the migration, with the reference tables that it recorded on this shard: after a rollback
    /// the dispatch no longer contains them.
    fn with_reference_tables(&self, about: Option<Value>) -> Vec<MovingTable> {
        let recorded = about_of(about)
            .map(|about| about.tables)
            .unwrap_or_default();
        let references = recorded.into_iter().filter(MovingTable::is_reference);
        self.tables.iter().cloned().chain(references).collect()
    }

    /// Returns the tables with moving rows that exist on the shard.
    async fn existing_keyed_tables(&self) -> Result<Vec<MovingTable>, StepError> {
        let names = self.tables.iter().map(|table| &table.table);
        let existing = catalog::existing(self.session, names).await?;
        let tables = self.tables.iter();
        let keyed = tables.filter(|table| !table.is_reference() && existing.contains(&table.table));
        let migration = &self.deletion.token.migration;
        guard::tables_with_rows(self.session, migration, keyed.cloned().collect()).await
    }

    /// Drops the tables that the migration created. Drops none and returns false if another migration uses the
    /// tables, if the migration did not create all of them, if a table contains rows that the migration did not copy, or
    /// if other objects depend on a table.
    async fn drop_tables(&self, tables: &[MovingTable]) -> Result<bool, StepError> {
        let session = self.session;
        let what = format!(
            "shard {}: dropping the tables that the migration created",
            self.shard()
        );
        self.deletion.begin_closed(session).await?;
        if let Err(error) = user_code::check(session, tables).await {
            epoch::rollback(session).await;
            return Err(error);
        }
        let is_complete = match self.try_drop(tables).await {
            // A table that remains can have copied rows, which the caller deletes: then the agent drops no table.
            Ok(true) => self
                .existing_keyed_tables()
                .await
                .map(|left| left.is_empty()),
            Ok(false) => Ok(false),
            // Another object depends on one of the tables.
            Err(error) if error.code() == Some(&SqlState::DEPENDENT_OBJECTS_STILL_EXIST) => {
                Ok(false)
            }
            Err(error) => Err(error).at(&what),
        };
        if let Ok(true) = is_complete {
            return epoch::commit(session, &what).await.map(|()| true);
        }
        epoch::rollback(session).await;
        is_complete
    }

    /// Locks all tables before it reads them and drops them, so that no row can arrive between the query and the drop.
    /// A migration that creates whole tables holds the lock on shared objects while it reads the source's schema, which takes
    /// seconds. No session of the application waits for this lock.
    async fn try_drop(&self, tables: &[MovingTable]) -> Result<bool, tokio_postgres::Error> {
        let (session, migration) = (self.session, &self.deletion.token.migration);
        session
            .batch_execute(&format!(
                "set local lock_timeout = '30s';
                 select pg_catalog.pg_advisory_xact_lock({SHARED_OBJECTS});
                 set local lock_timeout = '2s';
                 lock table shardwright.move in share row exclusive mode"
            ))
            .await?;
        let created = created::tables(session, migration, &sql_names(tables)).await?;
        if self.is_shared(tables).await? || self.has_other_rows(&created, tables).await? {
            return Ok(false);
        }
        let Some(drops) = created::drop_statements(session, migration).await? else {
            return Ok(false);
        };
        session.batch_execute(&drops.join(";\n")).await?;
        session
            .execute(
                "update shardwright.move set loaded = false where migration = $1",
                &[&migration.0],
            )
            .await?;
        Ok(true)
    }

    /// Returns whether another migration on this shard may use the created tables. A migration of other whole tables does
    /// not: it recorded what else it can use, and the drops fail if its objects depend on the others.
    async fn is_shared(&self, tables: &[MovingTable]) -> Result<bool, tokio_postgres::Error> {
        let read = "select about from shardwright.move where migration <> $1";
        let migration = &self.deletion.token.migration;
        let rows = self.session.query(read, &[&migration.0]).await?;
        let mut others = rows.iter().map(|row| about_of(row.get(0)));
        let is_other = |about: Option<About>| {
            about.is_some_and(|about| about.moves_other_whole_tables(tables))
        };
        Ok(!others.all(is_other))
    }

    /// Locks the tables. Returns whether one of them contains a row that the migration did not copy.
    async fn has_other_rows(
        &self,
        created: &[CreatedTable],
        tables: &[MovingTable],
    ) -> Result<bool, tokio_postgres::Error> {
        for CreatedTable { name, name_index } in created {
            // This locks the partitions too, which are dropped with their table.
            let lock = format!("lock table {name} in access exclusive mode");
            self.session.batch_execute(&lock).await?;
            let migration = &self.deletion.token.migration;
            let other_rows = match name_index.and_then(|index| tables.get(index)) {
                // The copy wrote all rows of a reference table.
                Some(table) if table.is_reference() => continue,
                Some(table) => {
                    let moved = table.copy_predicate(self.deletion.keys, "t", migration);
                    format!("({moved}) is not true or {}", catalog::in_none(self.tables))
                }
                None => "true".to_owned(),
            };
            let sql = format!("select exists (select from {name} t where {other_rows})");
            if self.session.query_one(&sql, &[]).await?.get(0) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the names of the tables in SQL.
fn sql_names(tables: &[MovingTable]) -> Vec<String> {
    tables.iter().map(|table| table.table.sql()).collect()
}
