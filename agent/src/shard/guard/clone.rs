//! The clone guard: it refuses every write on a physical copy of a shard, for all keys and reference tables, from the
//! first moment at which the copy takes writes.
//!
//! The agent creates it on the source in the step `open_capture`, and the standby receives it with the log. It refuses a
//! statement unless the register of the migration is open on this server. The agent binds the register of the source to the source's timeline
//! before the promotion, so the guard refuses nothing on the source and everything on the promoted standby.
//!
//! The row guard also reads the register, but covers the moving keys only. A fence is left to the row guard.

use connect::Connected;
use plans::id::{MapName, MigrationId};
use plans::names::{BYPASS_SETTING, SCHEMA, SQLSTATE_NOT_OPEN};
use plans::sql::{quote_ident, quote_literal};
use plans::table::MovingTable;

use super::{execute_with_short_locks, is_covered_by_earlier_leaf, row_triggers, session_user};
use crate::error::{StepError, WithIntent};
use crate::shard::epoch::{self, EpochToken};
use crate::shard::identity::TIMELINE;
use crate::shard::register::Register;

/// Returns the statements that create the functions.
///
/// WHEN calls the function `closed`. It is declared immutable, so that the server evaluates it once for each statement
/// and not for each row (ADR 34).
fn functions_sql(migration: &MigrationId, map: &MapName, our_role: &str) -> String {
    format!(
        "create or replace function {SCHEMA}.{closed}() returns boolean
         language plpgsql immutable security definer set search_path = pg_catalog, pg_temp as $guard$
         begin
           if coalesce(current_setting('{BYPASS_SETTING}', true), '') = 'on' and session_user = {role} then
             return false;
           end if;
           return (select last_value = {max} or last_value >= {bound} and last_value <> {bound} + {TIMELINE}
                   from {SCHEMA}.{register});
         end $guard$;
         grant execute on function {SCHEMA}.{closed}() to public;
         create or replace function {SCHEMA}.{clone}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
         begin
           raise exception using
             errcode = '{SQLSTATE_NOT_OPEN}',
             message = format('this server is a copy of another shard and does not take writes (map %s)', {map}),
             detail = format('map=%s version>=%s migration=%s', {map},
                             (select map_version from {SCHEMA}.move where migration = {id}), {id}),
             hint = 'read the shard map again and repeat the whole transaction';
         end $guard$; ",
        closed = migration.closed_function(),
        clone = migration.clone_function(),
        role = quote_literal(our_role),
        max = Register::Closed.value(),
        bound = Register::BOUND,
        register = quote_ident(&migration.register()),
        map = quote_literal(map.as_str()),
        id = quote_literal(migration.as_str()),
    )
}

/// Creates the clone guard on all tables of the move, and on the topmost table of each partition tree. The register must
/// exist.
pub(crate) async fn create(
    client: &Connected,
    token: &EpochToken,
    map: &MapName,
    tables: &[MovingTable],
) -> Result<(), StepError> {
    let migration = &token.migration;
    let what = format!("shard {}: creating the clone guard", client.name());
    enable(client, token, map).await?;
    let is_closed = format!("{SCHEMA}.{}()", migration.closed_function());
    for (index, table) in tables.iter().enumerate() {
        if is_covered_by_earlier_leaf(tables, index) {
            continue;
        }
        let sql = row_triggers(
            table,
            |event| migration.trigger(&format!("clone_{event}")),
            &migration.clone_function(),
            |_| "true".to_owned(),
            &is_closed,
        );
        let what = format!("{what} on {}", table.top());
        execute_with_short_locks(client, token, &sql, &what).await?;
    }
    Ok(())
}

/// Makes the clone guard refuse statements again, on a shard that has its triggers.
pub(crate) async fn enable(
    client: &Connected,
    token: &EpochToken,
    map: &MapName,
) -> Result<(), StepError> {
    let what = format!("shard {}: enabling the clone guard", client.name());
    let role = session_user(client).await.at(&what)?;
    let functions = functions_sql(&token.migration, map, &role);
    epoch::execute(client, token, &functions).await.at(what)
}

/// Makes the clone guard refuse nothing. The triggers remain until the guard of the migration is dropped, so this needs
/// no lock on a table.
pub(crate) async fn disable(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let sql = format!(
        "create or replace function {SCHEMA}.{closed}() returns boolean
         language plpgsql immutable security definer set search_path = pg_catalog, pg_temp as $guard$
         begin
           return false;
         end $guard$",
        closed = token.migration.closed_function(),
    );
    let disabled = epoch::execute(client, token, &sql).await;
    disabled.at(format_args!(
        "shard {}: disabling the clone guard",
        client.name()
    ))
}
