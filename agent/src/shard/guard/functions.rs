//! The functions that the guard's triggers call.
//!
//! A write that passes because a fence has expired first takes a lock until its transaction ends, and then reads the
//! register again. It either reads the seal, or the wait-out after the seal finds its lock. The wait-out after a seal
//! therefore waits for no other writers (C8).

use connect::Connected;
use plans::id::{MapName, MigrationId};
use plans::key_set::KeySet;
use plans::names::{
    BYPASS_SETTING, SCHEMA, SQLSTATE_NOT_OPEN, SQLSTATE_NOT_OWNER, SQLSTATE_REFUSED,
};
use plans::sql::{quote_ident, quote_literal};
use plans::table::{MovingTable, TableKey};

use super::GuardedRows;
use super::large_sets;
use super::session_user;
use crate::error::{StepError, WithIntent};
use crate::shard::epoch::{self, EpochToken};
use crate::shard::identity::TIMELINE;
use crate::shard::register::Register;

/// Returns the statements that create the guard functions of a migration, and the sequence that counts refused writes.
/// A sequence keeps its value when the refused transaction is rolled back.
pub(crate) fn functions_sql(
    migration: &MigrationId,
    map: &MapName,
    keys: &KeySet,
    tables: &[MovingTable],
    our_role: &str,
) -> String {
    let refusals = quote_ident(&migration.refusals());
    let mut sql = format!("create sequence if not exists {SCHEMA}.{refusals} as bigint; ");
    sql.push_str(&row_function_sql(
        migration,
        map,
        &migration.guard_function(),
        "",
    ));
    for (index, table) in tables.iter().enumerate() {
        if matches!(table.key, TableKey::Through(_)) {
            let name = migration.through_function(index);
            sql.push_str(&row_function_sql(
                migration,
                map,
                &name,
                &return_unless_moving_sql(table, keys),
            ));
        }
    }
    let key_set = large_sets::function_sql(keys, tables, &migration.key_set_function());
    sql.push_str(&key_set);
    sql.push_str(&truncate_function_sql(migration));
    sql.push_str(&foreign_function_sql(migration, our_role));
    sql
}

/// Returns the check of the moving rows of a table without the key. WHEN cannot query other tables, so the function
/// does.
///
/// A new row whose parent the statement does not see counts as moving, if a foreign key proves the parent: if the foreign
/// key is deferred, another transaction can still commit the parent, and the guard must not let the row through (I1). An
/// old row lacks its parent only if the same transaction has deleted the parent, and the guard has allowed that.
fn return_unless_moving_sql(table: &MovingTable, keys: &KeySet) -> String {
    let (new, old) = (
        table.predicate_or_missing(keys, "new"),
        table.predicate(keys, "old"),
    );
    format!(
        "if not (case tg_op when 'INSERT' then {new} when 'DELETE' then {old} else {old} or {new} end) then
             return null;
           end if;"
    )
}

/// Returns the statement that creates the function of the row triggers.
fn row_function_sql(migration: &MigrationId, map: &MapName, name: &str, first: &str) -> String {
    let body = row_body_sql(migration, map, first);
    format!(
        "create or replace function {SCHEMA}.{name}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard${body}$guard$; "
    )
}

/// Returns the body of the function. `first` comes before the refusal.
fn row_body_sql(migration: &MigrationId, map: &MapName, first: &str) -> String {
    let register = quote_ident(&migration.register());
    let refusals = quote_ident(&migration.refusals());
    let id = quote_literal(migration.as_str());
    let map = quote_literal(map.as_str());
    format!(
        "
         declare
           until bigint;
           now_ms bigint;
           told record;
         begin
           for look in 1..2 loop
             select last_value into until from {SCHEMA}.{register};
             if until = 0 then
               return null;
             end if;
             -- Bound: open on one timeline.
             if until >= {bound} and until < {max} then
               if until = {bound} + {TIMELINE} then
                 return null;
               end if;
               exit;
             end if;
             now_ms := (extract(epoch from clock_timestamp()) * 1000)::bigint;
             exit when until = {max} or now_ms < until and until <= now_ms + 60000;
             if look = 2 then
               return null;
             end if;
             perform pg_advisory_xact_lock_shared({note});
           end loop;
           {first}
           perform nextval('{SCHEMA}.{refusals}');
           select role, map_version, flipped, read_only into told from {SCHEMA}.move where migration = {id};
           raise exception using
             errcode = case when told.role = 'target' and told.flipped is null
                            then '{SQLSTATE_NOT_OPEN}' else '{SQLSTATE_NOT_OWNER}' end,
             message = format('this shard does not take writes for this key (map %s)', {map}),
             detail = format('map=%s version>=%s migration=%s', {map}, coalesce(told.flipped, told.map_version), {id})
               || case when told.read_only and told.flipped is null
                       then ' read only: the key moves offline, its new shard takes writes when the map names it' else '' end,
             hint = 'read the shard map again and repeat the whole transaction';
         end ",
        max = Register::Closed.value(),
        bound = Register::BOUND,
        note = passed_lock_key(migration),
    )
}

/// Returns the statement that creates the function of the TRUNCATE triggers.
fn truncate_function_sql(migration: &MigrationId) -> String {
    let id = quote_literal(migration.as_str());
    format!(
        "create or replace function {SCHEMA}.{truncate}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
         begin
           raise exception using
             errcode = '{SQLSTATE_REFUSED}',
             message = format('TRUNCATE of %I.%I is refused while migration %s moves its rows', tg_table_schema, tg_table_name, {id}),
             hint = 'use DELETE, or wait for the migration to end';
         end $guard$; ",
        truncate = migration.truncate_function(),
    )
}

/// Returns the statement that creates a function with the condition of
/// [`foreign_session_sql`](super::foreign_session_sql). The function is declared immutable, so that the server
/// evaluates it once, when it prepares the WHEN of a statement, and not for each row. Role and settings of a session do
/// not change within a statement.
///
/// Every session whose statement meets the guard calls the function. Therefore every role may execute it, also if the
/// default privileges forbid this. It qualifies its operators, because the search path is that of the caller.
fn foreign_function_sql(migration: &MigrationId, our_role: &str) -> String {
    let name = migration.foreign_function();
    format!(
        "create or replace function {SCHEMA}.{name}() returns boolean language plpgsql immutable as $guard$
         begin
           return coalesce(pg_catalog.current_setting('{BYPASS_SETTING}', true), '') operator(pg_catalog.<>) 'on'
             or session_user operator(pg_catalog.<>) {};
         end $guard$;
         grant execute on function {SCHEMA}.{name}() to public; ",
        quote_literal(our_role)
    )
}

/// Returns the key of the advisory lock that a write holds, in shared mode, until its transaction ends, if it passed
/// the guard because a fence had expired.
pub(crate) fn passed_lock_key(migration: &MigrationId) -> String {
    format!("pg_catalog.hashtextextended('shardwright:{migration}:passed', 0)")
}

/// Creates the functions, or replaces them.
pub(super) async fn create(
    client: &Connected,
    token: &EpochToken,
    map: &MapName,
    guarded: GuardedRows<'_>,
) -> Result<(), StepError> {
    let GuardedRows { keys, tables } = guarded;
    let shard = client.name();
    let what = format!("shard {shard}: creating the guard's functions");
    let role = session_user(client).await.at(&what)?;
    let functions = functions_sql(&token.migration, map, keys, tables, &role);
    epoch::execute(client, token, &functions).await.at(&what)
}

/// Replaces the functions by ones that refuse nothing, if the triggers cannot be dropped: neither TRUNCATE nor changes
/// of the tables. The open register already allows writes of rows. This needs no lock on a table.
pub(crate) async fn disable(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: disabling the guard");
    let (truncate, ddl) = (
        token.migration.truncate_function(),
        token.migration.ddl_guard("end"),
    );
    let rows = client
        .query(
            "select pg_catalog.format('create or replace function %I.%I() returns %s language plpgsql as %L',
                    n.nspname, p.proname, pg_catalog.format_type(p.prorettype, null),
                    case p.proname when $2 then 'begin return null; end' else 'begin end' end)
             from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
             where n.nspname = $1 and p.proname in ($2, $3)",
            &[&SCHEMA, &truncate, &ddl],
        )
        .await
        .at(&what)?;
    let sql: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    epoch::execute(client, token, &sql.join("; "))
        .await
        .at(&what)
}

/// Replaces the functions if an agent of another version created them: a seal relies on the lock that they take.
///
/// Call this before a fence. A transaction that writes after the fence has taken a lock since, and so its session has
/// loaded the new functions.
pub(crate) async fn replace_if_outdated(
    client: &Connected,
    token: &EpochToken,
    map: &MapName,
    guarded: GuardedRows<'_>,
) -> Result<(), StepError> {
    let shard = client.name();
    let name = token.migration.guard_function();
    let row = client
        .query_opt(
            "select p.prosrc from pg_catalog.pg_proc p
             join pg_catalog.pg_namespace n on n.oid = p.pronamespace
             where n.nspname = $1 and p.proname = $2",
            &[&SCHEMA, &name],
        )
        .await
        .at(format_args!("shard {shard}: reading the guard's function"))?;
    let body: Option<String> = row.map(|row| row.get(0));
    if body.as_deref() == Some(&row_body_sql(&token.migration, map, "")) {
        return Ok(());
    }
    create(client, token, map, guarded).await
}
