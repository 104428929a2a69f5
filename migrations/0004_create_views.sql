-- What applications may read; columns are only ever added.

create function shardwright.key_text(key jsonb) returns text
    language sql immutable parallel safe
    as $$
    select case jsonb_typeof(key)
        when 'object' then (select value from jsonb_each_text(key) limit 1)
        else key #>> '{}' end
$$;
comment on function shardwright.key_text is 'a key as PostgreSQL prints it; a composite one as a JSON array';

create view shardwright.shard_map_history as
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
join shardwright.map_version v on v.map = m.map and v.version >= m.since and (m.until is null or v.version < m.until);
comment on view shardwright.shard_map_history is
    'every version of every map: lower <= key < upper (null is unbounded), bucket_from <= bucket < bucket_to, or one key';

create view shardwright.shard_map as
select m.map, v.version, p.strategy, m.keys,
    shardwright.key_text(m.keys #> '{range,0,from}') as lower,
    shardwright.key_text(m.keys #> '{range,0,to}') as upper,
    (m.keys #>> '{hash,ranges,0,from}')::integer as bucket_from,
    (m.keys #>> '{hash,ranges,0,to}')::integer as bucket_to,
    shardwright.key_text(m.keys #> '{list,0}') as key,
    s.name as shard,
    case when exists (
        select from shardwright.migration g
        where g.map = m.map and g.finished_at is null and g.spans && m.span
            and g.ownership in ('ready', 'fencing', 'rollback_fencing')
    ) then 'moving' else 'active' end as state
from shardwright.mapping m
join shardwright.map p on p.name = m.map
join shardwright.shard s on s.number = m.shard
cross join lateral (select max(version) as version from shardwright.map_version w where w.map = p.name) v
where m.until is null;
comment on view shardwright.shard_map is 'the version in force of every map; state tells whether some of the keys are being moved';
