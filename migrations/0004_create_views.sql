-- What applications may read; columns are only ever added.

create view shardwright.shard_map_history as
select m.map, m.version, m.lower, m.upper, m.shard, v.migration, v.created_by, v.created_at
from shardwright.mapping m
join shardwright.map_version v using (map, version);
comment on view shardwright.shard_map_history is 'every version of every map: lower <= key < upper, null is unbounded';

create view shardwright.shard_map as
select m.map, m.version, m.lower, m.upper, m.shard,
    case when exists (
        select from shardwright.migration g
        where g.map = m.map and g.finished_at is null and g.keys && m.keys
            and g.ownership in ('ready', 'fencing', 'rollback_fencing')
    ) then 'moving' else 'active' end as state
from shardwright.mapping m
where m.version = (select max(v.version) from shardwright.map_version v where v.map = m.map);
comment on view shardwright.shard_map is 'the version in force of every map; state tells whether some of the keys are being moved';
