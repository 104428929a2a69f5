-- A map can get another strategy or another key from one version to the next.

alter table shardwright.map_version add strategy text not null default '';
alter table shardwright.map_version add key_types text[] not null default '{}';
-- The versions so far have the strategy and the key of their map.
alter table shardwright.map_version disable trigger user;
update shardwright.map_version v set strategy = m.strategy, key_types = m.key_types
from shardwright.map m where m.name = v.map;
alter table shardwright.map_version enable trigger user;
comment on column shardwright.map_version.strategy is 'how this version divides keys';
comment on column shardwright.map_version.key_types is 'types of the key''s columns in this version';
comment on column shardwright.map.strategy is 'how the version in force divides keys';
comment on column shardwright.map.key_types is 'types of the key''s columns in the version in force';

create or replace function shardwright.set_version_buckets() returns trigger
    language plpgsql set search_path = pg_catalog
    as $$
begin
    select m.buckets, m.strategy, m.key_types into new.buckets, new.strategy, new.key_types
    from shardwright.map m where m.name = new.map;
    return new;
end
$$;

create or replace view shardwright.shard_map_history as
select m.map, v.version, v.strategy, m.keys,
    shardwright.key_text(m.keys #> '{range,0,from}') as lower,
    shardwright.key_text(m.keys #> '{range,0,to}') as upper,
    (m.keys #>> '{hash,ranges,0,from}')::integer as bucket_from,
    (m.keys #>> '{hash,ranges,0,to}')::integer as bucket_to,
    shardwright.key_text(m.keys #> '{list,0}') as key,
    s.name as shard, v.migration, v.created_by, v.created_at
from shardwright.mapping m
join shardwright.map p on p.name = m.map
join shardwright.shard s on s.number = m.shard
join shardwright.map_version v on v.map = m.map and v.version >= m.since and (m.until is null or v.version < m.until)
where p.removed_at is null and v.version >= p.first_version;

create table shardwright.conversion (
    id text collate "C" primary key,
    map text collate "C" not null references shardwright.map,
    epoch bigint not null default 1,
    before bigint not null,
    version bigint,
    shards text[] not null,
    created_by text not null,
    created_at timestamptz not null,
    finished_at timestamptz,
    foreign key (map, before) references shardwright.map_version (map, version),
    foreign key (map, version) references shardwright.map_version (map, version)
);
comment on table shardwright.conversion is 'changes of the strategy or the key of a map';
comment on column shardwright.conversion.epoch is 'only the owner with this epoch may write on the shards for the conversion';
comment on column shardwright.conversion.before is 'version of the map before the conversion';
comment on column shardwright.conversion.version is 'version that the conversion created; null: none';
comment on column shardwright.conversion.shards is 'shards on which the conversion replaces guards';
comment on column shardwright.conversion.finished_at is 'when its last guard was removed; until then the map does not change';
create unique index conversion_unfinished on shardwright.conversion (map) where finished_at is null;
create trigger led_only before insert or update or delete or truncate on shardwright.conversion
    for each statement execute function shardwright.refuse_without_term();
