//! The lease of the leading controller, and the proof of its term.
//!
//! One session outside the pool renews the lease. As long as it exists, it holds the advisory lock *presence*. If the
//! leader's process ends, the lock is free and another controller takes over at once. If the process is only paused,
//! another controller takes over when the lease has expired by the server's clock.
//!
//! Every writing transaction holds the lock *proof* in shared mode. A take-over terminates the sessions that still hold
//! it, takes the lock in exclusive mode, and only then increases the term. Therefore no transaction of an older term
//! exists afterwards, not even that of a sealed cutover.

use super::PgStore;
use super::unfinished::{WriteScope, WriteTransaction};
use crate::store::{
    Leader, LeaderCandidate, LeaderStore, RemoteChange, StoreError, StoreFuture, Term,
};
use chrono::{DateTime, Utc};
use plans::id::InstanceId;
use sqlx::postgres::{PgConnection, PgListener};
use sqlx::{ConnectOptions, Connection, Postgres, Transaction};
use std::time::Duration;

/// The advisory locks of the control store have two keys: this class, and one of the numbers below. The SQL function
/// `prove_term` uses the same numbers. The class is arbitrary.
const CLASS: i32 = 1_397_248_331;
const PROOF: i32 = 1;
const PRESENCE: i32 = 2;
const SUCCESSION: i32 = 3;
/// The first statement of every transaction that writes.
const PROVE: &str = "select prove_term($1, $2)";
/// The same for a commit that need not be durable. It is one statement, because heartbeats cause hundreds of these
/// transactions per second.
const PROVE_FOR_HEARTBEAT: &str =
    "select prove_term($1, $2), set_config('synchronous_commit', 'off', true)";
/// The number of attempts to get the locks of a take-over.
const TRIES: u32 = 20;
/// The channels on which the schema's triggers notify other processes.
const CHANNELS: [&str; 3] = ["shardwright_leader", "shardwright_event", "shardwright_map"];

/// The session that renews the lease.
#[derive(Debug)]
pub(super) struct LeaseSession {
    session: PgConnection,
    /// True if the session holds the presence lock.
    holds_presence_lock: bool,
}

#[derive(sqlx::FromRow)]
struct StoredLease {
    term: i64,
    holder: Option<String>,
    url: Option<String>,
    until: DateTime<Utc>,
    live: bool,
}

impl StoredLease {
    fn into_leader(self) -> Option<Leader> {
        Some(Leader {
            term: Term(self.term),
            holder: InstanceId(self.holder?),
            url: self.url?,
            until: self.until,
            live: self.live,
        })
    }
}

const SELECT: &str = "select term, holder, url, case when term = 0 then now() else until end as until, \
    until > clock_timestamp() as live from leader";

impl PgStore {
    /// Begins a transaction that may write. It has proved the term, and the term cannot change before the transaction
    /// ends.
    pub(super) async fn begin(&self) -> Result<WriteTransaction, StoreError> {
        self.begin_scoped(WriteScope::Any).await
    }

    /// Does the same as [`PgStore::begin`] for a transaction that writes only to the migrations in `what`.
    pub(super) async fn begin_scoped(
        &self,
        what: WriteScope,
    ) -> Result<WriteTransaction, StoreError> {
        self.begin_with_proof(PROVE, what).await
    }

    /// Does the same as [`PgStore::begin`] for heartbeats. Such a transaction changes no migration. A crash of the
    /// server may lose its commit, because the next heartbeat repeats all of it.
    pub(super) async fn begin_heartbeat(&self) -> Result<WriteTransaction, StoreError> {
        self.begin_with_proof(PROVE_FOR_HEARTBEAT, WriteScope::None)
            .await
    }

    async fn begin_with_proof(
        &self,
        prove: &'static str,
        what: WriteScope,
    ) -> Result<WriteTransaction, StoreError> {
        let (term, holder) = self.require_lead()?;
        let mut transaction = self.pool.begin().await?;
        let proved = sqlx::query(prove)
            .bind(term.0)
            .bind(holder.as_str())
            .execute(&mut *transaction)
            .await;
        self.checked_proof(term, proved)?;
        Ok(self.write_transaction(transaction, what))
    }

    /// Returns the term under which this handle leads, and its process. Fails if the handle does not lead.
    pub(super) fn require_lead(&self) -> Result<(Term, InstanceId), StoreError> {
        self.own_term.get().ok_or(StoreError::NotLeading)
    }

    /// Returns `proved`, the result of a proof of `term`. If the term has ended, the handle forgets it and becomes a
    /// follower.
    pub(super) fn checked_proof<T>(
        &self,
        term: Term,
        proved: Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        let proved = proved.map_err(StoreError::from);
        if matches!(proved, Err(StoreError::NotLeading)) {
            self.own_term.forget(term);
        }
        proved
    }

    async fn select_leader(&self) -> Result<Option<Leader>, StoreError> {
        let row: StoredLease = sqlx::query_as(SELECT).fetch_one(&self.pool).await?;
        Ok(row.into_leader())
    }

    /// Renews the lease or takes over ([`LeaderStore::campaign`]). If the call fails or is cancelled, its
    /// session is closed, and with it the presence lock is released.
    async fn campaign_for_lead(&self, candidate: &LeaderCandidate) -> Result<Leader, StoreError> {
        let mut slot = self.lease_session.lock().await;
        if let Some(lease_session) = slot.take() {
            match self.campaign_on(lease_session, candidate).await {
                // A successor has terminated the session, or the server has restarted: continue with a new session.
                Err(StoreError::Unavailable { .. }) => {}
                Err(error) => return Err(error),
                Ok((lease_session, leader)) => {
                    *slot = lease_session;
                    return Ok(leader);
                }
            }
        }
        let lease_session = LeaseSession {
            session: self.pool.connect_options().connect().await?,
            holds_presence_lock: false,
        };
        let (lease_session, leader) = self.campaign_on(lease_session, candidate).await?;
        *slot = lease_session;
        Ok(leader)
    }

    /// Renews the lease or takes over on this session. Returns the session, unless it would hold the presence lock for
    /// a follower.
    async fn campaign_on(
        &self,
        mut lease_session: LeaseSession,
        candidate: &LeaderCandidate,
    ) -> Result<(Option<LeaseSession>, Leader), StoreError> {
        let leader = self
            .renew_or_take_over(&mut lease_session, candidate)
            .await?;
        let leads = leader.holder == candidate.holder;
        if leads && !lease_session.holds_presence_lock {
            lease_session.holds_presence_lock =
                try_presence_lock(&mut lease_session.session).await?;
        }
        let lease_session = (leads || !lease_session.holds_presence_lock).then_some(lease_session);
        Ok((lease_session, leader))
    }

    async fn renew_or_take_over(
        &self,
        lease_session: &mut LeaseSession,
        candidate: &LeaderCandidate,
    ) -> Result<Leader, StoreError> {
        if let Some((term, _)) = self.own_term.get() {
            if let Some(leader) = renew(&mut lease_session.session, term, candidate).await? {
                return Ok(leader);
            }
            self.own_term.forget(term);
        }
        let row: StoredLease = sqlx::query_as(SELECT)
            .fetch_one(&mut lease_session.session)
            .await?;
        let previous = Term(row.term);
        if let Some(leader) = row.into_leader() {
            // The row may name this process: the response to a take-over was lost, or the lease was not renewed in
            // time.
            let is_own = leader.holder == candidate.holder;
            if !is_own && leader.live && !lease_session.holds_presence_lock {
                lease_session.holds_presence_lock =
                    try_presence_lock(&mut lease_session.session).await?;
                if !lease_session.holds_presence_lock {
                    return Ok(leader);
                }
            }
        }
        if let Some(leader) = begin_term(lease_session, previous, candidate).await? {
            self.own_term.set(&leader);
            return Ok(leader);
        }
        let row: StoredLease = sqlx::query_as(SELECT)
            .fetch_one(&mut lease_session.session)
            .await?;
        row.into_leader().ok_or(StoreError::Busy)
    }

    async fn give_up_lead(&self) -> Result<(), StoreError> {
        let own = self.own_term.take();
        let lease_session = self.lease_session.lock().await.take();
        let Some((term, holder)) = own else {
            return Ok(());
        };
        let mut session = match lease_session {
            Some(lease_session) => lease_session.session,
            None => self.pool.connect_options().connect().await?,
        };
        sqlx::query(
            "with given as (update leader set until = clock_timestamp() where term = $1 and holder = $2 returning term) \
             select pg_notify('shardwright_leader', term::text) from given",
        )
        .bind(term.0)
        .bind(holder.as_str())
        .execute(&mut session)
        .await?;
        Ok(session.close().await?)
    }

    async fn wait_for_notification(&self) -> Result<RemoteChange, StoreError> {
        let mut slot = self.listener.lock().await;
        let mut listener = match slot.take() {
            Some(listener) => listener,
            None => {
                let mut listener = PgListener::connect_with(&self.pool).await?;
                listener.listen_all(CHANNELS).await?;
                listener
            }
        };
        // `None`: the connection was lost, and notifications may have been missed.
        let change = match listener.try_recv().await? {
            Some(notification) if notification.channel() != CHANNELS[0] => RemoteChange::Change,
            Some(_) | None => RemoteChange::Leader,
        };
        *slot = Some(listener);
        Ok(change)
    }
}

impl LeaderStore for PgStore {
    fn campaign<'a>(&'a self, candidate: &'a LeaderCandidate) -> StoreFuture<'a, Leader> {
        Box::pin(self.campaign_for_lead(candidate))
    }

    fn term(&self) -> Option<Term> {
        self.own_term.term()
    }

    fn step_down(&self) {
        self.own_term.take();
    }

    fn resign(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.give_up_lead())
    }

    fn leader(&self) -> StoreFuture<'_, Option<Leader>> {
        Box::pin(self.select_leader())
    }

    fn wait_for_remote_change(&self) -> StoreFuture<'_, RemoteChange> {
        Box::pin(self.wait_for_notification())
    }
}

async fn renew(
    session: &mut PgConnection,
    term: Term,
    candidate: &LeaderCandidate,
) -> Result<Option<Leader>, StoreError> {
    let row: Option<StoredLease> = sqlx::query_as(
        "update leader set until = clock_timestamp() + $3 * interval '1 millisecond', url = $4 \
         where term = $1 and holder = $2 returning term, holder, url, until, true as live",
    )
    .bind(term.0)
    .bind(candidate.holder.as_str())
    .bind(millis(candidate.lease))
    .bind(&candidate.url)
    .fetch_optional(session)
    .await?;
    Ok(row.and_then(StoredLease::into_leader))
}

async fn try_presence_lock(session: &mut PgConnection) -> Result<bool, StoreError> {
    let (is_locked,): (bool,) = sqlx::query_as("select pg_try_advisory_lock($1, $2)")
        .bind(CLASS)
        .bind(PRESENCE)
        .fetch_one(session)
        .await?;
    Ok(is_locked)
}

/// Begins the term after `previous`. Returns `None` if another process has begun it.
async fn begin_term(
    lease_session: &mut LeaseSession,
    previous: Term,
    candidate: &LeaderCandidate,
) -> Result<Option<Leader>, StoreError> {
    for _ in 0..TRIES {
        let mut transaction = lease_session.session.begin().await?;
        match take_over(
            &mut transaction,
            &mut lease_session.holds_presence_lock,
            previous,
            candidate,
        )
        .await
        {
            Ok(row) => {
                transaction.commit().await?;
                return Ok(row.and_then(StoredLease::into_leader));
            }
            Err(StoreError::Busy) => transaction.rollback().await?,
            Err(error) => return Err(error),
        }
        let row: StoredLease = sqlx::query_as(SELECT)
            .fetch_one(&mut lease_session.session)
            .await?;
        if row.term != previous.0 {
            return Ok(None);
        }
    }
    Err(StoreError::Busy)
}

/// Takes the locks of a take-over and increases the term in the store. Only one candidate at a time terminates the
/// sessions of the older term, so that candidates do not terminate each other's sessions. The session gets the lock
/// *present* before the term begins: other controllers would consider a leader without this lock dead.
async fn take_over(
    transaction: &mut Transaction<'_, Postgres>,
    holds_presence_lock: &mut bool,
    previous: Term,
    candidate: &LeaderCandidate,
) -> Result<Option<StoredLease>, StoreError> {
    // Without these limits, a candidate that is paused at this point would block all others.
    sqlx::raw_sql(
        "set local lock_timeout = '100ms'; set local idle_in_transaction_session_timeout = '2s'",
    )
    .execute(&mut **transaction)
    .await?;
    lock_advisory(
        transaction,
        "select pg_advisory_xact_lock($1, $2)",
        SUCCESSION,
    )
    .await?;
    terminate_older_sessions(transaction, previous).await?;
    if !*holds_presence_lock {
        lock_advisory(transaction, "select pg_advisory_lock($1, $2)", PRESENCE).await?;
        *holds_presence_lock = true;
    }
    lock_advisory(transaction, "select pg_advisory_xact_lock($1, $2)", PROOF).await?;
    let row = sqlx::query_as(
        "update leader set term = term + 1, holder = $2, url = $3, \
         until = clock_timestamp() + $4 * interval '1 millisecond' \
         where term = $1 returning term, holder, url, until, true as live",
    )
    .bind(previous.0)
    .bind(candidate.holder.as_str())
    .bind(&candidate.url)
    .bind(millis(candidate.lease))
    .fetch_optional(&mut **transaction)
    .await?;
    sqlx::query("select pg_notify('shardwright_leader', '')")
        .execute(&mut **transaction)
        .await?;
    Ok(row)
}

async fn lock_advisory(
    transaction: &mut Transaction<'_, Postgres>,
    sql: &'static str,
    number: i32,
) -> Result<(), StoreError> {
    let query = sqlx::query(sql).bind(CLASS).bind(number);
    query.execute(&mut **transaction).await?;
    Ok(())
}

/// Terminates the sessions that hold a proof of the term `previous`, and the session that renewed its lease.
async fn terminate_older_sessions(
    session: &mut PgConnection,
    previous: Term,
) -> Result<(), StoreError> {
    sqlx::query(
        "select pg_terminate_backend(l.pid) from pg_locks l join pg_database d on d.oid = l.database \
         where d.datname = current_database() and l.locktype = 'advisory' and l.granted \
         and l.classid = $1::integer::oid and l.objsubid = 2 and l.pid <> pg_backend_pid() \
         and (l.objid = $2::integer::oid and l.mode = 'ShareLock' or l.objid = $3::integer::oid) \
         and exists (select from leader where term = $4)",
    )
    .bind(CLASS)
    .bind(PROOF)
    .bind(PRESENCE)
    .bind(previous.0)
    .execute(session)
    .await?;
    Ok(())
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
