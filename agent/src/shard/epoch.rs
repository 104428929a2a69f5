//! Proof of ownership on a shard (I7): every write of an agent first proves that its epoch is the current one there.
//!
//! Workers take the advisory lock in shared mode, and read the row with the epoch in a second statement. Register
//! writes and take-overs take the lock in exclusive mode. Its queue is fair, so workers cannot starve them.

mod transact;

pub(crate) use transact::{
    EpochProof, ProvenTransaction, answered_in_turn, transact, transact_and_open, transact_in_turn,
};

use std::fmt;
use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::{AttemptNo, Epoch, MapVersion, MigrationId};
use plans::names::{BYPASS_SETTING, SQLSTATE_SUPERSEDED};
use plans::sql::quote_literal;
use tokio_postgres::error::SqlState;
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

use super::identity::{self, TimelineRule};
use crate::error::{StepError, WithIntent};

/// Number of times that a take-over ends the sessions of older owners and requests the lock again.
const TAKE_OVER_TRIES: u32 = 60;

/// The message with which the server refuses an owner that a newer one has replaced.
const SUPERSEDED: &str = "a newer owner has taken the migration";

/// The data with which the agent that owns a migration proves its epoch on a shard. It is no secret.
#[derive(Debug, Clone)]
pub(crate) struct EpochToken {
    pub(crate) migration: MigrationId,
    pub(crate) epoch: Epoch,
    /// The last map version under which this work is allowed: a worker of the forward stream is refused once the shard
    /// was notified of the flip (C10).
    pub(crate) until: MapVersion,
}

/// Returns the key of the advisory lock that workers hold in shared mode, and take-overs and register writes in
/// exclusive mode.
pub(crate) fn lock_key(migration: &MigrationId) -> String {
    format!("pg_catalog.hashtextextended('shardwright:{migration}', 0)")
}

/// Returns the query for a column of `pg_locks`, for each lock under this key that is held or awaited.
pub(crate) fn lock_holders(key: &str, column: &str) -> String {
    format!(
        "select distinct l.{column}
         from pg_catalog.pg_locks l, lateral (select {key} as key) lock
         where l.locktype = 'advisory' and l.objsubid = 1
           and l.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
           and l.classid = ((lock.key >> 32) & 4294967295)::oid and l.objid = (lock.key & 4294967295)::oid"
    )
}

/// Ends the other sessions of this owner, and of older ones, that hold or await the migration's lock. Returns how many
/// there were.
///
/// Call this only on the new owner and after the flip: such sessions have no work left there.
pub(crate) async fn end_lock_holders(
    client: &Connected,
    token: &EpochToken,
) -> Result<usize, tokio_postgres::Error> {
    let pids = lock_holders(&lock_key(&token.migration), "pid");
    let name_pattern = token.migration.application_name("%");
    let ended = client
        .query(
            &format!(
                "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
                 where pid in ({pids}) and pid <> pg_catalog.pg_backend_pid()
                   and application_name like $1 and usename = session_user
                   and pg_catalog.substring(application_name, '/([0-9]+)$')::bigint <= $2"
            ),
            &[&name_pattern, &token.epoch.0],
        )
        .await?;
    Ok(ended.len())
}

/// Opens a transaction with the bypass of the guards, takes the migration's lock, and then executes `proof` as a later
/// statement with a new snapshot, all in one round trip. Returns the row of the proof.
async fn prove(
    client: &Connected,
    token: &EpochToken,
    lock_function: &str,
    proof: &str,
) -> Result<Option<SimpleQueryRow>, tokio_postgres::Error> {
    let key = lock_key(&token.migration);
    let messages = client
        .simple_query(&format!(
            "begin; set local {BYPASS_SETTING} = 'on'; select pg_catalog.{lock_function}({key}); {proof}"
        ))
        .await?;
    Ok(last_row(messages))
}

/// Returns the row of the last statement that may return one.
fn last_row(messages: Vec<SimpleQueryMessage>) -> Option<SimpleQueryRow> {
    let later = |row, message| match message {
        SimpleQueryMessage::RowDescription(_) => None,
        SimpleQueryMessage::Row(found) => Some(found),
        SimpleQueryMessage::CommandComplete(_) | _ => row,
    };
    messages.into_iter().fold(None, later)
}

/// Opens a transaction of a worker and proves the epoch. The guards let its writes pass.
pub(crate) async fn begin(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    begin_with_statements(client, token, "").await
}

/// As [`begin`], with statements after the proof that return no rows, in the same round trip.
pub(crate) async fn begin_with_statements(
    client: &Connected,
    token: &EpochToken,
    then: &str,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: proving the epoch");
    let proof = format!(
        "select 1 from shardwright.move
         where migration = {} and epoch = {} and coalesce(flipped, 0) <= {}; {then}",
        quote_literal(&token.migration.0),
        token.epoch,
        token.until.0
    );
    let row = prove(client, token, "pg_advisory_xact_lock_shared", &proof)
        .await
        .at(&what)?;
    require_proof(client, row).await.map(|_| ())
}

/// Executes `sql` in a separate transaction that first proves the database and the epoch, in one batch: for DDL.
pub(crate) async fn execute(
    client: &Connected,
    token: &EpochToken,
    sql: &str,
) -> Result<(), tokio_postgres::Error> {
    let done = client
        .batch_execute(&format!(
            "begin; set local {BYPASS_SETTING} = 'on'; {}; {}; {sql}; commit",
            identity::proof_sql(TimelineRule::NotEarlier),
            proof_sql(token)
        ))
        .await;
    if done.is_err() {
        rollback(client).await;
    }
    done
}

/// Returns the statements of the proof, for a batch in a transaction.
pub(crate) fn proof_sql(token: &EpochToken) -> String {
    format!(
        "select pg_catalog.pg_advisory_xact_lock_shared({key});
         do $proof$ begin
           if not exists (select from shardwright.move where migration = {id} and epoch = {epoch}) then
             raise exception using errcode = '{SQLSTATE_SUPERSEDED}', message = '{SUPERSEDED}';
           end if;
         end $proof$",
        key = lock_key(&token.migration),
        id = quote_literal(&token.migration.0),
        epoch = token.epoch
    )
}

/// Returns whether the migration has a row on this shard, written by this or an earlier owner of the migration.
pub(crate) async fn is_enrolled(client: &Connected, token: &EpochToken) -> Result<bool, StepError> {
    Ok(epoch_in_force(client, token).await?.is_some())
}

/// Returns true while the token's epoch is the current one on this shard.
pub(crate) async fn is_current(client: &Connected, token: &EpochToken) -> Result<bool, StepError> {
    Ok(epoch_in_force(client, token).await? == Some(token.epoch))
}

/// Is true if the table of migrations exists.
pub(super) const MOVE_EXISTS: &str = "exists (select from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'shardwright' and c.relname = 'move')";

/// Returns the epoch in the migration's row on this shard, or `None` if it has no row.
async fn epoch_in_force(
    client: &Connected,
    token: &EpochToken,
) -> Result<Option<Epoch>, StepError> {
    let shard = client.name();
    if !schema_exists(client).await? {
        return Ok(None);
    }
    let sql = "select epoch from shardwright.move where migration = $1";
    let read = client.query_opt(sql, &[&token.migration.0]).await;
    if let Err(error) = &read
        && error.code() == Some(&SqlState::UNDEFINED_TABLE)
    {
        // The last migration on the shard has dropped the schema since.
        return Ok(None);
    }
    let row = read.at(format_args!("shard {shard}: reading the epoch"))?;
    Ok(row.map(|row| Epoch(row.get(0))))
}

/// The value of a shard's attempt counter for a migration, the column `attempt` of its row. It is not the number of an
/// attempt: the counter also increases with each release and recovery of an attempt (ADR 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct AttemptCount(pub(crate) i64);

impl fmt::Display for AttemptCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Opens a transaction that excludes workers and other owners, for cutover attempt `number` or for a release or
/// recovery of it. Returns the shard's new count.
///
/// The count increases, so that the shard refuses a register write that is still on its way (R3). The caller's own
/// register write is a later statement (R4).
pub(crate) async fn begin_attempt(
    client: &Connected,
    token: &EpochToken,
    number: AttemptNo,
) -> Result<AttemptCount, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: locking the register");
    let proof = format!("{} returning attempt", next_count_sql(token, number));
    let row = prove(client, token, "pg_advisory_xact_lock", &proof)
        .await
        .at(&what)?;
    parse_count(require_proof(client, row).await?, &what)
}

/// Returns the statement that increases the count within the counts of the attempt.
fn next_count_sql(token: &EpochToken, number: AttemptNo) -> String {
    format!(
        "update shardwright.move set attempt = greatest(attempt + 1, {first})
         where migration = {id} and epoch = {epoch} and attempt < {last}",
        first = first_count(number),
        id = quote_literal(&token.migration.0),
        epoch = token.epoch,
        last = first_count(number.next()).0 - 1
    )
}

/// Parses the shard's count.
fn parse_count(row: SimpleQueryRow, what: &str) -> Result<AttemptCount, StepError> {
    let count = row.get(0).and_then(|text| text.parse().ok());
    count.map(AttemptCount).ok_or_else(|| {
        StepError::passing(
            StepCode::EpochCount,
            format!("{what}: the server returned no count"),
        )
    })
}

/// The number of counts for one cutover attempt on a shard: one for itself, the others for its releases and recoveries.
const COUNTS_PER_ATTEMPT: i64 = 1000;

/// Returns the number of the newest cutover attempt that this shard has counted; 0 before the first.
pub(crate) async fn newest_attempt(
    client: &Connected,
    token: &EpochToken,
) -> Result<AttemptNo, StepError> {
    let shard = client.name();
    let row = client
        .query_opt(
            "select attempt from shardwright.move where migration = $1",
            &[&token.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: reading the attempt"))?;
    let count = row.map_or(0, |row| row.get::<_, i64>(0));
    Ok(AttemptNo(count / COUNTS_PER_ATTEMPT))
}

/// Returns the first count of cutover attempt `number`.
pub(crate) fn first_count(number: AttemptNo) -> AttemptCount {
    AttemptCount(number.0 * COUNTS_PER_ATTEMPT)
}

/// Returns the row by which a transaction has proved its epoch. Without a row it rolls back and fails.
async fn require_proof(
    client: &Connected,
    row: Option<SimpleQueryRow>,
) -> Result<SimpleQueryRow, StepError> {
    let shard = client.name();
    if let Some(row) = row {
        return Ok(row);
    }
    rollback(client).await;
    Err(StepError::superseded(shard))
}

/// Commits. Sessions of the agent have `synchronous_commit = on`.
pub(crate) async fn commit(client: &Connected, what: &str) -> Result<(), StepError> {
    client.batch_execute("commit").await.at(what)
}

/// Rolls back. An error is ignored: the session has ended then, and the transaction with it.
pub(crate) async fn rollback(client: &Connected) {
    let _ = client.batch_execute("rollback").await;
}

/// Creates the migration's row on a shard, or takes it over from an older epoch, in the transaction of
/// [`crate::shard::sidecar_schema::enrol`].
pub(crate) async fn enrol(
    client: &Connected,
    token: &EpochToken,
    role: &str,
    map: &str,
) -> Result<(), StepError> {
    let shard = client.name();
    let rows = client
        .execute(
            "insert into shardwright.move as m (migration, role, epoch, map, map_version)
             values ($1, $2, $3, $4, $5)
             on conflict (migration) do update set epoch = excluded.epoch where m.epoch <= excluded.epoch",
            &[&token.migration.0, &role, &token.epoch.0, &map, &token.until.0],
        )
        .await
        .at(format_args!("shard {shard}: enrolling the migration"))?;
    if rows == 1 {
        Ok(())
    } else {
        Err(StepError::superseded(shard))
    }
}

/// Takes the migration over on a shard: it increases the epoch and ends the sessions of older owners.
///
/// It does nothing if the migration has no row yet.
pub(crate) async fn take_over(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: taking the migration over");
    if !schema_exists(client).await? {
        return Ok(());
    }
    for _ in 0..TAKE_OVER_TRIES {
        match try_take_over(client, token).await {
            Ok(TakeOverOutcome::Claimed) => {
                end_older_sessions(client, token).await.at(&what)?;
                return Ok(());
            }
            Ok(TakeOverOutcome::NewerOwner) => {
                rollback(client).await;
                return Err(StepError::superseded(shard));
            }
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                rollback(client).await;
                end_older_sessions(client, token).await.at(&what)?;
            }
            Err(error) => return Err(error).at(&what),
        }
    }
    Err(StepError::passing(
        StepCode::EpochContended,
        format!("{what}: sessions of older owners still hold the lock"),
    ))
}

/// The outcome of an attempt to take a migration over.
enum TakeOverOutcome {
    Claimed,
    NewerOwner,
}

/// Increases the epoch unless a newer owner has done so.
async fn try_take_over(
    client: &Connected,
    token: &EpochToken,
) -> Result<TakeOverOutcome, tokio_postgres::Error> {
    let key = lock_key(&token.migration);
    client
        .batch_execute(&format!(
            "begin; set local lock_timeout = '500ms'; select pg_catalog.pg_advisory_xact_lock({key})"
        ))
        .await?;
    let row = client
        .query_opt(
            "select epoch from shardwright.move where migration = $1 for update",
            &[&token.migration.0],
        )
        .await?;
    if row.is_some_and(|row| Epoch(row.get(0)) > token.epoch) {
        return Ok(TakeOverOutcome::NewerOwner);
    }
    client
        .execute(
            "update shardwright.move set epoch = $2 where migration = $1",
            &[&token.migration.0, &token.epoch.0],
        )
        .await?;
    client.batch_execute("commit").await?;
    Ok(TakeOverOutcome::Claimed)
}

/// Ends the agents' sessions of older epochs. The holders of the snapshot remain until those of the new owner hold it.
async fn end_older_sessions(
    client: &Connected,
    token: &EpochToken,
) -> Result<(), tokio_postgres::Error> {
    let pattern = token.migration.application_name("%/%");
    let rows = client
        .query(
            "select pid from pg_catalog.pg_stat_activity
             where application_name like $1
               and pid <> pg_catalog.pg_backend_pid()
               and application_name !~ '/holder/'
               and pg_catalog.substring(application_name, '/([0-9]+)$')::bigint < $2",
            &[&pattern, &token.epoch.0],
        )
        .await?;
    for row in rows {
        let pid: i32 = row.get(0);
        client
            .execute("select pg_catalog.pg_terminate_backend($1)", &[&pid])
            .await?;
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    Ok(())
}

/// Returns whether the sidecar schema exists on the shard. The query reads the catalog, so it also works for a role
/// without privileges on the schema.
pub(crate) async fn schema_exists(client: &Connected) -> Result<bool, StepError> {
    let shard = client.name();
    let row = client
        .query_one(&format!("select {MOVE_EXISTS}"), &[])
        .await
        .at(format_args!(
            "shard {shard}: searching for schema shardwright"
        ))?;
    Ok(row.get(0))
}
