//! Agents, leases and cleanup records.

use super::PgStore;
use super::rows::CleanupRow;
use crate::store::{AgentRecord, CleanupRecord, StoreError};
use chrono::{DateTime, Utc};
use plans::id::{AgentName, InstanceId, MigrationId, StepId};

impl PgStore {
    pub(super) async fn upsert_agent(
        &self,
        agent: &AgentName,
        instance: &InstanceId,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.begin().await?;
        let before: Option<(String,)> =
            sqlx::query_as("select instance from agent where name = $1 for update")
                .bind(agent.as_str())
                .fetch_optional(&mut *transaction)
                .await?;
        sqlx::query(
            "insert into agent (name, instance, protocol, last_seen) values ($1, $2, $3, $4) \
             on conflict (name) do update set instance = excluded.instance, \
             protocol = excluded.protocol, last_seen = excluded.last_seen",
        )
        .bind(agent.as_str())
        .bind(instance.as_str())
        .bind(i32::try_from(plans::wire::PROTOCOL).unwrap_or(i32::MAX))
        .bind(at)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(before.is_none_or(|(known,)| known != instance.as_str()))
    }

    pub(super) async fn select_agents(&self) -> Result<Vec<AgentRecord>, StoreError> {
        let rows: Vec<(String, String, DateTime<Utc>)> =
            sqlx::query_as("select name, instance, last_seen from agent order by name")
                .fetch_all(&self.pool)
                .await?;
        let record = |(name, instance, last_seen)| AgentRecord {
            name: AgentName(name),
            instance: InstanceId(instance),
            last_seen,
        };
        Ok(rows.into_iter().map(record).collect())
    }

    pub(super) async fn update_lease(
        &self,
        id: &MigrationId,
        instance: &InstanceId,
        until: DateTime<Utc>,
        progress: Option<(&StepId, &serde_json::Value)>,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("set local synchronous_commit = off")
            .execute(&mut *transaction)
            .await?;
        let updated = sqlx::query(
            "update lease set until = greatest(until, $3) where migration = $1 and instance = $2",
        )
        .bind(id.as_str())
        .bind(instance.as_str())
        .bind(until)
        .execute(&mut *transaction)
        .await?;
        if updated.rows_affected() == 0 {
            return Ok(false);
        }
        if let Some((step, figures)) = progress {
            sqlx::query("update step set progress = $3 where migration = $1 and id = $2")
                .bind(id.as_str())
                .bind(step.as_str())
                .bind(figures)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    pub(super) async fn insert_cleanup(
        &self,
        id: &MigrationId,
        records: &[CleanupRecord],
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        for record in records {
            sqlx::query(
                "insert into cleanup_record (migration, shard, kind, name, policy) \
                 values ($1, $2, $3, $4, $5) on conflict (migration, shard, kind, name) \
                 do update set policy = excluded.policy, done_at = null",
            )
            .bind(id.as_str())
            .bind(record.shard.as_str())
            .bind(&record.kind)
            .bind(&record.name)
            .bind(&record.policy)
            .execute(&mut *transaction)
            .await?;
        }
        Ok(transaction.commit().await?)
    }

    pub(super) async fn update_cleanup(
        &self,
        id: &MigrationId,
        records: &[CleanupRecord],
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        for record in records {
            sqlx::query(
                "update cleanup_record set done_at = coalesce(done_at, $5) \
                 where migration = $1 and shard = $2 and kind = $3 and name = $4",
            )
            .bind(id.as_str())
            .bind(record.shard.as_str())
            .bind(&record.kind)
            .bind(&record.name)
            .bind(at)
            .execute(&mut *transaction)
            .await?;
        }
        Ok(transaction.commit().await?)
    }

    pub(super) async fn select_cleanup(
        &self,
        id: &MigrationId,
    ) -> Result<Vec<CleanupRecord>, StoreError> {
        let rows: Vec<CleanupRow> = sqlx::query_as(
            "select shard, kind, name, policy, done_at from cleanup_record \
             where migration = $1 order by created_at, shard, kind, name",
        )
        .bind(id.as_str())
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }
}
