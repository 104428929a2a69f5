//! Agents, leases and cleanup records.

use super::PgStore;
use super::rows::{StoredCleanup, missing_error};
use super::unfinished::WriteScope;
use crate::store::{
    AgentProcess, AgentRecord, AgentStore, CleanupRecord, FigureReading, OwnerBeat, Registered,
    StoreError, StoreFuture,
};
use chrono::{DateTime, Utc};
use plans::id::{AgentName, InstanceId, MigrationId};
use sqlx::PgConnection;
use std::collections::BTreeSet;

/// Selects [`StoredAgent`]s. The host is null unless the current process reported it.
const AGENTS: &str =
    "select name, instance, last_seen, case process when instance then host end from agent";

type StoredAgent = (String, String, DateTime<Utc>, Option<String>);

fn agent_record((name, instance, last_seen, host): StoredAgent) -> AgentRecord {
    AgentRecord {
        name: AgentName(name),
        instance: InstanceId(instance),
        last_seen,
        host,
    }
}

impl PgStore {
    async fn upsert_agent(
        &self,
        process: &AgentProcess,
        at: DateTime<Utc>,
        silent_since: Option<DateTime<Utc>>,
    ) -> Result<Registered, StoreError> {
        let mut transaction = self.begin_heartbeat().await?;
        let outlived = process.outlived.iter().map(|key| &key.0[..]);
        let known: Option<(Option<String>,)> = sqlx::query_as(
            "insert into agent (name, instance, protocol, last_seen, host, key, process) \
             values ($1, $2, coalesce($3, $5), $4, $6, $7, $2) \
             on conflict (name) do update set instance = excluded.instance, \
             protocol = coalesce($3, agent.protocol), last_seen = excluded.last_seen, key = excluded.key, \
             host = coalesce(excluded.host, case agent.process when excluded.process then agent.host end), \
             process = excluded.process \
             where case when agent.instance = excluded.instance \
                 then agent.key is null or agent.process is distinct from agent.instance or agent.key = excluded.key \
                 else agent.last_seen < $8 or (agent.process = agent.instance and agent.key = any($9)) end \
             returning (select instance from agent where name = $1)",
        )
        .bind(process.name.as_str())
        .bind(process.instance.as_str())
        .bind(process.protocol.map(protocol_number))
        .bind(at)
        .bind(protocol_number(plans::wire::NEWEST_PROTOCOL))
        .bind(process.host.as_deref())
        .bind(process.key.as_ref().map(|key| &key.0[..]))
        .bind(silent_since)
        .bind(outlived.collect::<Vec<_>>())
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((before,)) = known else {
            let row = sqlx::query_as(sqlx::AssertSqlSafe(format!("{AGENTS} where name = $1")))
                .bind(process.name.as_str())
                .fetch_one(&mut *transaction)
                .await?;
            return Ok(Registered::InUse(agent_record(row)));
        };
        transaction.commit().await?;
        Ok(match before {
            Some(known) if known == process.instance.as_str() => Registered::Known,
            _ => Registered::New,
        })
    }

    async fn delete_agent(
        &self,
        name: &AgentName,
        silent_since: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin_scoped(WriteScope::None).await?;
        // A request of the agent waits for this lock, and then records the agent again.
        let known: Option<(DateTime<Utc>,)> =
            sqlx::query_as("select last_seen from agent where name = $1 for update")
                .bind(name.as_str())
                .fetch_optional(&mut *transaction)
                .await?;
        let (last_seen,) = known.ok_or_else(|| missing_error("agent", name.as_str()))?;
        if last_seen >= silent_since {
            let agent = name.clone();
            return Err(StoreError::AgentAlive { agent, last_seen });
        }
        let assigned: Option<(String,)> = sqlx::query_as(
            "select id from migration where finished_at is null and agent = $1 \
             order by created_at, id limit 1",
        )
        .bind(name.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
        if let Some((migration,)) = assigned {
            return Err(StoreError::AgentAssigned {
                agent: name.clone(),
                migration: MigrationId(migration),
            });
        }
        sqlx::query("delete from agent where name = $1")
            .bind(name.as_str())
            .execute(&mut *transaction)
            .await?;
        Ok(transaction.commit().await?)
    }

    async fn select_agents(&self) -> Result<Vec<AgentRecord>, StoreError> {
        let rows: Vec<StoredAgent> =
            sqlx::query_as(sqlx::AssertSqlSafe(format!("{AGENTS} order by name")))
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().map(agent_record).collect())
    }

    /// Extends leases. It skips locked rows: `commit` locks the step before the lease, so waiting could cause a
    /// deadlock.
    pub(super) async fn update_leases(
        &self,
        instance: &InstanceId,
        until: DateTime<Utc>,
        beats: &[OwnerBeat],
    ) -> Result<Vec<MigrationId>, StoreError> {
        // The term is proved even without heartbeats: the response to the agent relies on this proof.
        let mut transaction = self.begin_heartbeat().await?;
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
        let stored_beats = beats
            .iter()
            .filter(|beat| extended.contains(beat.migration.as_str()));
        update_figures(&mut transaction, stored_beats.clone()).await?;
        insert_readings(&mut transaction, stored_beats).await?;
        transaction.commit().await?;
        self.migration_cache.extended(extended.iter(), until);
        Ok(extended.into_iter().map(MigrationId).collect())
    }

    pub(super) async fn select_readings(
        &self,
        id: &MigrationId,
    ) -> Result<Vec<FigureReading>, StoreError> {
        let rows: Vec<(sqlx::types::Json<FigureReading>,)> =
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
        let mut transaction = self.begin_scoped(WriteScope::None).await?;
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
        let mut transaction = self.begin_scoped(WriteScope::None).await?;
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
        let rows: Vec<StoredCleanup> = sqlx::query_as(
            "select shard, kind, name, policy, done_at from cleanup_record \
             where migration = $1 order by created_at, shard, kind, name",
        )
        .bind(id.as_str())
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }
}

impl AgentStore for PgStore {
    fn note_agent<'a>(
        &'a self,
        process: &'a AgentProcess,
        at: DateTime<Utc>,
        silent_since: Option<DateTime<Utc>>,
    ) -> StoreFuture<'a, Registered> {
        Box::pin(self.upsert_agent(process, at, silent_since))
    }

    fn agents(&self) -> StoreFuture<'_, Vec<AgentRecord>> {
        Box::pin(self.select_agents())
    }

    fn remove_agent<'a>(
        &'a self,
        name: &'a AgentName,
        silent_since: DateTime<Utc>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.delete_agent(name, silent_since))
    }
}

async fn insert_readings(
    session: &mut PgConnection,
    beats: impl Iterator<Item = &OwnerBeat>,
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

async fn update_figures(
    session: &mut PgConnection,
    beats: impl Iterator<Item = &OwnerBeat>,
) -> Result<(), StoreError> {
    let (mut ids, mut steps, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    for beat in beats {
        if let Some((step, values)) = &beat.figures {
            ids.push(beat.migration.as_str());
            steps.push(step.as_str());
            figures.push(values);
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

fn protocol_number(protocol: u32) -> i32 {
    i32::try_from(protocol).unwrap_or(i32::MAX)
}
