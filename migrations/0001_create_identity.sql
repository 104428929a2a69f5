-- Who this store is, which agents speak to it, which shards it knows.

create schema if not exists shardwright;
comment on schema shardwright is 'control store of Shardwright; applications read the views shard_map and shard_map_history';

create table shardwright.store_identity (
    only_row boolean primary key default true check (only_row),
    incarnation uuid not null default gen_random_uuid(),
    created_at timestamptz not null default now()
);
comment on column shardwright.store_identity.incarnation is
    'random id of this store, part of every map version and ETag: a store restored into another place is told apart';
insert into shardwright.store_identity default values;

create table shardwright.shard (
    name text collate "C" primary key check (name <> ''),
    dsn text not null check (dsn <> ''),
    created_at timestamptz not null default now()
);
comment on column shardwright.shard.dsn is 'connection string; its password is a reference that only an agent resolves';

create table shardwright.agent (
    name text collate "C" primary key check (name <> ''),
    instance text not null,
    protocol integer not null,
    last_seen timestamptz not null
);
comment on column shardwright.agent.instance is 'the process of this name that spoke last; an older one has lost what it held';
