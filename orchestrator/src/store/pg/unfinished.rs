//! The migrations that have not ended, in a cache. Concurrent callers share one read, which reads only what has
//! changed.
//!
//! The controller reads all these migrations before each decision. The cache avoids a full read of a fleet with
//! thousands of migrations.
//!
//! - While this handle leads, no other process writes. Each transaction of this handle reports, when it has ended, to
//!   which migrations it wrote ([`WriteTransaction`]). Only these are read again.
//! - A process can lose the lead without being notified. Therefore the versions of all migrations are rechecked every
//!   second. Each change of a migration writes its row, so the row's revision and `xmin` show whether the cached value
//!   is current.
//! - The cache is valid only for one run of the server: a restored store may have other rows with the same numbers.

use super::PgStore;
use super::maps::BEGIN_ONE_SNAPSHOT;
use super::migrations::SELECT_MIGRATIONS;
use super::rows::{STEPS, StoredMigration, StoredStep};
use crate::store::{Snapshot, StoreError, Term, UnfinishedMigrations};
use chrono::{DateTime, Utc};
use plans::id::MigrationId;
use sqlx::{PgConnection, Postgres, Transaction};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long the cache is used without a recheck while this handle writes nothing.
const FRESH: Duration = Duration::from_secs(1);

/// The cached migrations, and what was written after they were read.
#[derive(Debug, Default)]
pub(super) struct MigrationCache {
    /// The number of calls so far. Each call gets the next number, to find out whether a read began after it.
    requests: AtomicU64,
    known: Mutex<CachedMigrations>,
    written: std::sync::Mutex<WrittenKeys>,
}

#[derive(Debug, Default)]
struct CachedMigrations {
    /// The number of calls that had begun before the last read. The result of that read is new enough for these calls.
    covers: u64,
    /// When all versions were last rechecked.
    at: Option<Instant>,
    /// The term under which the cache was filled, and the start time of the server at that time.
    under: Option<(Term, DateTime<Utc>)>,
    all: UnfinishedMigrations,
    versions: HashMap<String, RowVersion>,
}

/// What the transactions that have ended since the last read wrote to.
#[derive(Debug, Default)]
struct WrittenKeys {
    /// True if a transaction may have written to any migration.
    any: bool,
    ids: BTreeSet<MigrationId>,
    /// The new end of leases that were extended. It applies only to leases that still exist.
    leases: HashMap<MigrationId, DateTime<Utc>>,
}

/// The migrations to which a transaction may write.
#[derive(Debug)]
pub(super) enum WriteScope {
    /// Any migration.
    Any,
    /// Only this migration.
    One(MigrationId),
    /// No migration and no lease.
    None,
}

/// Reports when it is dropped what a transaction may have written to. It is dropped after the end of the transaction,
/// whatever the outcome.
#[derive(Debug)]
pub(super) struct WriteGuard {
    migration_cache: Arc<MigrationCache>,
    what: WriteScope,
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        let mut written = self.migration_cache.lock_written();
        match std::mem::replace(&mut self.what, WriteScope::None) {
            WriteScope::Any => written.any = true,
            WriteScope::One(id) => {
                written.ids.insert(id);
            }
            WriteScope::None => {}
        }
    }
}

/// A transaction that may write.
#[derive(Debug)]
pub(super) struct WriteTransaction {
    // Fields are dropped in this order: the guard must report after the transaction has ended.
    transaction: Transaction<'static, Postgres>,
    guard: WriteGuard,
}

impl WriteTransaction {
    pub(super) async fn commit(self) -> Result<(), sqlx::Error> {
        let Self { transaction, guard } = self;
        let committed = transaction.commit().await;
        drop(guard);
        committed
    }

    pub(super) async fn rollback(self) -> Result<(), sqlx::Error> {
        self.transaction.rollback().await
    }
}

impl Deref for WriteTransaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.transaction
    }
}

impl DerefMut for WriteTransaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }
}

impl MigrationCache {
    fn lock_written(&self) -> MutexGuard<'_, WrittenKeys> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that these leases now last until `until`.
    pub(super) fn extended<'a>(&self, ids: impl Iterator<Item = &'a String>, until: DateTime<Utc>) {
        let ids = ids.map(|id| (MigrationId(id.clone()), until));
        self.lock_written().leases.extend(ids);
    }
}

/// The revision of a migration, and the id of the transaction that wrote its row.
type RowVersion = (i64, String);

/// The columns that show whether the cached value of a migration is current.
#[derive(sqlx::FromRow)]
struct StoredMigrationHead {
    id: String,
    revision: i64,
    written: String,
    until: Option<DateTime<Utc>>,
    up_since: DateTime<Utc>,
}

impl StoredMigrationHead {
    fn version(&self) -> RowVersion {
        (self.revision, self.written.clone())
    }
}

impl PgStore {
    /// Combines a transaction with the scope of its writes.
    pub(super) fn write_transaction(
        &self,
        transaction: Transaction<'static, Postgres>,
        what: WriteScope,
    ) -> WriteTransaction {
        let guard = self.write_guard(what);
        WriteTransaction { transaction, guard }
    }

    fn write_guard(&self, what: WriteScope) -> WriteGuard {
        let migration_cache = Arc::clone(&self.migration_cache);
        WriteGuard {
            migration_cache,
            what,
        }
    }

    pub(super) async fn select_unfinished(&self) -> Result<UnfinishedMigrations, StoreError> {
        let Some(term) = self.own_term.term() else {
            return self.recheck(None, &mut CachedMigrations::default()).await;
        };
        let ticket = self.migration_cache.requests.fetch_add(1, Ordering::SeqCst) + 1;
        let mut known = self.migration_cache.known.lock().await;
        if known.covers < ticket {
            let covers = self.migration_cache.requests.load(Ordering::SeqCst);
            let written = std::mem::take(&mut *self.migration_cache.lock_written());
            // The recorded writes are removed here. If the read fails, this guard reports that any migration may have
            // changed.
            let mut unread = self.write_guard(WriteScope::Any);
            let is_fresh = known.at.is_some_and(|at| at.elapsed() < FRESH);
            let is_same_term = known.under.is_some_and(|(under, _)| under == term);
            if written.any || !is_fresh || !is_same_term {
                self.recheck(Some(term), &mut known).await?;
            } else {
                self.read_again(&written, &mut known).await?;
            }
            unread.what = WriteScope::None;
            known.covers = covers;
        }
        Ok(Arc::clone(&known.all))
    }

    /// Compares the version of every migration with the cache, and reads those that differ.
    async fn recheck(
        &self,
        term: Option<Term>,
        known: &mut CachedMigrations,
    ) -> Result<UnfinishedMigrations, StoreError> {
        let at = Instant::now();
        let began = self.pool.begin_with(BEGIN_ONE_SNAPSHOT);
        let mut transaction = began.await?;
        let heads = select_heads(&mut transaction, None).await?;
        let under = term.zip(heads.first().map(|head| head.up_since));
        if under.is_none() || under != known.under {
            known.versions.clear();
        }
        let is_new = |head: &&StoredMigrationHead| {
            let version = known.versions.get(&head.id);
            version.is_none_or(|version| *version != head.version())
        };
        let changed: Vec<&str> = heads.iter().filter(is_new).map(|h| h.id.as_str()).collect();
        let mut fresh = select_snapshots(&mut transaction, &changed).await?;
        let mut old: HashMap<MigrationId, Arc<Snapshot>> = known
            .all
            .iter()
            .map(|snapshot| (snapshot.migration.id.clone(), Arc::clone(snapshot)))
            .collect();
        let mut all = Vec::with_capacity(heads.len());
        let mut versions = HashMap::with_capacity(heads.len());
        for head in heads {
            let id = MigrationId(head.id.clone());
            let snapshot = fresh.remove(&id).map(Arc::new).or_else(|| old.remove(&id));
            let Some(mut snapshot) = snapshot else {
                continue;
            };
            if snapshot.lease_until != head.until {
                Arc::make_mut(&mut snapshot).lease_until = head.until;
            }
            versions.insert(head.id.clone(), head.version());
            all.push(snapshot);
        }
        known.at = Some(at);
        known.under = under;
        known.versions = versions;
        known.all = Arc::new(all);
        Ok(Arc::clone(&known.all))
    }

    /// Reads the migrations to which this handle wrote. Migrations that have ended are removed from the cache. A new
    /// migration is never among them, because its transaction has the scope [`WriteScope::Any`].
    async fn read_again(
        &self,
        written: &WrittenKeys,
        known: &mut CachedMigrations,
    ) -> Result<(), StoreError> {
        let mut fresh = BTreeMap::new();
        if !written.ids.is_empty() {
            let ids: Vec<&str> = written.ids.iter().map(MigrationId::as_str).collect();
            let mut transaction = self.pool.begin_with(BEGIN_ONE_SNAPSHOT).await?;
            fresh = select_snapshots(&mut transaction, &ids).await?;
            for id in &ids {
                known.versions.remove(*id);
            }
            let heads = select_heads(&mut transaction, Some(&ids)).await?;
            let versions = heads.iter().map(|head| (head.id.clone(), head.version()));
            known.versions.extend(versions);
        }
        let again = |snapshot: &Arc<Snapshot>| {
            let id = &snapshot.migration.id;
            let mut snapshot = if written.ids.contains(id) {
                let found = fresh.remove(id)?;
                Arc::new(Some(found).filter(|found| found.migration.finished_at.is_none())?)
            } else {
                Arc::clone(snapshot)
            };
            let until = written.leases.get(id).copied();
            let later = until.filter(|until| snapshot.lease_until.is_some_and(|at| at < *until));
            if later.is_some() {
                Arc::make_mut(&mut snapshot).lease_until = later;
            }
            Some(snapshot)
        };
        known.all = Arc::new(known.all.iter().filter_map(again).collect());
        Ok(())
    }
}

/// Returns the versions of the migrations `ids`, or of all that have not ended.
async fn select_heads(
    session: &mut PgConnection,
    only: Option<&[&str]>,
) -> Result<Vec<StoredMigrationHead>, StoreError> {
    let heads = sqlx::query_as(
        "select m.id, m.revision, m.xmin::text as written, l.until, pg_postmaster_start_time() as up_since \
         from migration m left join lease l on l.migration = m.id \
         where m.finished_at is null and ($1::text[] is null or m.id = any($1)) \
         order by m.created_at, m.operation, m.ordinal",
    )
    .bind(only)
    .fetch_all(session)
    .await?;
    Ok(heads)
}

/// Returns these migrations with their steps.
async fn select_snapshots(
    session: &mut PgConnection,
    ids: &[&str],
) -> Result<BTreeMap<MigrationId, Snapshot>, StoreError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows: Vec<StoredMigration> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "{SELECT_MIGRATIONS} where m.id = any($1)"
    )))
    .bind(ids)
    .fetch_all(&mut *session)
    .await?;
    let found: Vec<StoredStep> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "{STEPS} where migration = any($1) order by migration, ordinal"
    )))
    .bind(ids)
    .fetch_all(session)
    .await?;
    let mut steps: HashMap<String, Vec<StoredStep>> = HashMap::new();
    for step in found {
        steps.entry(step.migration.clone()).or_default().push(step);
    }
    let entry = |row: StoredMigration| {
        let own = steps.remove(&row.id).unwrap_or_default();
        let snapshot = row.into_snapshot(own)?;
        Ok((snapshot.migration.id.clone(), snapshot))
    };
    rows.into_iter().map(entry).collect()
}
