-- Who this store is, which agents speak to it, which shards it knows, what was ordered.

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
    number integer primary key check (number >= 1),
    name text collate "C" not null check (name <> ''),
    dsn text not null check (dsn <> ''),
    labels jsonb not null default '{}' check (jsonb_typeof(labels) = 'object'),
    capacity bigint not null check (capacity >= 0),
    space bigint check (space >= 0),
    created_at timestamptz not null default now(),
    removed_at timestamptz
);
comment on column shardwright.shard.number is
    'place in the fleet, assigned in order; sequences are shared out by it, so no other shard ever gets it';
comment on column shardwright.shard.dsn is 'connection string; its password is a reference that only an agent resolves';
comment on column shardwright.shard.capacity is 'how much load it should carry, relative to the others';
comment on column shardwright.shard.space is 'bytes of rows that it can hold; null: not limited';
comment on column shardwright.shard.removed_at is
    'when it was forgotten; the row stays, since old versions of maps name it and its number stays taken';
create unique index shard_by_name on shardwright.shard (name) where removed_at is null;

create table shardwright.agent (
    name text collate "C" primary key check (name <> ''),
    instance text not null,
    protocol integer not null,
    last_seen timestamptz not null
);
comment on column shardwright.agent.instance is 'the process of this name that spoke last; an older one has lost what it held';

create function shardwright.refuse_change() returns trigger
    language plpgsql
    as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end
$$;

create table shardwright.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    actor text not null,
    action text not null,
    object text not null,
    data jsonb not null
);
comment on table shardwright.audit is
    'what operators changed outside of migrations, append-only; migrations have journals of their own';
create trigger append_only before update or delete or truncate on shardwright.audit
    for each statement execute function shardwright.refuse_change();
