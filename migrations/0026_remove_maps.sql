-- A map that never moved keys can be removed, and its name used again.

alter table shardwright.map add removed_at timestamptz;
comment on column shardwright.map.removed_at is 'when the map was removed; null: it exists';
alter table shardwright.map add first_version bigint not null default 1;
comment on column shardwright.map.first_version is
    'first version of the map; those before it belong to a removed map of this name';

create or replace view shardwright.map_status as
select p.name as map, p.strategy, v.version, v.pieces as mappings, v.migration, v.created_by, v.created_at,
    (select count(*) from shardwright.migration m where m.map = p.name and m.finished_at is null) as migrations
from shardwright.map p
cross join lateral (
    select * from shardwright.map_version w where w.map = p.name order by w.version desc limit 1
) v
where p.removed_at is null;

create or replace view shardwright.shard_map_history as
select m.map, v.version, p.strategy, m.keys,
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
