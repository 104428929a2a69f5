//! Migrations that have not ended: read once for all who ask at the same time, and of each only what changed.
//!
//! Everything that asks what to do next reads them all, so a fleet of thousands is not read anew each time. A change
//! of a migration writes its row, so the row's revision and transaction say whether it is the one that is known; the
//! lease lies apart and is always read. What is known is kept only where this handle leads, and only while the
//! server runs that it was read from: a restored store may have other rows under the same numbers.

use super::PgStore;
use super::maps::ONE_MOMENT;
use super::migrations::SELECT;
use super::rows::{MigrationRow, StepRow};
use crate::store::{Snapshot, StoreError, Term, Unfinished};
use chrono::{DateTime, Utc};
use plans::id::MigrationId;
use sqlx::PgConnection;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Mutex;

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// How many have asked.
    asked: AtomicU64,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// How many had asked when it was read.
    covers: u64,
    /// Under which term, and since when the server runs.
    under: Option<(Term, DateTime<Utc>)>,
    all: Unfinished,
    versions: HashMap<String, Version>,
}

/// A migration's revision and the transaction that wrote it.
type Version = (i64, String);

/// What says whether a migration is known.
#[derive(sqlx::FromRow)]
struct Head {
    id: String,
    revision: i64,
    written: String,
    until: Option<DateTime<Utc>>,
    up_since: DateTime<Utc>,
}

impl Head {
    fn version(&self) -> Version {
        (self.revision, self.written.clone())
    }
}

impl PgStore {
    pub(super) async fn select_unfinished(&self) -> Result<Unfinished, StoreError> {
        let Some(term) = self.own.term() else {
            return self.read(None, &mut Known::default()).await;
        };
        let ticket = self.open.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut known = self.open.known.lock().await;
        if known.covers < ticket {
            let covers = self.open.asked.load(Ordering::SeqCst);
            self.read(Some(term), &mut known).await?;
            known.covers = covers;
        }
        Ok(Arc::clone(&known.all))
    }

    /// Brings `known` up to date.
    async fn read(&self, term: Option<Term>, known: &mut Known) -> Result<Unfinished, StoreError> {
        let began = self.pool.begin_with(ONE_MOMENT);
        let mut transaction = began.await?;
        let heads = heads(&mut transaction).await?;
        let under = term.zip(heads.first().map(|head| head.up_since));
        if under.is_none() || under != known.under {
            known.versions.clear();
        }
        let is_new = |head: &&Head| {
            let version = known.versions.get(&head.id);
            version.is_none_or(|version| *version != head.version())
        };
        let changed: Vec<&str> = heads.iter().filter(is_new).map(|h| h.id.as_str()).collect();
        let mut fresh = snapshots(&mut transaction, &changed).await?;
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
        known.under = under;
        known.versions = versions;
        known.all = Arc::new(all);
        Ok(Arc::clone(&known.all))
    }
}

async fn heads(session: &mut PgConnection) -> Result<Vec<Head>, StoreError> {
    let heads = sqlx::query_as(
        "select m.id, m.revision, m.xmin::text as written, l.until, pg_postmaster_start_time() as up_since \
         from migration m left join lease l on l.migration = m.id \
         where m.finished_at is null order by m.created_at, m.operation, m.ordinal",
    )
    .fetch_all(session)
    .await?;
    Ok(heads)
}

/// These migrations with their steps.
async fn snapshots(
    session: &mut PgConnection,
    ids: &[&str],
) -> Result<BTreeMap<MigrationId, Snapshot>, StoreError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows: Vec<MigrationRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "{SELECT} where m.id = any($1)"
    )))
    .bind(ids)
    .fetch_all(&mut *session)
    .await?;
    let found: Vec<StepRow> =
        sqlx::query_as("select * from step where migration = any($1) order by migration, ordinal")
            .bind(ids)
            .fetch_all(session)
            .await?;
    let mut steps: HashMap<String, Vec<StepRow>> = HashMap::new();
    for step in found {
        steps.entry(step.migration.clone()).or_default().push(step);
    }
    let whole = |row: MigrationRow| {
        let own = steps.remove(&row.id).unwrap_or_default();
        let snapshot = row.snapshot(own)?;
        Ok((snapshot.migration.id.clone(), snapshot))
    };
    rows.into_iter().map(whole).collect()
}
