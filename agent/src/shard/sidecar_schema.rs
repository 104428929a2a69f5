//! The sidecar schema `shardwright` on a shard: epochs, copy chunks, progress, dirty keys. It is created on first use.

use connect::Connected;

use super::epoch::{self, EpochToken, MOVE_EXISTS};
use super::identity;
use crate::error::{StepError, WithIntent};
use plans::sql::quote_literal;

/// The tables. Each row contains the id of its migration.
const SCHEMA: &str = "
create schema if not exists shardwright;
comment on schema shardwright is 'made by Shardwright; `shardwright cleanup` removes what is left over';
create table if not exists shardwright.move (
    migration text primary key,
    role text not null check (role in ('source', 'target')),
    epoch bigint not null,
    attempt bigint not null default 0,
    map text not null,
    map_version bigint not null,
    flipped bigint,
    read_only boolean not null default false,
    drop_script text,
    loaded boolean not null default false,
    away jsonb,
    about jsonb,
    owns boolean,
    published text,
    created_at timestamptz not null default now()
);
comment on column shardwright.move.epoch is 'only the owner with this epoch may write for the migration';
comment on column shardwright.move.attempt is 'increases before each register change; from 1000 n on for cutover attempt n, its releases and recoveries';
comment on column shardwright.move.read_only is 'the keys are read-only from the copy to the flip';
comment on column shardwright.move.drop_script is 'written by older versions; shardwright.created has the objects that a migration created';
comment on column shardwright.move.loaded is 'target: all rows of the moving keys were written by the migration';
comment on column shardwright.move.away is 'target: the moving keys that this shard had released before';
comment on column shardwright.move.about is 'source, target, keys and tables of the move, in case the control store is lost';
comment on column shardwright.move.owns is 'the migration opened the keys here last, and the shard was not notified of a flip since';
comment on column shardwright.move.published is 'state of the migration''s publication on this shard when it was created';
comment on column shardwright.move.flipped is 'the map version that last changed the owner of the keys, recorded after the flip';
create table if not exists shardwright.created (
    migration text not null,
    class oid not null,
    oid oid not null,
    type text not null,
    identity text not null,
    primary key (migration, class, oid)
);
comment on table shardwright.created is 'target: objects that the migration created, by catalog and OID; an abort drops those that are not shared';
create table if not exists shardwright.shared_object (
    migration text not null,
    class oid not null,
    oid oid not null,
    primary key (migration, class, oid)
);
comment on table shardwright.shared_object is 'objects of shardwright.created that other migrations can use; an abort keeps them';
create table if not exists shardwright.schema_entry (
    migration text not null,
    ordinal int not null,
    section text not null check (section in ('pre', 'key', 'post')),
    parallel boolean not null,
    label text not null,
    statement text not null,
    done boolean not null default false,
    primary key (migration, ordinal)
);
create table if not exists shardwright.snapshot (
    migration text not null,
    number int not null,
    snapshot text not null,
    barrier pg_lsn not null,
    taken_at timestamptz not null default clock_timestamp(),
    primary key (migration, number)
);
comment on table shardwright.snapshot is 'snapshots of the source that the copy was made with; 0 is the slot''s own';
comment on column shardwright.snapshot.barrier is 'all that the snapshot saw was durable before this position of the source';
create table if not exists shardwright.capture (
    migration text primary key,
    timeline int not null
);
comment on table shardwright.capture is 'the timeline of the other shard to which the progress of the stream from there belongs';
create table if not exists shardwright.chunk (
    migration text not null,
    ordinal int not null,
    unit int not null,
    relation text not null,
    filenode oid not null,
    from_block bigint not null,
    to_block bigint,
    by_key boolean not null default false,
    low text,
    high text,
    snapshot int,
    begun int not null default 0,
    done boolean not null default false,
    rows bigint not null default 0,
    bytes bigint not null default 0,
    primary key (migration, ordinal)
);
create table if not exists shardwright.resync (
    migration text not null,
    run int not null,
    relation text not null,
    ordinal int not null,
    part text not null,
    compared boolean not null default false,
    done boolean not null default false,
    rows bigint not null default 0,
    deleted bigint not null default 0,
    copied bigint not null default 0,
    bytes bigint not null default 0,
    primary key (migration, run, relation, ordinal)
);
comment on table shardwright.resync is 'target: parts of tables that were compared with the source because changes after their copy were lost';
create table if not exists shardwright.resync_keys (
    migration text not null,
    relation text not null,
    ordinal int not null,
    id bigint generated always as identity,
    keys text[] not null,
    primary key (migration, relation, id)
);
comment on table shardwright.resync_keys is 'rows that the agent has to copy again, by primary key, without their values';
create table if not exists shardwright.adopted (
    migration text not null,
    relation text not null,
    snapshot int not null,
    primary key (migration, relation)
);
comment on table shardwright.adopted is 'partitions that the application created during the migration; they are copied with this snapshot or a later one';
create table if not exists shardwright.adopted_storage (
    migration text not null,
    direction text not null,
    relation text not null,
    storage text not null,
    primary key (migration, direction, relation)
);
comment on table shardwright.adopted_storage is 'partitions that were adopted after a flip, and the storage that they had on the owner then';
create table if not exists shardwright.published_table (
    migration text not null,
    direction text not null,
    entry oid not null,
    relation oid not null,
    schema_name text not null,
    name text not null,
    retired boolean not null default false,
    primary key (migration, direction, entry)
);
comment on table shardwright.published_table is 'tables of the migration''s publication when the agent changed it last; entry is the OID in pg_publication_rel';
comment on column shardwright.published_table.retired is 'the application has dropped or detached the table; the stream discards its changes';
create table if not exists shardwright.followed (
    migration text primary key,
    definitions jsonb not null,
    position pg_lsn not null,
    changes jsonb not null
);
comment on table shardwright.followed is 'the definitions that the owner''s tables had when the agent made their last change on this shard';
create table if not exists shardwright.progress (
    migration text not null,
    direction text not null,
    lsn pg_lsn not null,
    opened boolean not null default false,
    transactions bigint not null default 0,
    changes bigint not null default 0,
    primary key (migration, direction)
);
comment on column shardwright.progress.lsn is 'end of the last source transaction that is applied here; commits with the data';
comment on column shardwright.progress.opened is 'reverse: the marker opened has arrived, later changes are the application''s own';
create table if not exists shardwright.dirty (
    migration text not null,
    relation text not null,
    id bigint generated always as identity,
    lsn pg_lsn not null,
    size bigint not null,
    keys text[] not null,
    primary key (migration, relation, id)
);
comment on column shardwright.dirty.size is 'number of keys, so that counting does not read them';
create table if not exists shardwright.verification (
    migration text not null,
    direction text not null,
    run bigint not null,
    fingerprint text not null,
    storage text not null,
    started_at timestamptz not null default now(),
    finished_at timestamptz,
    repaired bigint not null default 0,
    primary key (migration, direction)
);
comment on table shardwright.verification is 'the last comparison of this copy with its owner';
create table if not exists shardwright.verified (
    migration text not null,
    direction text not null,
    relation text not null,
    ordinal int not null,
    part text not null,
    compared_at pg_lsn,
    rows bigint not null default 0,
    missing bigint not null default 0,
    extra bigint not null default 0,
    changed bigint not null default 0,
    sums numeric[],
    primary key (migration, direction, relation, ordinal)
);
comment on table shardwright.verified is 'chunks of the last comparison';
comment on column shardwright.verified.sums is 'the owner''s two sums of hashes of the chunk''s rows';
comment on column shardwright.verified.compared_at is 'point in the owner''s log; a chunk that was equal there is not compared again in this run';
create table if not exists shardwright.difference (
    migration text not null,
    direction text not null,
    relation text not null,
    ordinal int not null,
    key text not null,
    digest bytea not null,
    kind text not null check (kind in ('missing', 'extra', 'changed')),
    columns text[] not null,
    primary key (migration, direction, relation, digest)
);
comment on table shardwright.difference is 'rows that the last comparison found to differ, by primary key, without their values';
create table if not exists shardwright.seed (
    migration text primary key,
    target text not null,
    id uuid not null,
    timeline int not null,
    slot text,
    requested boolean not null default false
);
comment on table shardwright.seed is 'source: standbys that migrations promote; a target that was promoted has a copy of its row';
comment on column shardwright.seed.requested is 'an agent may have requested the promotion';
create table if not exists shardwright.dual_write (
    migration text primary key,
    former text not null
);
comment on table shardwright.dual_write is 'migrations in synchronous_standby_names, and its value without all of them';
create table if not exists shardwright.away (
    map text primary key,
    keys jsonb not null,
    map_version bigint not null
);
comment on table shardwright.away is 'released keys, which this shard refuses; triggers shardwright_guard_away_* contain the same keys';
create table if not exists shardwright.given (
    map text not null,
    version bigint not null,
    keys jsonb not null,
    shard text not null,
    migration text not null,
    primary key (map, version)
);
comment on table shardwright.given is 'which shard became the owner of released keys, by the map version of the flip';
comment on table shardwright.dirty is 'log of keys that changed after the comparison; compared again before and inside the cutover';
";

/// Names of Shardwright's sequences: registers, and the counters of guards ([`plans::names`]).
const SEQUENCES: &str = "^(own|refused|skips|skipped)_";
/// Names of Shardwright's functions: those of guards for rows and for definitions.
const FUNCTIONS: &str = "^(guard|shardwright_ddl)_";

/// Excludes other transactions that create the schema, enrol a migration or drop the schema.
const LOCK: &str =
    "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('shardwright:schema', 0))";

/// Creates the schema unless it exists. Several migrations may call this at once.
///
/// The schema remains only as long as a migration is enrolled: see [`enrol`].
pub(crate) async fn create(client: &Connected) -> Result<(), StepError> {
    let shard = client.name();
    client
        .batch_execute(&format!("begin; {LOCK}; {SCHEMA} commit"))
        .await
        .at(format_args!("shard {shard}: creating schema shardwright"))
}

/// Creates the schema unless it exists, and the migration's row in it, in one transaction. A migration that ends
/// meanwhile cannot drop the schema in between.
pub(crate) async fn enrol(
    client: &Connected,
    token: &EpochToken,
    role: &str,
    map: &str,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: creating schema shardwright");
    let created = client
        .batch_execute(&format!("begin; {LOCK}; {SCHEMA}"))
        .await;
    let enrolment = match created {
        Ok(()) => epoch::enrol(client, token, role, map).await,
        Err(error) => Err(error).at(&what),
    };
    match enrolment {
        Ok(()) => epoch::commit(client, &what).await,
        Err(error) => {
            epoch::rollback(client).await;
            Err(error)
        }
    }
}

/// Creates the tables that the version which enrolled the migration did not have, in a transaction that proves the
/// database and the epoch (I7). It does nothing on a shard on which the migration is not enrolled.
pub(crate) async fn add_missing_tables(
    client: &Connected,
    token: &EpochToken,
) -> Result<(), StepError> {
    if !epoch::is_enrolled(client, token).await? {
        return Ok(());
    }
    let shard = client.name();
    let what = format!("shard {shard}: adding tables to schema shardwright");
    let names: Vec<&str> = tables().filter(|table| *table != identity::TABLE).collect();
    let missing = "select exists (select from pg_catalog.unnest($1::pg_catalog.text[]) name
                                  where pg_catalog.to_regclass('shardwright.' || name) is null)";
    let is_missing = client.query_one(missing, &[&names]).await.at(&what)?;
    if !is_missing.get::<_, bool>(0) {
        return Ok(());
    }
    let added = epoch::execute(client, token, &format!("{LOCK}; {SCHEMA}")).await;
    added.at(&what)
}

/// Returns the names of all tables in the schema.
pub(crate) fn tables() -> impl Iterator<Item = &'static str> {
    let others = [
        "move",
        "seed",
        "dual_write",
        "published_table",
        "away",
        "given",
        identity::TABLE,
    ];
    COPY_TABLES.into_iter().chain(others)
}

/// The tables with the records of a migration's copy.
const COPY_TABLES: [&str; 16] = [
    "created",
    "shared_object",
    "followed",
    "capture",
    "adopted",
    "adopted_storage",
    "chunk",
    "snapshot",
    "resync",
    "resync_keys",
    "progress",
    "dirty",
    "verification",
    "verified",
    "difference",
    "schema_entry",
];

/// Returns the statements that delete the migration's rows from the tables.
fn delete_sql(tables: &[&str], token: &EpochToken) -> String {
    let id = quote_literal(&token.migration.0);
    let deletes = tables
        .iter()
        .map(|table| format!("delete from shardwright.{table} where migration = {id}; "));
    deletes.collect()
}

/// Deletes the records of a copy that was removed, and the results of its comparison.
pub(crate) async fn delete_copy_records(
    client: &Connected,
    token: &EpochToken,
) -> Result<(), StepError> {
    let shard = client.name();
    let sql = format!(
        "{}update shardwright.move set loaded = false where migration = {}",
        delete_sql(&COPY_TABLES, token),
        quote_literal(&token.migration.0)
    );
    epoch::execute(client, token, &sql).await.at(format_args!(
        "shard {shard}: deleting the records of the copy"
    ))
}

/// Deletes the results of the comparison of an incomplete copy.
pub(crate) async fn delete_comparison(
    client: &Connected,
    token: &EpochToken,
) -> Result<(), StepError> {
    let shard = client.name();
    let sql = delete_sql(&["verification", "verified", "difference"], token);
    epoch::execute(client, token, &sql).await.at(format_args!(
        "shard {shard}: deleting the results of a comparison"
    ))
}

/// Deletes the migration's rows, and drops the schema if no migration is left in it.
pub(crate) async fn remove_migration(
    client: &Connected,
    token: &EpochToken,
) -> Result<(), StepError> {
    let shard = client.name();
    if !epoch::schema_exists(client).await? {
        return Ok(());
    }
    let what = format!("shard {shard}: removing the migration's rows");
    if epoch::is_enrolled(client, token).await? {
        let sql = delete_sql(&COPY_TABLES, token)
            + &delete_sql(&["published_table", "seed", "dual_write", "move"], token);
        epoch::execute(client, token, &sql).await.at(&what)?;
    }
    client.batch_execute(&drop_unused_sql()).await.at(&what)
}

/// Drops the schema unless it is in use.
pub(crate) async fn drop_if_unused(client: &Connected) -> Result<(), StepError> {
    let shard = client.name();
    client
        .batch_execute(&drop_unused_sql())
        .await
        .at(format_args!("shard {shard}: dropping schema shardwright"))
}

/// Returns the statements that drop Shardwright's objects and then the schema. They do nothing if a migration or a
/// guard of released keys is left, or if the schema does not exist. The schema remains if the database is registered,
/// because its id is in it, and if it contains objects that are not Shardwright's.
///
/// The table is searched in the catalog: `to_regclass` reads the session's cache, which a wait for an advisory lock does
/// not refresh, and another migration may have dropped the schema meanwhile.
fn drop_unused_sql() -> String {
    let owned_tables = tables().filter(|table| *table != identity::TABLE);
    let owned_tables: Vec<String> = owned_tables.map(quote_literal).collect();
    format!(
        "begin; {LOCK};
         do $$ declare drops text; begin
           if not {MOVE_EXISTS} then return; end if;
           if exists (select from shardwright.move) or exists (select from shardwright.away) then
             return;
           end if;
           select pg_catalog.string_agg(pg_catalog.format('drop %s if exists shardwright.%s cascade', kind, name), '; ')
           into drops from (
             select case c.relkind when 'S' then 'sequence' else 'table' end, pg_catalog.quote_ident(c.relname)
             from pg_catalog.pg_class c
             where c.relnamespace = 'shardwright'::pg_catalog.regnamespace
               and (c.relkind = 'r' and c.relname = any (array[{owned_tables}]) or c.relkind = 'S' and c.relname ~ '{SEQUENCES}')
             union all
             select 'function', pg_catalog.format('%I(%s)', p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid))
             from pg_catalog.pg_proc p
             where p.pronamespace = 'shardwright'::pg_catalog.regnamespace and p.proname ~ '{FUNCTIONS}'
           ) object (kind, name);
           execute drops;
           if pg_catalog.to_regclass('shardwright.{id}') is null then
             begin
               drop schema shardwright;
             exception when dependent_objects_still_exist then null;
             end;
           end if;
         end $$;
         commit",
        owned_tables = owned_tables.join(", "),
        id = identity::TABLE,
    )
}
