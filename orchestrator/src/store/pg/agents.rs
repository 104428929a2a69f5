//! Agents, leases and cleanup records.

use super::PgStore;
use super::open::Touches;
use super::rows::CleanupRow;
use crate::store::{AgentRecord, Beat, CleanupRecord, Reading, StoreError};
use chrono::{DateTime, Utc};
use plans::id::{AgentName, InstanceId, MigrationId};
use sqlx::PgConnection;
use std::collections::BTreeSet;

impl PgStore {
    pub(super) async fn upsert_agent(
        &self,
        agent: &AgentName,
        instance: &InstanceId,
        protocol: Option<u32>,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.begin_sign().await?;
        let (before,): (Option<String>,) = sqlx::query_as(
            "insert into agent (name, instance, protocol, last_seen) values ($1, $2, coalesce($3, $5), $4) \
             on conflict (name) do update set instance = excluded.instance, \
             protocol = coalesce($3, agent.protocol), last_seen = excluded.last_seen \
             returning (select instance from agent where name = $1)",
        )
        .bind(agent.as_str())
        .bind(instance.as_str())
        .bind(protocol.map(whole))
        .bind(at)
        .bind(whole(plans::wire::PROTOCOL))
        .fetch_one(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(before.is_none_or(|known| known != instance.as_str()))
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

    /// Rows that are locked are left out: a commit locks the step before the lease, so waiting could be for ever.
    pub(super) async fn update_leases(
        &self,
        instance: &InstanceId,
        until: DateTime<Utc>,
        beats: &[Beat],
    ) -> Result<Vec<MigrationId>, StoreError> {
        // Also without any: the answer to a heartbeat rests on the proof.
        let mut transaction = self.begin_sign().await?;
        if beats.is_empty() {
            transaction.rollback().await?;
            return Ok(Vec::new());
        }
        let ids: Vec<&str> = beats.iter().map(|beat| beat.migration.as_str()).collect();
        let extended: Vec<(String,)> = sqlx::query_as(
            "update lease l set until = greatest(l.until, $3) from (select migration from lease \
                 where migration = any($1) and instance = $2 for update skip locked) own \
             where l.migration = own.migration returning l.migration",
        )
        .bind(ids)
        .bind(instance.as_str())
        .bind(until)
        .fetch_all(&mut *transaction)
        .await?;
        let extended: BTreeSet<String> = extended.into_iter().map(|(id,)| id).collect();
        let kept = beats
            .iter()
            .filter(|beat| extended.contains(beat.migration.as_str()));
        keep_figures(&mut transaction, kept.clone()).await?;
        keep_readings(&mut transaction, kept).await?;
        transaction.commit().await?;
        self.open.extended(extended.iter(), until);
        Ok(extended.into_iter().map(MigrationId).collect())
    }

    pub(super) async fn select_readings(
        &self,
        id: &MigrationId,
    ) -> Result<Vec<Reading>, StoreError> {
        let rows: Vec<(sqlx::types::Json<Reading>,)> =
            sqlx::query_as("select figures from reading where migration = $1 order by at")
                .bind(id.as_str())
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().map(|(reading,)| reading.0).collect())
    }

    pub(super) async fn insert_cleanup(
        &self,
        id: &MigrationId,
        records: &[CleanupRecord],
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin_touching(Touches::None).await?;
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
        let mut transaction = self.begin_touching(Touches::None).await?;
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

async fn keep_readings(
    session: &mut PgConnection,
    beats: impl Iterator<Item = &Beat>,
) -> Result<(), StoreError> {
    let (mut ids, mut times, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    for beat in beats {
        if let Some(reading) = &beat.reading {
            ids.push(beat.migration.as_str());
            times.push(reading.at);
            figures.push(sqlx::types::Json(reading));
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "insert into reading (migration, at, figures) \
         select * from unnest($1::text[], $2::timestamptz[], $3::jsonb[]) on conflict do nothing",
    )
    .bind(ids)
    .bind(times)
    .bind(figures)
    .execute(session)
    .await?;
    Ok(())
}

async fn keep_figures(
    session: &mut PgConnection,
    beats: impl Iterator<Item = &Beat>,
) -> Result<(), StoreError> {
    let (mut ids, mut steps, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    for beat in beats {
        if let Some((step, kept)) = &beat.figures {
            ids.push(beat.migration.as_str());
            steps.push(step.as_str());
            figures.push(kept);
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "update step s set progress = f.figures from (select s.migration, s.id, n.figures from step s \
             join unnest($1::text[], $2::text[], $3::jsonb[]) as n (migration, id, figures) \
                 on n.migration = s.migration and n.id = s.id for update of s skip locked) f \
         where s.migration = f.migration and s.id = f.id",
    )
    .bind(ids)
    .bind(steps)
    .bind(figures)
    .execute(session)
    .await?;
    Ok(())
}

fn whole(protocol: u32) -> i32 {
    i32::try_from(protocol).unwrap_or(i32::MAX)
}
