//! Our name in a shard's `synchronous_standby_names` (R22): put in, taken out, and what is seen of its effect.
//!
//! `alter system` cannot be part of a transaction. A change therefore holds a lock of all migrations on this setting
//! on its session. To put a name in, it holds the migration's lock as well, shared, for which a take-over waits (I7).
//! To take a name out, it does not: a commit of ours that waits for the name may hold that lock, alone. Whoever puts a
//! newer owner's name in waits for the lock on the setting, so that what is taken out is never newer than the proof.
//! What the setting was without us is written down before the change, and put back when nothing of ours is left.
//! Sessions that change it commit without waiting for a standby: the one that is missing may be ours.

use std::time::Duration;

use connect::Connected;
use plans::id::MigrationId;
use plans::sql::quote_literal;
use tokio_postgres::error::SqlState;

use super::epoch::{self, EpochToken};
use crate::error::{StepError, WithIntent};
use crate::postgres::standby_names::{OURS, StandbyNames};

/// How long a reload may take until sessions see it.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(2);
/// Between two looks at whether it was seen.
const RELOAD_PAUSE: Duration = Duration::from_millis(2);
/// How often a stopped session of ours that holds the lock is ended.
const LOCK_TRIES: u32 = 5;
/// Takes the lock of all migrations on the setting.
const LOCK_SETTING: &str = "select pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended('shardwright:synchronous_standby_names', 0))";

/// How a change shows that it may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnershipProof {
    /// The token's epoch is the one in force.
    Owner,
    /// No newer epoch than the token's is in force: before a take-over, whose commit would wait for the dead.
    TakeOver,
}

/// What is to be seen on the shard whose commits wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StandbyStatus {
    /// The setting names us.
    pub(crate) is_named: bool,
    /// Our walsender streams.
    pub(crate) is_streaming: bool,
    /// The server counts it as a synchronous one.
    pub(crate) is_synchronous: bool,
    /// Log between what is on the shard's disk and what we confirmed, bytes.
    pub(crate) lag_bytes: u64,
    /// The commits that wait for a standby, each as long as it waits.
    pub(crate) waiting_commits: Vec<String>,
}

/// Settings of the sessions that look at and change the setting.
pub(crate) async fn prepare_session(client: &Connected) -> Result<(), tokio_postgres::Error> {
    client
        .batch_execute("set synchronous_commit = local; set lock_timeout = '500ms'")
        .await
}

/// The rights that our role lacks, and what of the setting cannot be extended, each with its remedy.
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
            "see which commits wait",
            format!("grant pg_read_all_stats to {role}"),
        ),
    ] {
        if !row.get::<_, bool>(column) {
            found.push((format!("our role {role} may not {lacks}"), remedy));
        }
    }
    if source == "command line" {
        found.push((
            "synchronous_standby_names is set on the server's command line, where it cannot be changed".to_owned(),
            "set it in postgresql.conf instead".to_owned(),
        ));
    }
    if let Err(error) = StandbyNames::parse(&value) {
        found.push((error.to_string(), "write it as FIRST n (names)".to_owned()));
    }
    Ok(found)
}

/// Looks at the shard through our eyes: `name` is our walsender's `application_name`.
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
        .at(format_args!("shard {shard}: looking at synchronous commits"))?;
    let is_named =
        StandbyNames::parse(row.get(0)).is_ok_and(|names| names.holds(|known| known == name));
    Ok(StandbyStatus {
        is_named,
        is_streaming: row.get(1),
        is_synchronous: row.get(2),
        lag_bytes: row.get::<_, i64>(3).unsigned_abs(),
        waiting_commits: row.get(4),
    })
}

/// Whether commits on this shard wait for a stream of ours: two streams that wait for each other never end.
pub(crate) async fn commits_wait_for_us(client: &Connected) -> Result<bool, StepError> {
    let names = read_names(client).await?;
    Ok(names.holds(|name| name.starts_with(OURS)))
}

/// The names of ours in the setting, whichever migration's.
pub(crate) async fn our_names(client: &Connected) -> Result<Vec<String>, tokio_postgres::Error> {
    let read = "select pg_catalog.current_setting('synchronous_standby_names')";
    let row = client.query_one(read, &[]).await?;
    let names = StandbyNames::parse(row.get(0)).map(StandbyNames::into_names);
    let ours = |name: &String| name.starts_with(OURS);
    Ok(names.unwrap_or_default().into_iter().filter(ours).collect())
}

/// From when this returns the server is told that commits wait for `name` as well.
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

async fn add_name_locked(
    client: &Connected,
    token: &EpochToken,
    name: &str,
) -> Result<(), StepError> {
    let shard = client.name();
    let names = read_names(client).await?;
    let ours = name_prefix(&token.migration);
    let others = names.without(|name| name.starts_with(&ours));
    let without_us = original_text(client, &others.without(|name| name.starts_with(OURS))).await?;
    let id = quote_literal(token.migration.as_str());
    let record = format!(
        "insert into shardwright.dual_write as d (migration, former) values ({id}, {})
         on conflict (migration) do update set former = excluded.former",
        quote_literal(&without_us)
    );
    epoch::execute(client, token, &record)
        .await
        .at(format_args!(
            "shard {shard}: recording synchronous_standby_names"
        ))?;
    set_and_wait(client, &others.with(name).render()).await
}

/// Takes every name of this migration out again; true if there was one, or may have been.
///
/// What is written may not be in force: a reload did not take effect, or never came. The record of the change,
/// which comes before it, tells.
pub(crate) async fn remove_names(
    client: &Connected,
    token: &EpochToken,
    proof: OwnershipProof,
) -> Result<bool, StepError> {
    let ours = name_prefix(&token.migration);
    let is_named = read_names(client)
        .await?
        .holds(|name| name.starts_with(&ours));
    if !is_named && !is_recorded(client, &token.migration).await? {
        return Ok(false);
    }
    lock_and_prove(client, LOCK_SETTING, token, proof).await?;
    let done = remove_names_locked(client, token).await;
    unlock(client).await;
    done.map(|()| true)
}

async fn remove_names_locked(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let shard = client.name();
    let ours = name_prefix(&token.migration);
    let left = read_names(client)
        .await?
        .without(|name| name.starts_with(&ours));
    let value = if left.holds(|name| name.starts_with(OURS)) {
        left.render()
    } else {
        original_text(client, &left).await?
    };
    set_and_wait(client, &value).await?;
    let forget = "delete from shardwright.dual_write where migration = $1";
    client
        .execute(forget, &[&token.migration.as_str()])
        .await
        .at(format_args!(
            "shard {shard}: forgetting synchronous_standby_names"
        ))?;
    Ok(())
}

/// Whether a change of the setting for this migration was recorded and not undone.
async fn is_recorded(client: &Connected, migration: &MigrationId) -> Result<bool, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading what synchronous_standby_names was");
    let there = "select pg_catalog.to_regclass('shardwright.dual_write') is not null";
    let row = client.query_one(there, &[]).await.at(&what)?;
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

/// How names of this migration begin, whatever their epoch.
fn name_prefix(migration: &MigrationId) -> String {
    migration.application_name("")
}

async fn read_names(client: &Connected) -> Result<StandbyNames, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading synchronous_standby_names");
    let read = "select pg_catalog.current_setting('synchronous_standby_names')";
    let row = client.query_one(read, &[]).await.at(&what)?;
    StandbyNames::parse(row.get(0)).map_err(|error| {
        StepError::refused(
            "dual_write.names",
            format!("shard {shard}: {error}"),
            "write it as FIRST n (names)",
        )
    })
}

/// The text that says what `left` says as it was before the first of us came: `ANY`, a plain list, its quotes.
async fn original_text(client: &Connected, left: &StandbyNames) -> Result<String, StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select former from shardwright.dual_write order by migration",
            &[],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading what synchronous_standby_names was"
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
        .find(|text| StandbyNames::parse(text).is_ok_and(|names| names.is_like(left)));
    Ok(same.unwrap_or_else(|| left.render()))
}

/// Takes `locks` and shows the epoch.
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
    let held = match (row, proof) {
        (Ok(Some(row)), OwnershipProof::Owner) => row.get::<_, i64>(0) == token.epoch.0,
        (Ok(Some(row)), OwnershipProof::TakeOver) => row.get::<_, i64>(0) <= token.epoch.0,
        (Ok(None), _) => false,
        (Err(error), _) => {
            unlock(client).await;
            return Err(error);
        }
    };
    if !held {
        unlock(client).await;
        return Err(StepError::superseded(shard));
    }
    Ok(())
}

/// Ends those sessions that hold the setting's lock for this migration: their process was stopped meanwhile.
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

/// The session may be broken, and its locks with it.
async fn unlock(client: &Connected) {
    let _ = client
        .batch_execute("select pg_catalog.pg_advisory_unlock_all()")
        .await;
}

/// Sets the value and waits until sessions see it.
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
        Ok(seen) => seen.at(&what),
        Err(_) => Err(StepError::passing(
            "dual_write.reload",
            format!("{what}: the server has not taken it over after {RELOAD_TIMEOUT:?}"),
        )),
    }
}

/// The value without what `alter system` wrote; `None` where our role may not read the files.
async fn value_without_auto_conf(
    client: &Connected,
) -> Result<Option<String>, tokio_postgres::Error> {
    let may = "select pg_catalog.has_function_privilege('pg_catalog.pg_show_all_file_settings()', 'execute')";
    if !client.query_one(may, &[]).await?.get::<_, bool>(0) {
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
