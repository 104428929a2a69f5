//! `ddl: refuse`: two event triggers that refuse changes of the moving tables while the migration runs.
//!
//! One fires at the end of a command, when its effects are known, and cancels it; the other fires when objects are
//! dropped. The agent's own commands pass by the bypass setting. The triggers identify indexes by OID, because a
//! dropped index has no table any more; they are therefore created again at the start of each step. For leaves they
//! also watch all partitioned tables of the same hierarchy, so that no partition is added or removed.

use connect::Connected;
use plans::id::MigrationId;
use plans::names::{BYPASS_SETTING, SCHEMA, SQLSTATE_REFUSED};
use plans::sql::{quote_ident, quote_literal};
use plans::table::MovingTable;

use crate::error::{StepError, WithIntent};
use crate::shard::epoch::{self, EpochToken};
use crate::shard::guard;

/// The events, each with its part of the trigger's name.
const EVENTS: [(&str, &str); 2] = [("end", "ddl_command_end"), ("drop", "sql_drop")];

/// Returns whether the agent's role may create event triggers.
pub(crate) async fn can_create(client: &Connected) -> Result<bool, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select rolsuper from pg_catalog.pg_roles where rolname = current_user",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading the session's role"))?;
    Ok(row.get(0))
}

/// Returns whether both triggers exist and are enabled.
pub(crate) async fn is_enabled(
    client: &Connected,
    migration: &MigrationId,
) -> Result<bool, StepError> {
    let shard = client.name();
    let names: Vec<String> = EVENTS.map(|(part, _)| migration.ddl_guard(part)).into();
    let row = client
        .query_one(
            "select count(*) = 2 from pg_catalog.pg_event_trigger where evtname = any ($1) and evtenabled = 'A'",
            &[&names],
        )
        .await
        .at(format_args!("shard {shard}: reading event triggers"))?;
    Ok(row.get(0))
}

/// Creates the triggers on a shard, or updates them.
pub(crate) async fn create(
    client: &Connected,
    token: &EpochToken,
    tables: &[MovingTable],
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: refusing changes of the moving tables");
    let role = guard::session_user(client).await.at(&what)?;
    let watched = read_watched(client, tables).await.at(&what)?;
    let mut sql = function_sql(&token.migration, &watched, &role);
    if !is_enabled(client, &token.migration).await? {
        for (part, event) in EVENTS {
            let name = quote_ident(&token.migration.ddl_guard(part));
            sql.push_str(&format!(
                "; drop event trigger if exists {name}; \
                 create event trigger {name} on {event} execute function {SCHEMA}.{}(); \
                 alter event trigger {name} enable always",
                function_name(&token.migration)
            ));
        }
    }
    epoch::execute(client, token, &sql).await.at(&what)
}

/// Drops the triggers on a shard, if they exist.
pub(crate) async fn drop(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let shard = client.name();
    let mut sql: Vec<String> = EVENTS
        .iter()
        .map(|(part, _)| {
            let name = quote_ident(&token.migration.ddl_guard(part));
            format!("drop event trigger if exists {name}")
        })
        .collect();
    sql.push(format!(
        "drop function if exists {SCHEMA}.{}()",
        function_name(&token.migration)
    ));
    epoch::execute(client, token, &sql.join("; "))
        .await
        .at(format_args!("shard {shard}: dropping event triggers"))
}

/// Returns the quoted name of the function.
fn function_name(migration: &MigrationId) -> String {
    quote_ident(&migration.ddl_guard("end"))
}

/// The relations that the triggers watch on one shard.
struct WatchedRelations {
    tables: Vec<u32>,
    indexes: Vec<u32>,
    names: Vec<String>,
}

/// Returns the relations to watch: the tables, their indexes, and the partitioned tables of the same hierarchies.
async fn read_watched(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<WatchedRelations, tokio_postgres::Error> {
    let quoted: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    let row = client
        .query_one(
            "with recursive given as (select pg_catalog.to_regclass(name)::oid as oid from pg_catalog.unnest($1::text[]) name),
             tree (oid) as (
               select pg_catalog.pg_partition_root(oid)::oid from given where oid is not null
               union
               select i.inhrelid from tree join pg_catalog.pg_inherits i on i.inhparent = tree.oid and not i.inhdetachpending
               join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relkind = 'p'),
             t as (select oid from given where oid is not null union select oid from tree where oid is not null)
             select array(select oid from t),
                    array(select x.indexrelid from pg_catalog.pg_index x join t on t.oid = x.indrelid),
                    array(select pg_catalog.concat(n.nspname, '.', c.relname)
                          from t join pg_catalog.pg_class c on c.oid = t.oid
                          join pg_catalog.pg_namespace n on n.oid = c.relnamespace)",
            &[&quoted],
        )
        .await?;
    Ok(WatchedRelations {
        tables: row.get(0),
        indexes: row.get(1),
        names: row.get(2),
    })
}

/// Returns the statement that creates the function of both triggers.
fn function_sql(migration: &MigrationId, watched: &WatchedRelations, role: &str) -> String {
    let oids = |oids: &[u32]| {
        let oids: Vec<String> = oids.iter().map(u32::to_string).collect();
        format!("'{{{}}}'::oid[]", oids.join(","))
    };
    let names: Vec<String> = watched
        .names
        .iter()
        .map(|name| quote_literal(name))
        .collect();
    format!(
        "create or replace function {SCHEMA}.{name}() returns event_trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $ddl$
         declare
           tables constant oid[] := {tables};
           hit text;
         begin
           if current_setting('{BYPASS_SETTING}', true) = 'on' and session_user = {role} then
             return;
           end if;
           if tg_event = 'sql_drop' then
             select o.object_identity into hit from pg_event_trigger_dropped_objects() o
             where o.objid = any (tables || {indexes}) and o.classid = 'pg_class'::regclass
                or o.object_type in ('trigger', 'rule', 'policy', 'table column', 'table constraint', 'default value')
                   and o.address_names[1] || '.' || o.address_names[2] = any (array[{names}]::text[])
             limit 1;
           else
             select c.object_identity into hit from pg_event_trigger_ddl_commands() c
             where c.command_tag not in ('COMMENT', 'GRANT', 'REVOKE', 'SECURITY LABEL', 'REINDEX')
               and case c.classid
                 when 'pg_class'::regclass then c.objid = any (tables)
                   or exists (select from pg_index x where x.indexrelid = c.objid and x.indrelid = any (tables))
                   or exists (select from pg_inherits i where i.inhrelid = c.objid and i.inhparent = any (tables))
                 when 'pg_trigger'::regclass then
                   exists (select from pg_trigger g where g.oid = c.objid and g.tgrelid = any (tables))
                 when 'pg_rewrite'::regclass then
                   exists (select from pg_rewrite r where r.oid = c.objid and r.ev_class = any (tables))
                 when 'pg_policy'::regclass then
                   exists (select from pg_policy p where p.oid = c.objid and p.polrelid = any (tables))
                 when 'pg_namespace'::regclass then c.command_tag = 'ALTER SCHEMA'
                   and exists (select from pg_class t where t.oid = any (tables) and t.relnamespace = c.objid)
                 else false end
             limit 1;
           end if;
           if hit is not null then
             raise exception using
               errcode = '{SQLSTATE_REFUSED}',
               message = format('%s of %s is refused while migration %s moves rows of its table', tg_tag, hit, {id}),
               hint = 'wait for the migration to end';
           end if;
         end $ddl$",
        name = function_name(migration),
        tables = oids(&watched.tables),
        indexes = oids(&watched.indexes),
        names = names.join(", "),
        role = quote_literal(role),
        id = quote_literal(migration.as_str()),
    )
}
