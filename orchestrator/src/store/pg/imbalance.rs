//! The history of the fleet's imbalance.

use super::PgStore;
use crate::store::{IMBALANCE_KEPT, ImbalanceSample, ImbalanceStore, StoreError, StoreFuture};
use chrono::{DateTime, Utc};
use sqlx::types::Json;
use std::collections::BTreeMap;

type StoredSample = (DateTime<Utc>, Json<BTreeMap<String, f64>>);

impl PgStore {
    async fn upsert_imbalance(&self, sample: &ImbalanceSample) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("delete from imbalance_sample where at < $1")
            .bind(sample.at - IMBALANCE_KEPT)
            .execute(&mut *transaction)
            .await?;
        sqlx::query(
            "insert into imbalance_sample as kept (at, factors) values ($1, $2) \
             on conflict (at) do update set factors = kept.factors || excluded.factors",
        )
        .bind(sample.at)
        .bind(Json(&sample.factors))
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    async fn select_imbalance(
        &self,
        since: DateTime<Utc>,
    ) -> Result<Vec<ImbalanceSample>, StoreError> {
        let rows: Vec<StoredSample> =
            sqlx::query_as("select at, factors from imbalance_sample where at >= $1 order by at")
                .bind(since)
                .fetch_all(&self.pool)
                .await?;
        let samples = rows.into_iter().map(|(at, factors)| ImbalanceSample {
            at,
            factors: factors.0,
        });
        Ok(samples.collect())
    }
}

impl ImbalanceStore for PgStore {
    fn add_imbalance<'a>(&'a self, sample: &'a ImbalanceSample) -> StoreFuture<'a, ()> {
        Box::pin(self.upsert_imbalance(sample))
    }

    fn imbalance(&self, since: DateTime<Utc>) -> StoreFuture<'_, Vec<ImbalanceSample>> {
        Box::pin(self.select_imbalance(since))
    }
}
