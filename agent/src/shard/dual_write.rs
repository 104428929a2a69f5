//! The names of Shardwright's streams in a shard's `synchronous_standby_names` (R22): adds them, removes them, and
//! probes their effect.
//!
//! `alter system` cannot be part of a transaction. A session that changes the setting therefore holds a lock that all
//! migrations share for this purpose.
//!
//! - To add a name, it also holds the migration's lock in shared mode, for which a take-over waits (I7).
//! - To remove a name, it does not: a commit that waits for the name may hold the migration's lock in exclusive mode. A
//!   session that adds the name of a newer owner waits for the lock on the setting, so a removed name is never newer
//!   than the proof.
//!
//! The original value is recorded before the change, and restored when no name of Shardwright remains. Sessions that
//! change the setting commit without waiting for a standby, because the missing standby may be Shardwright's own.

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::MigrationId;
use plans::sql::quote_literal;
use tokio_postgres::error::SqlState;

use super::epoch::{self, EpochToken};
use crate::error::{StepError, WithIntent};
use crate::postgres::standby_names::{AGENT_PREFIX, StandbyNames};

/// How long sessions may take to load a changed setting.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two queries whether a session has loaded it.
const RELOAD_PAUSE: Duration = Duration::from_millis(2);
/// Number of attempts to end a stopped session that holds the lock.
const LOCK_TRIES: u32 = 5;
/// Takes the lock on the setting, which is common to all migrations.
const LOCK_SETTING: &str = "select pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended('shardwright:synchronous_standby_names', 0))";

/// The condition on the epoch under which a change is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnershipProof {
    /// The epoch of the token is the current one.
    Owner,
    /// The current epoch is not newer than that of the token. This is sufficient before a take-over, whose commit would
    /// otherwise wait for the stream of a dead agent.
    TakeOver,
}

/// The state of synchronous dual-write on the shard whose commits wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StandbyStatus {
    /// The setting contains the stream's name.
    pub(crate) is_named: bool,
    /// The stream's walsender is in the state `streaming`.
    pub(crate) is_streaming: bool,
    /// The server treats the stream as a synchronous standby.
    pub(crate) is_synchronous: bool,
    /// Bytes of log between the position that is on the shard's disk and the position that the stream confirmed.
    pub(crate) lag_bytes: u64,
    /// The commits that wait for a standby: process id, start of the process, start of the transaction.
    pub(crate) waiting_commits: Vec<String>,
}

/// Prepares a session that reads and changes the setting.
pub(crate) async fn prepare_session(client: &Connected) -> Result<(), tokio_postgres::Error> {
    client
        .batch_execute("set synchronous_commit = local; set lock_timeout = '500ms'")
        .await
}

/// Returns the privileges that the agent's role lacks, and the properties of the setting that prevent a change. Each
/// has its remedy.
pub(crate) async fn find_obstacles(client: &Connected) -> Result<Vec<(String, String)>, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select s.setting, s.source, pg_catalog.quote_ident(current_user),
                    pg_catalog.has_parameter_privilege('synchronous_standby_names', 'alter system'),
                    pg_catalog.has_function_privilege('pg_catalog.pg_reload_conf()', 'execute'),
                    pg_catalog.pg_has_role('pg_read_all_stats', 'usage')
             from pg_catalog.pg_settings s where s.name = 'synchronous_standby_names'",
            &[],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading synchronous_standby_names"
        ))?;
    let (value, source, role): (String, String, String) = (row.get(0), row.get(1), row.get(2));
    let mut found = Vec::new();
    for (column, lacks, remedy) in [
        (
            3,
            "change synchronous_standby_names",
            format!("grant alter system on parameter synchronous_standby_names to {role}"),
        ),
        (
            4,
            "reload the configuration",
            format!("grant execute on function pg_catalog.pg_reload_conf() to {role}"),
        ),
        (
            5,
            "read which commits wait",
            format!("grant pg_read_all_stats to {role}"),
        ),
    ] {
        if !row.get::<_, bool>(column) {
            found.push((format!("the agent's role {role} may not {lacks}"), remedy));
        }
    }
    if source == "command line" {
        found.push((
            "synchronous_standby_names is set on the server's command line, so the agent cannot change it".to_owned(),
            "set it in postgresql.conf instead".to_owned(),
        ));
    }
    if let Err(error) = StandbyNames::parse(&value) {
        found.push((error.to_string(), "write it as FIRST n (names)".to_owned()));
    }
    Ok(found)
}

/// Probes the shard. `name` is the `application_name` of the stream's walsender.
pub(crate) async fn probe(client: &Connected, name: &str) -> Result<StandbyStatus, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select pg_catalog.current_setting('synchronous_standby_names'), r.pid is not null,
                    coalesce(r.sync_state in ('sync', 'quorum'), false),
                    coalesce(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_flush_lsn(), r.flush_lsn), 0)::bigint,
                    array(select pg_catalog.concat_ws('/', a.pid, a.backend_start, a.xact_start)
                          from pg_catalog.pg_stat_activity a where a.wait_event = 'SyncRep')
             from (select) one
             left join pg_catalog.pg_stat_replication r
                  on r.application_name = $1 and r.state = 'streaming' and r.flush_lsn is not null
             limit 1",
            &[&name],
        )
        .await
        .at(format_args!("shard {shard}: probing synchronous commits"))?;
    let is_named =
        StandbyNames::parse(row.get(0)).is_ok_and(|names| names.any(|known| known == name));
    Ok(StandbyStatus {
        is_named,
        is_streaming: row.get(1),
        is_synchronous: row.get(2),
        lag_bytes: row.get::<_, i64>(3).unsigned_abs(),
        waiting_commits: row.get(4),
    })
}

/// Returns whether commits on this shard wait for any stream of Shardwright, of this migration or another. Two streams
/// that wait for each other would never end.
pub(crate) async fn commits_wait_for_streams(client: &Connected) -> Result<bool, StepError> {
    let names = read_names(client).await?;
    Ok(names.any(|name| name.starts_with(AGENT_PREFIX)))
}

/// Returns Shardwright's names in the setting, those of all migrations.
pub(crate) async fn our_names(client: &Connected) -> Result<Vec<String>, tokio_postgres::Error> {
    let read = "select pg_catalog.current_setting('synchronous_standby_names')";
    let row = client.query_one(read, &[]).await?;
    let names = StandbyNames::parse(row.get(0)).map(StandbyNames::into_names);
    let is_ours = |name: &String| name.starts_with(AGENT_PREFIX);
    Ok(names
        .unwrap_or_default()
        .into_iter()
        .filter(is_ours)
        .collect())
}

/// Adds `name` to the setting. When this returns, new commits wait for `name` too.
pub(crate) async fn add_name(
    client: &Connected,
    token: &EpochToken,
    name: &str,
) -> Result<(), StepError> {
    let locks = format!(
        "select pg_catalog.pg_advisory_lock_shared({}); {LOCK_SETTING}",
        epoch::lock_key(&token.migration)
    );
    lock_and_prove(client, &locks, token, OwnershipProof::Owner).await?;
    let done = add_name_locked(client, token, name).await;
    unlock(client).await;
    done
}

/// As [`add_name`], under the locks.
async fn add_name_locked(
    client: &Connected,
    token: &EpochToken,
    name: &str,
) -> Result<(), StepError> {
    let shard = client.name();
    let names = read_names(client).await?;
    let prefix = name_prefix(&token.migration);
    let others = names.without(|name| name.starts_with(&prefix));
    let original = original_text(
        client,
        &others.without(|name| name.starts_with(AGENT_PREFIX)),
    )
    .await?;
    let id = quote_literal(token.migration.as_str());
    let record = format!(
        "insert into shardwright.dual_write as d (migration, former) values ({id}, {})
         on conflict (migration) do update set former = excluded.former",
        quote_literal(&original)
    );
    epoch::execute(client, token, &record)
        .await
        .at(format_args!(
            "shard {shard}: recording synchronous_standby_names"
        ))?;
    set_and_wait(client, &others.with(name).render()).await
}

/// Removes all names of this migration from the setting. Returns true if the setting had such a name, or may have had
/// one.
///
/// The setting may contain a name although the session does not see it, because a reload had no effect or never came.
/// The record, which is written before the change, shows this.
pub(crate) async fn remove_names(
    client: &Connected,
    token: &EpochToken,
    proof: OwnershipProof,
) -> Result<bool, StepError> {
    let prefix = name_prefix(&token.migration);
    let is_named = read_names(client)
        .await?
        .any(|name| name.starts_with(&prefix));
    if !is_named && !is_recorded(client, &token.migration).await? {
        return Ok(false);
    }
    lock_and_prove(client, LOCK_SETTING, token, proof).await?;
    let done = remove_names_locked(client, token).await;
    unlock(client).await;
    done.map(|()| true)
}

/// As [`remove_names`], under the lock.
async fn remove_names_locked(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let shard = client.name();
    let prefix = name_prefix(&token.migration);
    let remaining = read_names(client)
        .await?
        .without(|name| name.starts_with(&prefix));
    let value = if remaining.any(|name| name.starts_with(AGENT_PREFIX)) {
        remaining.render()
    } else {
        original_text(client, &remaining).await?
    };
    set_and_wait(client, &value).await?;
    let forget = "delete from shardwright.dual_write where migration = $1";
    client
        .execute(forget, &[&token.migration.as_str()])
        .await
        .at(format_args!(
            "shard {shard}: deleting the record of synchronous_standby_names"
        ))?;
    Ok(())
}

/// Returns whether a change of the setting for this migration is recorded, and so not reverted yet.
async fn is_recorded(client: &Connected, migration: &MigrationId) -> Result<bool, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading the original synchronous_standby_names");
    let table_exists = "select pg_catalog.to_regclass('shardwright.dual_write') is not null";
    let row = client.query_one(table_exists, &[]).await.at(&what)?;
    if !row.get::<_, bool>(0) {
        return Ok(false);
    }
    let recorded = "select exists (select from shardwright.dual_write where migration = $1)";
    let row = client
        .query_one(recorded, &[&migration.0])
        .await
        .at(&what)?;
    Ok(row.get(0))
}

/// Returns the prefix that the names of this migration have in all epochs.
fn name_prefix(migration: &MigrationId) -> String {
    migration.application_name("")
}

/// Reads the names in the setting.
async fn read_names(client: &Connected) -> Result<StandbyNames, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading synchronous_standby_names");
    let read = "select pg_catalog.current_setting('synchronous_standby_names')";
    let row = client.query_one(read, &[]).await.at(&what)?;
    StandbyNames::parse(row.get(0)).map_err(|error| {
        StepError::listed(StepCode::DualWriteNames, format!("shard {shard}: {error}"))
    })
}

/// Returns the text that means the same as `names` and that the setting had before Shardwright changed it: with its
/// `ANY`, its plain list, its quotes.
async fn original_text(client: &Connected, names: &StandbyNames) -> Result<String, StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select former from shardwright.dual_write order by migration",
            &[],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading the original synchronous_standby_names"
        ))?;
    let mut texts: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let row = client
        .query_one(
            "select pg_catalog.current_setting('synchronous_standby_names')",
            &[],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading synchronous_standby_names"
        ))?;
    texts.push(row.get(0));
    let same = texts
        .into_iter()
        .find(|text| StandbyNames::parse(text).is_ok_and(|parsed| parsed.is_like(names)));
    Ok(same.unwrap_or_else(|| names.render()))
}

/// Takes `locks` and checks the epoch.
async fn lock_and_prove(
    client: &Connected,
    locks: &str,
    token: &EpochToken,
    proof: OwnershipProof,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: locking synchronous_standby_names");
    let mut tries = 0;
    while let Err(error) = client.batch_execute(locks).await {
        unlock(client).await;
        tries += 1;
        if error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) || tries > LOCK_TRIES {
            return Err(error).at(&what);
        }
        end_lock_holders(client, token).await.at(&what)?;
    }
    let row = client
        .query_opt(
            "select epoch from shardwright.move where migration = $1",
            &[&token.migration.as_str()],
        )
        .await
        .at(&what);
    let is_proved = match (row, proof) {
        (Ok(Some(row)), OwnershipProof::Owner) => row.get::<_, i64>(0) == token.epoch.0,
        (Ok(Some(row)), OwnershipProof::TakeOver) => row.get::<_, i64>(0) <= token.epoch.0,
        (Ok(None), _) => false,
        (Err(error), _) => {
            unlock(client).await;
            return Err(error);
        }
    };
    if !is_proved {
        unlock(client).await;
        return Err(StepError::superseded(shard));
    }
    Ok(())
}

/// Ends the sessions of this migration that hold the lock on the setting: their process stopped meanwhile.
async fn end_lock_holders(
    client: &Connected,
    token: &EpochToken,
) -> Result<(), tokio_postgres::Error> {
    let pattern = token.migration.application_name("dual-write-%/%");
    client
        .execute(
            "select pg_catalog.pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a
             where a.application_name like $1 and a.pid <> pg_catalog.pg_backend_pid()
               and pg_catalog.substring(a.application_name, '/([0-9]+)$')::bigint <= $2
               and exists (select from pg_catalog.pg_locks l
                           where l.pid = a.pid and l.locktype = 'advisory' and l.mode = 'ExclusiveLock' and l.granted)",
            &[&pattern, &token.epoch.0],
        )
        .await
        .map(|_| ())
}

/// Releases all locks. An error is ignored: the session is broken then, and its locks are released with it.
async fn unlock(client: &Connected) {
    let _ = client
        .batch_execute("select pg_catalog.pg_advisory_unlock_all()")
        .await;
}

/// Sets the value and waits until sessions have loaded it.
async fn set_and_wait(client: &Connected, value: &str) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: setting synchronous_standby_names");
    let change = if value_without_auto_conf(client).await.at(&what)?.as_deref() == Some(value) {
        "alter system reset synchronous_standby_names".to_owned()
    } else {
        format!(
            "alter system set synchronous_standby_names = {}",
            quote_literal(value)
        )
    };
    client.batch_execute(&change).await.at(&what)?;
    client
        .batch_execute("select pg_catalog.pg_reload_conf()")
        .await
        .at(&what)?;
    let in_force = async {
        let read = "select pg_catalog.current_setting('synchronous_standby_names') = $1";
        while !client.query_one(read, &[&value]).await?.get::<_, bool>(0) {
            tokio::time::sleep(RELOAD_PAUSE).await;
        }
        Ok::<(), tokio_postgres::Error>(())
    };
    match tokio::time::timeout(RELOAD_TIMEOUT, in_force).await {
        Ok(status) => status.at(&what),
        Err(_) => Err(StepError::passing(
            StepCode::DualWriteReload,
            format!("{what}: the server has not loaded it after {RELOAD_TIMEOUT:?}"),
        )),
    }
}

/// Returns the value in the other configuration files, which `alter system` does not write; `None` if the role may not
/// read the files.
async fn value_without_auto_conf(
    client: &Connected,
) -> Result<Option<String>, tokio_postgres::Error> {
    let may_read = "select pg_catalog.has_function_privilege('pg_catalog.pg_show_all_file_settings()', 'execute')";
    if !client.query_one(may_read, &[]).await?.get::<_, bool>(0) {
        return Ok(None);
    }
    let row = client
        .query_opt(
            "select coalesce(setting, '') from pg_catalog.pg_file_settings
             where name = 'synchronous_standby_names' and sourcefile !~ 'postgresql.auto.conf$'
             order by seqno desc limit 1",
            &[],
        )
        .await?;
    Ok(Some(row.map_or_else(String::new, |row| row.get(0))))
}
