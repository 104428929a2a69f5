//! The load of schemas and groups of tables: rows and bytes from the catalog, writes from the statistics of the server.
//!
//! Nothing is sampled and no publication is created, because each table belongs to one key as a whole.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use connect::Connected;
use plans::inspection::LoadTask;
use plans::shard_map::MapSettings;
use plans::table::{MovingTable, TableKey, TableName};

use super::tally::{KeyCost, LoadTally};
use crate::error::{StepError, WithIntent};
use crate::inspect::keys::{self, TablesOfMap};
use crate::postgres::catalog::{self, TableFacts};

/// The tables of a map whose keys are schemas or groups, by the keys that the shard owns.
pub(super) struct WholeTables {
    existing: BTreeMap<TableName, TableFacts>,
    keyed: BTreeMap<TableName, TableKey>,
}

impl WholeTables {
    pub(super) async fn read(
        client: &Connected,
        task: &LoadTask,
        settings: &MapSettings,
    ) -> Result<Self, StepError> {
        let existing = catalog::tables(client).await?;
        let tables_of_map = TablesOfMap {
            settings,
            types: &task.key,
            existing: &existing,
            keys: &task.owned,
        };
        let (keyed, _) = keys::resolve(tables_of_map, &[]);
        Ok(Self {
            keyed: keyed.into_iter().collect(),
            existing,
        })
    }

    /// Returns the listed tables without their columns.
    pub(super) fn bare(&self) -> Vec<MovingTable> {
        let existing = self
            .keyed
            .iter()
            .filter(|(name, _)| self.existing.contains_key(*name));
        existing
            .map(|(name, key)| MovingTable::bare(name.clone(), key.clone()))
            .collect()
    }

    /// Adds the rows and bytes of each table, as the catalog estimates them.
    pub(super) fn count_rows(&self, tally: &mut LoadTally) {
        for facts in self.existing.values() {
            self.add(&facts.table, tally, || KeyCost {
                rows: facts.rows as f64,
                bytes: facts.bytes as f64,
                ..KeyCost::default()
            });
        }
    }

    /// Adds what `cost` returns to the key of the table. A partition belongs to its partitioned table.
    fn add(&self, table: &TableName, tally: &mut LoadTally, cost: impl FnOnce() -> KeyCost) {
        let Some(facts) = self.existing.get(table) else {
            return;
        };
        let top = facts.partition_of.as_ref().unwrap_or(table);
        let key = self.keyed.get(top).cloned();
        let whole = key.and_then(|key| MovingTable::bare(top.clone(), key).whole_key());
        if let Some(key) = whole {
            tally.add(key, &cost());
        }
    }

    /// Adds the writes that the server counts during the time in the task. Returns the duration in milliseconds.
    pub(super) async fn count_writes(
        &self,
        client: &Connected,
        task: &LoadTask,
        tally: &mut LoadTally,
    ) -> Result<u64, StepError> {
        let before = writes(client).await?;
        let started = Instant::now();
        tokio::time::sleep(Duration::from_secs(task.watch_seconds.into())).await;
        let after = writes(client).await?;
        for (table, count) in after {
            let earlier = before.get(&table).copied().unwrap_or_default();
            self.add(&table, tally, || KeyCost {
                writes: (count - earlier).max(0) as f64,
                ..KeyCost::default()
            });
        }
        Ok(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// Returns the number of rows that were written to each table since the statistics began.
async fn writes(client: &Connected) -> Result<BTreeMap<TableName, i64>, StepError> {
    let rows = client
        .query(
            "select schemaname::text, relname::text, n_tup_ins + n_tup_upd + n_tup_del
             from pg_catalog.pg_stat_user_tables",
            &[],
        )
        .await
        .at(format_args!(
            "shard {}: reading the statistics of tables",
            client.name()
        ))?;
    let counted = |row: &tokio_postgres::Row| {
        let (schema, name) = (row.get(0), row.get(1));
        (TableName { schema, name }, row.get(2))
    };
    Ok(rows.iter().map(counted).collect())
}
