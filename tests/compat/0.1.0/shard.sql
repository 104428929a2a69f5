-- The tables of schema shardwright on a shard, as agents of 0.1.0 create them.
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
comment on column shardwright.move.epoch is 'only the owner under this epoch may write for the migration';
comment on column shardwright.move.attempt is 'advances before each register change; 1000 n and up for cutover attempt n, its releases and recoveries';
comment on column shardwright.move.read_only is 'the keys are read-only from the copy to the flip';
comment on column shardwright.move.drop_script is 'target: drops the tables that the migration created; null where it created none';
comment on column shardwright.move.loaded is 'target: rows of the moving keys are here because of the migration alone';
comment on column shardwright.move.away is 'target: those of the moving keys that this shard had given away before';
comment on column shardwright.move.about is 'what moves from where to where, so that the shard can speak for a control store that was lost';
comment on column shardwright.move.owns is 'we opened the keys here last, and were not told of a flip since';
comment on column shardwright.move.published is 'what the publication of ours on this shard was when it was made';
comment on column shardwright.move.flipped is 'the map version that last changed the owner of the keys, told after the flip';
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
comment on column shardwright.snapshot.barrier is 'everything that the snapshot saw was durable before this position of the source';
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
comment on column shardwright.progress.opened is 'reverse: the open marker was seen, what follows is the application''s own';
create table if not exists shardwright.dirty (
    migration text not null,
    relation text not null,
    id bigint generated always as identity,
    lsn pg_lsn not null,
    size bigint not null,
    keys text[] not null,
    primary key (migration, relation, id)
);
comment on column shardwright.dirty.size is 'how many keys: they are counted without being read';
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
create table if not exists shardwright.dual_write (
    migration text primary key,
    former text not null
);
comment on table shardwright.dual_write is 'migrations in synchronous_standby_names, and what it was without all of them';
create table if not exists shardwright.away (
    map text primary key,
    keys jsonb not null,
    map_version bigint not null
);
comment on table shardwright.away is 'keys that this shard gave away and refuses for good; triggers shardwright_guard_away_* hold the same';
create table if not exists shardwright.given (
    map text not null,
    version bigint not null,
    keys jsonb not null,
    shard text not null,
    migration text not null,
    primary key (map, version)
);
comment on table shardwright.given is 'which shard took the keys that this one gave away, by the map version of the flip';
comment on table shardwright.dirty is 'log of keys changed since the last comparison; compared again before and inside the cutover';
