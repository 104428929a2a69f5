//! Proves that a session is in the database that was registered as the shard.
//!
//! Each session first sets the identity of the database that it expects, and is refused in any other
//! ([`session_opening`]). A transaction that deletes, truncates, drops or closes checks it again ([`proof_sql`]).
//!
//! A standby that was promoted has the same identity and a later timeline. I10 allows sessions to continue there. Until
//! an operator accepts the server, no transaction deletes an owner's rows on it, and no repair or sweep runs there.

use connect::{Connected, Opening};
use plans::identity::DatabaseIdentity;
use plans::names::{IDENTITY_SETTING, SQLSTATE_OTHER_DATABASE};
use plans::sql::quote_literal;
use tokio_postgres::Row;

use crate::error::{StepError, WithIntent};

/// The table with the random id of a registered database. It remains when the last migration has ended.
pub(crate) const TABLE: &str = "database";

/// The expression for the timeline of a primary. Unlike the control file it is current immediately after a promotion. It
/// fails on a standby.
pub(crate) const TIMELINE: &str = "('x' || pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8))::pg_catalog.bit(32)::pg_catalog.int4";

/// The query for the identity of a database without its random id: system identifier, timeline, OID, and whether the
/// server is a standby.
const LOCATION: &str = "select c.system_identifier::text,
        case when pg_catalog.pg_is_in_recovery()
             then (select timeline_id from pg_catalog.pg_control_checkpoint())
             else ('x' || pg_catalog.substring(pg_catalog.pg_walfile_name(
                      pg_catalog.pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int end::text,
        d.oid::text, pg_catalog.pg_is_in_recovery()::text
    from pg_catalog.pg_control_system() c, pg_catalog.pg_database d
    where d.datname = pg_catalog.current_database()";

/// The timelines that a proof accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimelineRule {
    /// Only the registered timeline.
    Same,
    /// The registered timeline or a later one, which a promoted standby has.
    NotEarlier,
}

/// Returns one statement that fails if the session is not in the database that it must be in. It accepts any database
/// if the session has no such setting.
///
/// It may run in its own transaction or as part of another one.
pub(crate) fn proof_sql(timeline: TimelineRule) -> String {
    let (wrong_timeline, no_id) = match timeline {
        TimelineRule::Same => ("found[2] <> known[2]", "false"),
        // The database may have been restored from a backup without an id; closing its keys must be possible.
        TimelineRule::NotEarlier => ("found[2]::int < known[2]::int", "found[4] = '-'"),
    };
    format!(
        "do $identity$
         declare
           known text[] := pg_catalog.string_to_array(nullif(pg_catalog.current_setting('{IDENTITY_SETTING}', true), ''), ' ');
           found text[];
         begin
           if known is null then return; end if;
           select array[system, timeline, database, standby] into found from ({LOCATION}) place (system, timeline, database, standby);
           if pg_catalog.to_regclass('shardwright.{TABLE}') is null then
             found := array[found[1], found[2], found[3], '-', found[4]];
           else
             found := array[found[1], found[2], found[3], coalesce((select id::text from shardwright.{TABLE}), '-'), found[4]];
           end if;
           if found[1] <> known[1] or found[5] <> known[5] or {wrong_timeline}
              or known[3] not in ('-', found[3]) or (known[4] not in ('-', found[4]) and not {no_id}) then
             raise exception using errcode = '{SQLSTATE_OTHER_DATABASE}', message = pg_catalog.format(
               'another database answers: system %s, timeline %s, database %s, id %s%s; registered is system %s, timeline %s, database %s, id %s%s',
               found[1], found[2], found[3], found[4], case found[5] when 'true' then ', standby' else '' end,
               known[1], known[2], known[3], known[4], case known[5] when 'true' then ', standby' else '' end);
           end if;
         end $identity$"
    )
}

/// Returns the statements by which a new session sets and checks the database that it must be in. The short query is
/// sufficient if the whole identity matches. The proof takes twice as long as all settings of a session, and runs only
/// otherwise.
pub(crate) fn session_opening(known: &DatabaseIdentity) -> Opening {
    let or_any = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let values = [
        known.system.clone(),
        known.timeline.to_string(),
        or_any(known.database.map(|oid| oid.to_string())),
        or_any(known.id.clone()),
        known.standby.to_string(),
    ];
    let setting = quote_literal(&values.join(" "));
    let setting = format!("set {IDENTITY_SETTING} = {setting}");
    let [system, timeline, database, id, standby] =
        values.each_ref().map(|value| quote_literal(value));
    let quick_check = format!(
        "select system = {system} and timeline = {timeline} and database = {database} and standby = {standby}
           and (select id::text from shardwright.{TABLE}) = {id}
         from ({LOCATION}) place (system, timeline, database, standby)"
    );
    let proof = proof_sql(TimelineRule::NotEarlier);
    Opening {
        quick_check: format!("{setting}; {quick_check}"),
        proof: format!("{setting}; {proof}"),
    }
}

/// Reads the identity of the session's database.
pub(crate) async fn read(client: &Connected) -> Result<DatabaseIdentity, tokio_postgres::Error> {
    let location = client.query_one(LOCATION, &[]).await?;
    let is_standby = location.get::<_, String>(3) == "true";
    // The id in a standby's database is that of its primary.
    let id = match !is_standby && is_registered(client).await? {
        true => registered_id(client).await?,
        false => None,
    };
    Ok(identity_from(&location, id))
}

/// As [`read`], with an error that names the shard.
pub(crate) async fn read_named(client: &Connected) -> Result<DatabaseIdentity, StepError> {
    let what = format!("shard {}: identifying the server", client.name());
    read(client).await.at(what)
}

/// Creates the random id of the database, unless it has one or the server is a standby.
pub(crate) async fn register(client: &Connected) -> Result<(), tokio_postgres::Error> {
    let recovery = "select pg_catalog.pg_is_in_recovery()";
    let is_standby: bool = client.query_one(recovery, &[]).await?.get(0);
    if is_standby || is_registered(client).await? && registered_id(client).await?.is_some() {
        return Ok(());
    }
    client
        .batch_execute(&format!(
            "begin; select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('shardwright:schema', 0));
             create schema if not exists shardwright;
             create table if not exists shardwright.{TABLE} (
                 only_row boolean primary key default true check (only_row),
                 id uuid not null default pg_catalog.gen_random_uuid(),
                 registered_at timestamptz not null default now()
             );
             comment on table shardwright.{TABLE} is 'random id of this database as a shard of Shardwright; created when it was registered';
             insert into shardwright.{TABLE} default values on conflict do nothing;
             -- for agents with any role
             grant usage on schema shardwright to public;
             grant select on shardwright.{TABLE} to public;
             commit"
        ))
        .await
}

/// Returns true if the database has the table for its random id.
pub(crate) async fn is_registered(client: &Connected) -> Result<bool, tokio_postgres::Error> {
    let sql = format!("select pg_catalog.to_regclass('shardwright.{TABLE}') is not null");
    Ok(client.query_one(&sql, &[]).await?.get(0))
}

async fn registered_id(client: &Connected) -> Result<Option<String>, tokio_postgres::Error> {
    let sql = format!("select id::text from shardwright.{TABLE}");
    let row = client.query_opt(&sql, &[]).await?;
    Ok(row.map(|row| row.get(0)))
}

/// Builds the identity from a row of [`LOCATION`] and the random id.
fn identity_from(location: &Row, id: Option<String>) -> DatabaseIdentity {
    DatabaseIdentity {
        system: location.get(0),
        timeline: location.get::<_, String>(1).parse().unwrap_or(0),
        database: location.get::<_, String>(2).parse().ok(),
        id,
        standby: location.get::<_, String>(3) == "true",
    }
}
