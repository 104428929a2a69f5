//! Proof that a session is in the database that was registered as the shard.
//!
//! A session says first which database it must be in, and is refused in any other ([`opening`]). What deletes,
//! truncates, drops or closes proves it once more, in its own transaction ([`proof`]).
//! A standby that was promoted in the database's place has its identity and a later timeline. Sessions go on there, as
//! I10 allows; what deletes an owner's rows, or mends or sweeps on an operator's word, does not, until the server is
//! accepted.

use connect::{Connected, Opening};
use plans::identity::DatabaseIdentity;
use plans::names::{IDENTITY_SETTING, SQLSTATE_OTHER_DATABASE};
use plans::sql::quote_literal;
use tokio_postgres::Row;

/// The table that holds the random id of a database, once it is registered; it stays when no migration is left.
pub(crate) const TABLE: &str = "database";

/// What a session of a primary reads of its database but the random id: system identifier, timeline, OID.
const LOCATION: &str = "select c.system_identifier::text,
        ('x' || pg_catalog.lpad(pg_catalog.substring(pg_catalog.pg_walfile_name(
            pg_catalog.pg_current_wal_insert_lsn()), 1, 8), 8, '0'))::bit(32)::int::text,
        d.oid::text
    from pg_catalog.pg_control_system() c, pg_catalog.pg_database d
    where d.datname = pg_catalog.current_database()";

/// Which timelines of the database's server are the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimelineRule {
    /// The one that is registered.
    Same,
    /// That, or a later one: a standby was promoted in its place.
    NotEarlier,
}

/// Refuses to go on in a database that is not the one that the session must be in; without a word about it, in any.
///
/// One statement, for a transaction of its own or of others.
pub(crate) fn proof_sql(timeline: TimelineRule) -> String {
    let (wrong_timeline, no_id) = match timeline {
        TimelineRule::Same => ("found[2] <> known[2]", "false"),
        // Restored from before it had an id: what went back must be closed.
        TimelineRule::NotEarlier => ("found[2]::int < known[2]::int", "found[4] = '-'"),
    };
    format!(
        "do $identity$
         declare
           known text[] := pg_catalog.string_to_array(nullif(pg_catalog.current_setting('{IDENTITY_SETTING}', true), ''), ' ');
           found text[];
         begin
           if known is null then return; end if;
           select array[system, timeline, database] into found from ({LOCATION}) place (system, timeline, database);
           if pg_catalog.to_regclass('shardwright.{TABLE}') is null then
             found := found || '-'::text;
           else
             found := found || coalesce((select id::text from shardwright.{TABLE}), '-');
           end if;
           if found[1] <> known[1] or {wrong_timeline}
              or known[3] not in ('-', found[3]) or (known[4] not in ('-', found[4]) and not {no_id}) then
             raise exception using errcode = '{SQLSTATE_OTHER_DATABASE}', message = pg_catalog.format(
               'another database answers: system %s, timeline %s, database %s, id %s; registered is system %s, timeline %s, database %s, id %s',
               found[1], found[2], found[3], found[4], known[1], known[2], known[3], known[4]);
           end if;
         end $identity$"
    )
}

/// How a session says which database it must be in, and is refused in any other. What is registered to the letter is
/// found by a look: the proof takes twice as long as all settings of a session.
pub(crate) fn session_opening(known: &DatabaseIdentity) -> Opening {
    let or_any = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let values = [
        known.system.clone(),
        known.timeline.to_string(),
        or_any(known.database.map(|oid| oid.to_string())),
        or_any(known.id.clone()),
    ];
    let setting = quote_literal(&values.join(" "));
    let setting = format!("set {IDENTITY_SETTING} = {setting}");
    let [system, timeline, database, id] = values.each_ref().map(|value| quote_literal(value));
    let look = format!(
        "select system = {system} and timeline = {timeline} and database = {database}
           and (select id::text from shardwright.{TABLE}) = {id}
         from ({LOCATION}) place (system, timeline, database)"
    );
    let proof = proof_sql(TimelineRule::NotEarlier);
    Opening {
        look: format!("{setting}; {look}"),
        proof: format!("{setting}; {proof}"),
    }
}

/// The identity of the database that a session is in.
pub(crate) async fn read(client: &Connected) -> Result<DatabaseIdentity, tokio_postgres::Error> {
    let location = client.query_one(LOCATION, &[]).await?;
    let id = match is_registered(client).await? {
        true => registered_id(client).await?,
        false => None,
    };
    Ok(identity_from(&location, id))
}

/// Gives the database its random id, unless it has one.
pub(crate) async fn register(client: &Connected) -> Result<(), tokio_postgres::Error> {
    if is_registered(client).await? && registered_id(client).await?.is_some() {
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
             comment on table shardwright.{TABLE} is 'which shard of Shardwright this database is; made when it was registered';
             insert into shardwright.{TABLE} default values on conflict do nothing;
             -- whatever role an agent comes as
             grant usage on schema shardwright to public;
             grant select on shardwright.{TABLE} to public;
             commit"
        ))
        .await
}

/// True when the database has its random id.
pub(crate) async fn is_registered(client: &Connected) -> Result<bool, tokio_postgres::Error> {
    let sql = format!("select pg_catalog.to_regclass('shardwright.{TABLE}') is not null");
    Ok(client.query_one(&sql, &[]).await?.get(0))
}

async fn registered_id(client: &Connected) -> Result<Option<String>, tokio_postgres::Error> {
    let sql = format!("select id::text from shardwright.{TABLE}");
    let row = client.query_opt(&sql, &[]).await?;
    Ok(row.map(|row| row.get(0)))
}

fn identity_from(location: &Row, id: Option<String>) -> DatabaseIdentity {
    DatabaseIdentity {
        system: location.get(0),
        timeline: location.get::<_, String>(1).parse().unwrap_or(0),
        database: location.get::<_, String>(2).parse().ok(),
        id,
    }
}
