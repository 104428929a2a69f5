//! The load of the shards before and after a rebalance, counted by the demo itself.
//!
//! Rows and bytes are counted on the shards, writes by the owner of their key at the time of the acknowledgement.

use super::DemoRun;
use crate::error::DemoError;
use crate::options::MapOperation;
use crate::report::{LoadBalance, RunReport};
use crate::shop::{ShopError, TABLES};
use connect::Session;
use plans::id::ShardName;
use plans::request::Measure;
use plans::shard_map::ShardMap;
use std::collections::BTreeMap;

type Loads = BTreeMap<ShardName, u64>;

impl DemoRun<'_> {
    /// Returns the load before the operation, if it is a rebalance.
    pub(super) async fn balance_before(&self) -> Result<Option<LoadBalance>, DemoError> {
        let task = &self.scenario.task;
        if task.operation != MapOperation::Rebalance {
            return Ok(None);
        }
        Ok(Some(LoadBalance {
            by: task.by.clone(),
            threshold_percent: self.scenario.threshold_percent(),
            before: self.loads(&self.scenario.map).await?,
            after: Loads::new(),
        }))
    }

    /// Reads the load after all clients have stopped.
    pub(super) async fn balance_after(&self, report: &mut RunReport) -> Result<(), DemoError> {
        let Some(balance) = &mut report.balance else {
            return Ok(());
        };
        let first_map = &self.scenario.map;
        balance.after = self.loads(&self.api.map(&first_map.name).await?).await?;
        if balance.by == Measure::Writes {
            balance.before = self.loads(first_map).await?;
        }
        Ok(())
    }

    async fn loads(&self, map: &ShardMap) -> Result<Loads, DemoError> {
        match self.scenario.task.by {
            Measure::Writes => Ok(self.acknowledged_by_owner(map)),
            Measure::Rows | Measure::Query(_) => self.sum_over_tables("count(*)").await,
            Measure::Bytes => {
                self.sum_over_tables("coalesce(sum(pg_column_size(t.*)), 0)::bigint")
                    .await
            }
        }
    }

    /// Returns the number of acknowledged transactions for each owner in `map`.
    fn acknowledged_by_owner(&self, map: &ShardMap) -> Loads {
        let shards = self.scenario.shards.iter();
        let mut loads: Loads = shards.map(|shard| (ShardName::from(*shard), 0)).collect();
        for (key, count) in self.ledger.acknowledged_by_key() {
            let owner = map.locate(&key).map(|mapping| mapping.shard.clone());
            if let Some(load) = owner.and_then(|owner| loads.get_mut(&owner)) {
                *load += count;
            }
        }
        loads
    }

    /// Returns the sum of an SQL aggregate over all tables, for each shard.
    async fn sum_over_tables(&self, aggregate: &str) -> Result<Loads, DemoError> {
        let mut loads = Loads::new();
        for (shard, dsn) in self.fleet.admins()? {
            let session = connect::connect(&dsn, &Session::named("demo")).await;
            let session = session.map_err(ShopError::from)?;
            let load = loads.entry(shard).or_default();
            for table in TABLES {
                let sql = format!("select {aggregate} from public.{table} t");
                let row = session.query_one(&sql, &[]).await;
                let row = row.map_err(|source| ShopError::Statement {
                    action: "count the load of a shard",
                    source,
                })?;
                *load += row.get::<_, i64>(0).unsigned_abs();
            }
            session.close().await;
        }
        Ok(loads)
    }
}
