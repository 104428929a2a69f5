//! Migrations, steps and the journal.

use super::PgStore;
use super::mappings::SpanEnds;
use super::maps::BEGIN_ONE_SNAPSHOT;
use super::rows::{STEPS, StoredEvent, StoredMigration, StoredStep};
use super::unfinished::WriteScope;
use crate::store::{
    CleanupRecord, Event, FigureReading, HoldEnd, Migration, MigrationChange, MigrationStore,
    NewEvent, NewOperation, OperationRecord, OwnerBeat, SealedMigration, Snapshot, Step,
    StoreError, StoreFuture, UnfinishedMigrations,
};
use chrono::{DateTime, Utc};
use plans::id::InstanceId;
use plans::id::MigrationId;
use sqlx::postgres::PgArguments;
use sqlx::types::Json;
use sqlx::{Arguments, PgConnection};

/// Selects migrations with their operation and their lease, in the form of [`StoredMigration`].
pub(super) const SELECT_MIGRATIONS: &str = "select m.id, m.operation, m.ordinal, o.queued, m.plan, m.state, \
    m.ownership, m.attempt, m.epoch, m.renew, m.agent, m.instance, m.approved, m.hold_end, m.waiting_for, m.since, m.cancel, \
    m.limits, m.failure, m.map_version_before, m.map_version_after, m.map_version_back, m.submitted_by, m.created_at, \
    m.started_at, m.finished_at, m.revision, m.approvals, m.hook, m.bound_token, m.bound_secret, m.bound_epoch, l.until \
    from migration m \
    join operation o on o.id = m.operation left join lease l on l.migration = m.id";

impl PgStore {
    /// Applies a change with a compare-and-set on the revision. If another migration prevents the start, fails with
    /// that migration.
    async fn commit_change(&self, change: &MigrationChange) -> Result<bool, StoreError> {
        let what = WriteScope::One(change.migration.id.clone());
        let mut transaction = self.begin_scoped(what).await?;
        match apply_change(&mut transaction, change).await {
            Ok(false) => Ok(false),
            Ok(true) => {
                transaction.commit().await?;
                Ok(true)
            }
            Err(ChangeRefusal::KeysMoving) => {
                drop(transaction);
                Err(self.keys_moving_error(change).await?)
            }
            Err(ChangeRefusal::Other(error)) => Err(error),
        }
    }

    /// Returns the error that names the migration that moves the keys, or [`StoreError::Busy`] if it has just ended.
    async fn keys_moving_error(&self, change: &MigrationChange) -> Result<StoreError, StoreError> {
        let m = &change.migration;
        let ends = SpanEnds::of(&m.plan.moving.keys);
        let row: Option<(String,)> = sqlx::query_as(
            "select id from migration where map = $1 and id <> $2 and started_at is not null \
             and finished_at is null and spans && spans($3::bytea[], $4::bytea[]) limit 1",
        )
        .bind(m.plan.map.as_str())
        .bind(m.id.as_str())
        .bind(ends.lower)
        .bind(ends.upper)
        .fetch_optional(&self.pool)
        .await?;
        Ok(
            row.map_or(StoreError::Busy, |(id,)| StoreError::KeysMoving {
                migration: MigrationId(id),
            }),
        )
    }

    async fn select_snapshot(&self, id: &MigrationId) -> Result<Option<Snapshot>, StoreError> {
        let mut transaction = self.pool.begin_with(BEGIN_ONE_SNAPSHOT).await?;
        load_snapshot(&mut transaction, id).await
    }

    async fn select_list(
        &self,
        limit: i64,
        after: Option<&MigrationId>,
    ) -> Result<Vec<Migration>, StoreError> {
        let rows: Vec<StoredMigration> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT_MIGRATIONS} where $2::text is null or exists (select from migration a where a.id = $2 \
             and (m.created_at < a.created_at or m.created_at = a.created_at \
             and (m.operation, m.ordinal) > (a.operation, a.ordinal))) \
             order by m.created_at desc, m.operation, m.ordinal limit $1"
        )))
        .bind(limit)
        .bind(after.map(MigrationId::as_str))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(StoredMigration::into_record).collect()
    }

    async fn select_events(
        &self,
        id: &MigrationId,
        after: i64,
        limit: i64,
    ) -> Result<Vec<Event>, StoreError> {
        let rows: Vec<StoredEvent> = sqlx::query_as(
            "select seq, at, actor, kind, step, data from event \
             where migration = $1 and seq > $2 order by seq limit $3",
        )
        .bind(id.as_str())
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(Event::from).collect())
    }
}

impl MigrationStore for PgStore {
    fn submit<'a>(&'a self, new: &'a NewOperation) -> StoreFuture<'a, Vec<Snapshot>> {
        Box::pin(self.insert_operation(new))
    }

    fn operation<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<OperationRecord>> {
        Box::pin(self.select_operation(id))
    }

    fn operations<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<OperationRecord>> {
        Box::pin(self.select_operations(limit, after))
    }

    fn load<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<Snapshot>> {
        Box::pin(self.select_snapshot(id))
    }

    fn unfinished(&self) -> StoreFuture<'_, UnfinishedMigrations> {
        Box::pin(self.select_unfinished())
    }

    fn list<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<Migration>> {
        Box::pin(self.select_list(limit, after))
    }

    fn commit<'a>(&'a self, change: &'a MigrationChange) -> StoreFuture<'a, bool> {
        Box::pin(self.commit_change(change))
    }

    fn seal<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Box<dyn SealedMigration>> {
        Box::pin(self.seal_migration(id))
    }

    fn extend_leases<'a>(
        &'a self,
        instance: &'a InstanceId,
        until: DateTime<Utc>,
        beats: &'a [OwnerBeat],
    ) -> StoreFuture<'a, Vec<MigrationId>> {
        Box::pin(self.update_leases(instance, until, beats))
    }

    fn readings<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<FigureReading>> {
        Box::pin(self.select_readings(id))
    }

    fn events<'a>(
        &'a self,
        id: &'a MigrationId,
        after: i64,
        limit: i64,
    ) -> StoreFuture<'a, Vec<Event>> {
        Box::pin(self.select_events(id, after, limit))
    }

    fn add_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_cleanup(id, records))
    }

    fn finish_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.update_cleanup(id, records, at))
    }

    fn cleanup<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<CleanupRecord>> {
        Box::pin(self.select_cleanup(id))
    }
}

/// Reads one migration with its steps in the transaction of `session`.
pub(super) async fn load_snapshot(
    session: &mut PgConnection,
    id: &MigrationId,
) -> Result<Option<Snapshot>, StoreError> {
    let row: Option<StoredMigration> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "{SELECT_MIGRATIONS} where m.id = $1"
    )))
    .bind(id.as_str())
    .fetch_optional(&mut *session)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let steps: Vec<StoredStep> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "{STEPS} where migration = $1 order by ordinal"
    )))
    .bind(id.as_str())
    .fetch_all(&mut *session)
    .await?;
    row.into_snapshot(steps).map(Some)
}

/// Why a change was not applied.
pub(super) enum ChangeRefusal {
    /// The change starts a migration, and another migration moves some of its keys.
    KeysMoving,
    /// Any other error.
    Other(StoreError),
}

impl<E: Into<StoreError>> From<E> for ChangeRefusal {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Applies a change with a compare-and-set on the revision. Returns `false`, and changes nothing, if the revision
/// differs.
pub(super) async fn apply_change(
    session: &mut PgConnection,
    change: &MigrationChange,
) -> Result<bool, ChangeRefusal> {
    let m = &change.migration;
    let statement = format!(
        "with changed as (update migration set state = $8, ownership = $9, attempt = $10, epoch = $11, renew = $12, \
             agent = $13, instance = $14, approved = $15, hold_end = $16, waiting_for = $17, failure = $18, \
             map_version_before = $19, map_version_after = $20, map_version_back = $21, \
             started_at = $22, finished_at = $23, cancel = $24, plan = coalesce($25, plan), limits = $26, \
             since = $27, approvals = $28, hook = $29, bound_token = $30, bound_secret = $31, bound_epoch = $32, \
             revision = $7 + 1 where id = $1 and revision = $7 returning id), \
         told as ({INSERT_EVENTS} where exists (select from changed)) \
         select from changed"
    );
    let secret = m.owner.as_ref().and_then(|owner| owner.secret.as_ref());
    let changed = sqlx::query_with(
        sqlx::AssertSqlSafe(statement),
        event_parameters(&m.id, &change.events)?,
    )
    .bind(change.from_revision)
    .bind(m.state.name())
    .bind(m.ownership.name())
    .bind(m.attempt.0)
    .bind(m.epoch.0)
    .bind(m.needs_new_epoch)
    .bind(m.owner.as_ref().map(|owner| owner.agent.as_str()))
    .bind(m.owner.as_ref().map(|owner| owner.instance.as_str()))
    .bind(m.approved)
    .bind(m.hold_end.map(HoldEnd::name))
    .bind(m.waiting_for.as_deref())
    .bind(m.failure.as_ref().map(Json))
    .bind(m.map_version_before.0)
    .bind(m.map_version_after.map(|version| version.0))
    .bind(m.map_version_back.map(|version| version.0))
    .bind(m.started_at)
    .bind(m.finished_at)
    .bind(m.cancel.as_ref().map(Json))
    .bind(change.plan_changed.then_some(Json(&m.plan)))
    .bind(m.limits.as_ref().map(Json))
    .bind(m.since)
    .bind(Json(&m.approvals))
    .bind(m.hook.as_ref().map(Json))
    .bind(m.owner.as_ref().and_then(|owner| owner.token.as_deref()))
    .bind(secret.map(|digest| &digest.0[..]))
    .bind(m.owner.as_ref().map(|_| m.epoch.0))
    .fetch_optional(&mut *session)
    .await
    .map_err(change_refusal)?;
    if changed.is_none() {
        return Ok(false);
    }
    for step in &change.steps {
        upsert_step(session, &m.id, step).await?;
    }
    write_lease(session, change).await?;
    Ok(true)
}

fn change_refusal(error: sqlx::Error) -> ChangeRefusal {
    let constraint = error.as_database_error().and_then(|e| e.constraint());
    if constraint == Some("keys_move_once") {
        return ChangeRefusal::KeysMoving;
    }
    error.into()
}

async fn write_lease(
    session: &mut PgConnection,
    change: &MigrationChange,
) -> Result<(), StoreError> {
    let m = &change.migration;
    match (&m.owner, change.lease_until) {
        (Some(owner), Some(until)) => {
            sqlx::query(
                "insert into lease (migration, instance, until) values ($1, $2, $3) \
                 on conflict (migration) do update set instance = excluded.instance, until = excluded.until",
            )
            .bind(m.id.as_str())
            .bind(owner.instance.as_str())
            .bind(until)
            .execute(session)
            .await?;
        }
        (None, _) => {
            sqlx::query("delete from lease where migration = $1")
                .bind(m.id.as_str())
                .execute(session)
                .await?;
        }
        (Some(_), None) => {}
    }
    Ok(())
}

pub(super) async fn upsert_step(
    session: &mut PgConnection,
    id: &MigrationId,
    step: &Step,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into step (migration, id, kind, ordinal, state, attempt, epoch, next_at, started_at, \
         dispatched_at, finished_at, output, failure, progress) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) \
         on conflict (migration, id) do update set state = excluded.state, attempt = excluded.attempt, \
         epoch = excluded.epoch, next_at = excluded.next_at, started_at = excluded.started_at, \
         dispatched_at = excluded.dispatched_at, finished_at = excluded.finished_at, \
         output = excluded.output, failure = excluded.failure, progress = excluded.progress",
    )
    .bind(id.as_str())
    .bind(step.id.as_str())
    .bind(step.kind.name())
    .bind(step.ordinal)
    .bind(step.state.name())
    .bind(i32::try_from(step.attempt).unwrap_or(i32::MAX))
    .bind(step.epoch.0)
    .bind(step.next_at)
    .bind(step.started_at)
    .bind(step.dispatched_at)
    .bind(step.finished_at)
    .bind(&step.output)
    .bind(step.failure.as_ref().map(Json))
    .bind(&step.progress)
    .execute(session)
    .await?;
    Ok(())
}

/// Inserts journal lines from the parameters of [`event_parameters`]. The numbers have no gaps and no duplicates: a
/// concurrent transaction that also wrote lines has changed the migration's revision, and then this transaction writes
/// nothing.
const INSERT_EVENTS: &str = "insert into event (migration, seq, at, actor, kind, step, data) \
    select $1, (select coalesce(max(seq), 0) from event where migration = $1) + n, at, actor, kind, step, data \
    from unnest($2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::jsonb[]) \
         with ordinality as new (at, actor, kind, step, data, n)";

/// Returns the parameters of [`INSERT_EVENTS`].
fn event_parameters(id: &MigrationId, events: &[NewEvent]) -> Result<PgArguments, StoreError> {
    let (mut at, mut actors, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut steps, mut data) = (Vec::new(), Vec::new());
    for event in events {
        at.push(event.at);
        actors.push(event.actor.as_str());
        kinds.push(event.kind.as_str());
        steps.push(event.step.as_ref().map(|step| step.as_str()));
        data.push(Json(&event.data));
    }
    let mut arguments = PgArguments::default();
    let added = arguments
        .add(id.as_str())
        .and_then(|()| arguments.add(at))
        .and_then(|()| arguments.add(actors))
        .and_then(|()| arguments.add(kinds))
        .and_then(|()| arguments.add(steps))
        .and_then(|()| arguments.add(data));
    added.map_err(|source| StoreError::Unavailable { source })?;
    Ok(arguments)
}

pub(super) async fn insert_events(
    session: &mut PgConnection,
    id: &MigrationId,
    new: &[NewEvent],
) -> Result<(), StoreError> {
    sqlx::query_with(INSERT_EVENTS, event_parameters(id, new)?)
        .execute(session)
        .await?;
    Ok(())
}
