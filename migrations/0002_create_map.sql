-- Shard maps in append-only versions.

-- Lets an exclusion constraint compare names without an extension: a name is the range [name, name].
create type shardwright.name_range as range (subtype = text, collation = "C");

-- Keys of any type as bytes in key order: one range of keys, one range of virtual shards, or one key.
create type shardwright.key_span as range (subtype = bytea, multirange_type_name = shardwright.key_spans);

create function shardwright.spans(lower bytea[], upper bytea[]) returns shardwright.key_spans
    language sql immutable parallel safe
    as $$
    select coalesce(range_agg(shardwright.key_span(l, u)), shardwright.key_spans())
    from unnest(lower, upper) as s (l, u)
$$;
comment on function shardwright.spans is 'a set of keys from the ends of its pieces; a null end has no bound';

create table shardwright.map (
    name text collate "C" primary key check (name <> ''),
    strategy text not null check (strategy in ('range', 'hash', 'list')),
    key_types text[] not null check (
        key_types <@ array['smallint', 'integer', 'bigint', 'text', 'uuid', 'bytea', 'date', 'timestamptz']),
    buckets integer not null,
    constraint composite_keys_have_ranges check (
        cardinality(key_types) between 1 and case strategy when 'range' then 3 else 1 end),
    constraint hash_has_buckets check (case strategy
        when 'hash' then buckets between 1 and 16777216 and buckets & (buckets - 1) = 0
        else buckets = 0 end)
);
comment on column shardwright.map.key_types is 'types of the shard key''s columns';
comment on column shardwright.map.buckets is 'virtual shards of a hash map, a power of two; 0 for the others';

create table shardwright.map_version (
    map text collate "C" not null references shardwright.map (name),
    version bigint not null check (version >= 1),
    migration text collate "C",
    created_by text not null,
    created_at timestamptz not null default now(),
    pieces bigint not null check (pieces >= 0),
    added bigint not null check (added >= 0),
    removed bigint not null check (removed >= 0),
    primary key (map, version)
);
comment on column shardwright.map_version.version is 'grows by one; the highest is the one in force';
comment on column shardwright.map_version.migration is 'the migration whose flip made this version; null for one made by hand';
comment on column shardwright.map_version.pieces is 'mappings in this version';
comment on column shardwright.map_version.added is 'mappings that are new in this version';
comment on column shardwright.map_version.removed is 'mappings of the version before that are not in this one';

create table shardwright.map_settings (
    map text collate "C" not null references shardwright.map (name),
    revision bigint not null check (revision >= 1),
    settings jsonb not null,
    created_by text not null,
    created_at timestamptz not null,
    primary key (map, revision)
);
comment on table shardwright.map_settings is
    'what a map knows besides its mappings: tables, rules, sequences; the highest revision is in force';

create table shardwright.mapping (
    map text collate "C" not null,
    since bigint not null,
    until bigint,
    span shardwright.key_span not null,
    keys jsonb not null,
    shard integer not null references shardwright.shard (number),
    constraint mapping_holds_a_key check (not isempty(span)),
    constraint mapping_is_in_a_version check (until > since),
    constraint listed_key_is_a_point check (not keys ? 'list' or upper(span) = lower(span) || '\x00'::bytea),
    constraint key_has_one_owner exclude using gist (
        span with &&,
        shardwright.name_range(map, map, '[]') with &&,
        int8range(since, until) with &&
    ) where (not keys ? 'list')
);
comment on table shardwright.mapping is
    'who owns what: one row for a range of keys, a range of virtual shards, or a key of a list map';
comment on column shardwright.mapping.since is 'first version with this mapping';
comment on column shardwright.mapping.until is 'first version without it; null: it is in force';
comment on column shardwright.mapping.span is 'the keys as bytes in key order, or the virtual shards as numbers';
comment on column shardwright.mapping.keys is 'the keys as people and programs read them';
comment on column shardwright.mapping.shard is 'the owner of these keys in these versions';
-- Points are equal or apart, so for a list map of many keys this does what key_has_one_owner would do, much faster.
create unique index key_is_listed_once on shardwright.mapping (map, span) where until is null;

create trigger append_only before update or delete or truncate on shardwright.map_version
    for each statement execute function shardwright.refuse_change();
create trigger append_only before update or delete or truncate on shardwright.map_settings
    for each statement execute function shardwright.refuse_change();
create trigger append_only before delete or truncate on shardwright.mapping
    for each statement execute function shardwright.refuse_change();
create trigger closed_once before update on shardwright.mapping
    for each row when (old.until is not null or new.until is null
        or (new.map, new.since, new.span, new.keys, new.shard)
            is distinct from (old.map, old.since, old.span, old.keys, old.shard))
    execute function shardwright.refuse_change();

-- A version that is not the newest has been read already, so no mapping enters or leaves it.
-- Statement by statement in place of foreign keys, whose checks row by row are slow for a million keys.
create function shardwright.refuse_other_version() returns trigger
    language plpgsql
    as $$
declare
    other record;
begin
    select c.map, c.version into other
    from (select distinct map, case tg_op when 'INSERT' then since else until end as version from changed) c
    where c.version is distinct from (select max(v.version) from shardwright.map_version v where v.map = c.map)
    limit 1;
    if found then
        raise exception 'version % of map % is not its newest', other.version, other.map
            using errcode = 'integrity_constraint_violation';
    end if;
    return null;
end
$$;
create trigger enters_newest_version after insert on shardwright.mapping
    referencing new table as changed
    for each statement execute function shardwright.refuse_other_version();
create trigger leaves_by_newest_version after update on shardwright.mapping
    referencing new table as changed
    for each statement execute function shardwright.refuse_other_version();

create function shardwright.announce_map_version() returns trigger
    language plpgsql
    as $$
begin
    if new.version <> 1 + coalesce(
        (select max(version) from shardwright.map_version v where v.map = new.map and v.version <> new.version), 0)
    then
        raise exception 'version % of map % does not follow the version before it', new.version, new.map
            using errcode = 'integrity_constraint_violation';
    end if;
    perform pg_notify('shardwright_map', new.map || ' ' || new.version);
    return null;
end
$$;
create trigger announce after insert on shardwright.map_version
    for each row execute function shardwright.announce_map_version();
