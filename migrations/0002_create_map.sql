-- Shard maps in append-only versions.

-- Lets an exclusion constraint compare names without an extension: a name is the range [name, name].
create type shardwright.name_range as range (subtype = text, collation = "C");

create table shardwright.map (
    name text collate "C" primary key check (name <> ''),
    strategy text not null check (strategy in ('range')),
    key_types text[] not null check (cardinality(key_types) between 1 and 3)
);
comment on column shardwright.map.key_types is 'types of the shard key''s columns';

create table shardwright.map_version (
    map text collate "C" not null references shardwright.map (name),
    version bigint not null check (version >= 1),
    migration text collate "C",
    created_by text not null,
    created_at timestamptz not null default now(),
    primary key (map, version)
);
comment on column shardwright.map_version.version is 'grows by one; the highest is the one in force';
comment on column shardwright.map_version.migration is 'the migration whose flip made this version; null for one made by hand';

create table shardwright.mapping (
    map text collate "C" not null,
    version bigint not null,
    lower bigint,
    upper bigint,
    shard text collate "C" not null references shardwright.shard (name),
    keys int8range not null generated always as (int8range(lower, upper)) stored,
    foreign key (map, version) references shardwright.map_version (map, version),
    constraint mapping_holds_a_key check (not isempty(keys)),
    constraint key_has_one_owner exclude using gist (
        shardwright.name_range(map, map, '[]') with &&,
        int8range(version, version, '[]') with &&,
        keys with &&
    )
);
comment on column shardwright.mapping.lower is 'first key; null: no lower bound';
comment on column shardwright.mapping.upper is 'first key after the last; null: no upper bound';
comment on column shardwright.mapping.shard is 'the owner of these keys in this version';

create function shardwright.refuse_change() returns trigger
    language plpgsql
    as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end
$$;
create trigger append_only before update or delete or truncate on shardwright.map_version
    for each statement execute function shardwright.refuse_change();
create trigger append_only before update or delete or truncate on shardwright.mapping
    for each statement execute function shardwright.refuse_change();

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
