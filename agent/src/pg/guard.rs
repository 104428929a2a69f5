//! The guard: triggers that refuse writes to the moving keys while the register is closed or fenced.
//!
//! AFTER ROW, so that a BEFORE trigger of the application cannot change the key behind it (R5);
//! ENABLE ALWAYS, so that replica-role writers meet it; the predicate and our bypass are in WHEN, so
//! that other keys and our own writes queue no event. The register is a sequence: what it says does
//! not depend on anybody's snapshot.

use std::time::Duration;

use plans::id::{MapName, MigrationId};
use plans::key_set::KeySet;
use plans::names::{
    BYPASS_SETTING, SCHEMA, SQLSTATE_NOT_OPEN, SQLSTATE_NOT_OWNER, SQLSTATE_REFUSED, TRIGGER_PREFIX,
};
use plans::table::{MovingTable, quote_ident, quote_literal};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::epoch::{self, Token};
use crate::error::{At, StepError};

/// How often a table's triggers are tried again while somebody holds a lock that CREATE TRIGGER waits for.
const LOCK_TRIES: u32 = 150;
/// Pause between two tries, so that writers queued behind ours are served.
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// Creates the register, if it is not there, with `value`.
pub(crate) async fn create_register(
    client: &Client,
    migration: &MigrationId,
    value: i64,
) -> Result<(), tokio_postgres::Error> {
    let register = quote_ident(&migration.register());
    client
        .batch_execute(&format!(
            "create sequence if not exists {SCHEMA}.{register} as bigint minvalue 0 maxvalue {max} start {value} cache 1",
            max = i64::MAX
        ))
        .await
}

/// Creates the guard functions of a migration.
pub(crate) async fn create_functions(
    client: &Client,
    migration: &MigrationId,
    map: &MapName,
) -> Result<(), tokio_postgres::Error> {
    client.batch_execute(&functions_sql(migration, map)).await
}

fn functions_sql(migration: &MigrationId, map: &MapName) -> String {
    let register = quote_ident(&migration.register());
    let id = quote_literal(migration.as_str());
    let map = quote_literal(map.as_str());
    format!(
        "create or replace function {SCHEMA}.{guard}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
         declare
           until bigint;
           now_ms bigint;
           told record;
         begin
           select last_value into until from {SCHEMA}.{register};
           if until = 0 then
             return null;
           end if;
           if until < {max} then
             now_ms := (extract(epoch from clock_timestamp()) * 1000)::bigint;
             if not (now_ms < until and until <= now_ms + 60000) then
               return null;
             end if;
           end if;
           select role, map_version, flipped into told from {SCHEMA}.move where migration = {id};
           raise exception using
             errcode = case when told.role = 'target' and told.flipped is null
                            then '{SQLSTATE_NOT_OPEN}' else '{SQLSTATE_NOT_OWNER}' end,
             message = format('this shard does not take writes for this key (map %s)', {map}),
             detail = format('map=%s version>=%s migration=%s', {map}, coalesce(told.flipped, told.map_version), {id}),
             hint = 'read the shard map again and repeat the whole transaction';
         end $guard$;
         create or replace function {SCHEMA}.{truncate}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
         begin
           raise exception using
             errcode = '{SQLSTATE_REFUSED}',
             message = format('TRUNCATE of %I.%I is refused while migration %s moves its rows', tg_table_schema, tg_table_name, {id}),
             hint = 'use DELETE, or wait for the migration to end';
         end $guard$;",
        guard = migration.guard_function(),
        truncate = migration.truncate_function(),
        max = i64::MAX,
    )
}

/// The statements that put the guard on one table.
pub(crate) fn triggers_sql(
    migration: &MigrationId,
    keys: &KeySet,
    table: &MovingTable,
    our_role: &str,
) -> String {
    let on = table.table.sql();
    let column = quote_ident(&table.key_column);
    let new = keys.predicate(&format!("new.{column}"));
    let old = keys.predicate(&format!("old.{column}"));
    let foreign = format!(
        "(pg_catalog.current_setting('{BYPASS_SETTING}', true) is distinct from 'on' or session_user <> {})",
        quote_literal(our_role)
    );
    let row = [
        ("insert", format!("{new} and {foreign}")),
        ("delete", format!("{old} and {foreign}")),
        ("update", format!("({old} or {new}) and {foreign}")),
    ];
    let mut sql = String::new();
    for (event, when) in row {
        let name = quote_ident(&migration.trigger(event));
        sql.push_str(&format!(
            "drop trigger if exists {name} on {on}; create trigger {name} after {event} on {on} \
             for each row when ({when}) execute function {SCHEMA}.{}(); \
             alter table {on} enable always trigger {name}; ",
            migration.guard_function()
        ));
    }
    let name = quote_ident(&migration.trigger("truncate"));
    sql.push_str(&format!(
        "drop trigger if exists {name} on {on}; create trigger {name} before truncate on {on} \
         for each statement when ({foreign}) execute function {SCHEMA}.{}(); \
         alter table {on} enable always trigger {name};",
        migration.truncate_function()
    ));
    sql
}

/// The statements that take the TRUNCATE guard off one table (R19: not for good).
pub(crate) fn drop_truncate_sql(migration: &MigrationId, table: &MovingTable) -> String {
    format!(
        "drop trigger if exists {} on {}",
        quote_ident(&migration.trigger("truncate")),
        table.table.sql()
    )
}

/// Runs DDL on a live table: never waits more than 200 ms in the lock queue, tries again for half a minute.
pub(crate) async fn with_short_locks(
    client: &Client,
    token: &Token,
    sql: &str,
    what: &str,
) -> Result<(), StepError> {
    let guarded = format!("set local lock_timeout = '200ms'; {sql}");
    for attempt in 0..LOCK_TRIES {
        match epoch::execute(client, token, &guarded).await {
            Ok(()) => return Ok(()),
            Err(error)
                if attempt + 1 < LOCK_TRIES
                    && error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) =>
            {
                tokio::time::sleep(LOCK_PAUSE).await;
            }
            Err(error) => return Err(error).at(what),
        }
    }
    Ok(())
}

/// Drops every trigger, function and register of the migration, which must be enrolled on this shard.
pub(crate) async fn drop_all(client: &Client, token: &Token, shard: &str) -> Result<(), StepError> {
    let migration = &token.migration;
    let what = format!("shard {shard}: dropping guards");
    let rows = client
        .query(
            "select pg_catalog.format('drop trigger if exists %I on %I.%I', t.tgname, n.nspname, c.relname)
             from pg_catalog.pg_trigger t
             join pg_catalog.pg_class c on c.oid = t.tgrelid
             join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             where not t.tgisinternal and t.tgname like $1",
            &[&format!("{TRIGGER_PREFIX}{migration}\\_%")],
        )
        .await
        .at(&what)?;
    for row in rows {
        with_short_locks(client, token, row.get(0), &what).await?;
    }
    let sql = format!(
        "drop function if exists {SCHEMA}.{}(); drop function if exists {SCHEMA}.{}(); drop sequence if exists {SCHEMA}.{}",
        migration.guard_function(),
        migration.truncate_function(),
        quote_ident(&migration.register()),
    );
    epoch::execute(client, token, &sql).await.at(&what)
}

/// What stands on the tables: each guard trigger's table, name, state and definition (R10).
pub(crate) async fn standing(
    client: &Client,
    migration: &MigrationId,
    shard: &str,
) -> Result<Vec<String>, StepError> {
    let rows = client
        .query(
            "select pg_catalog.format('%s %s %s', t.tgrelid::regclass, t.tgenabled, pg_catalog.pg_get_triggerdef(t.oid))
             from pg_catalog.pg_trigger t
             where not t.tgisinternal and t.tgname like $1
             order by 1",
            &[&format!("{TRIGGER_PREFIX}{migration}\\_%")],
        )
        .await
        .at(format_args!("shard {shard}: reading guards"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Refuses unless every moving table has its four triggers, all `ENABLE ALWAYS`.
pub(crate) async fn check(
    client: &Client,
    migration: &MigrationId,
    tables: usize,
    shard: &str,
) -> Result<Vec<String>, StepError> {
    let standing = standing(client, migration, shard).await?;
    let always = standing
        .iter()
        .filter(|line| line.split(' ').nth(1) == Some("A"))
        .count();
    if always == tables * 4 && standing.len() == always {
        return Ok(standing);
    }
    Err(StepError::refused(
        "guard.changed",
        format!(
            "shard {shard}: {always} of {} guard triggers stand and are ENABLE ALWAYS",
            tables * 4
        ),
        "someone dropped or disabled guard triggers: abort the migration and plan it again",
    ))
}
