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

-- A removed map is no map.
create or replace function shardwright.span_of_key(map text, key text[]) returns shardwright.key_span
    language plpgsql stable parallel safe set search_path = pg_catalog
    as $$
declare
    about shardwright.map;
    at bytea;
begin
    select * into about from shardwright.map m where m.name = span_of_key.map and m.removed_at is null;
    if not found then
        raise exception 'there is no map %', span_of_key.map using errcode = 'undefined_object';
    end if;
    if cardinality(key) <> cardinality(about.key_types) or array_position(key, null) is not null then
        raise exception 'a key of map % has % column(s), none of them null', span_of_key.map, cardinality(about.key_types)
            using errcode = 'invalid_parameter_value', hint = 'their types are ' || array_to_string(about.key_types, ', ');
    end if;
    select string_agg(shardwright.key_bytes(k, t), '' order by nth) into at
    from unnest(key, about.key_types) with ordinality as c (k, t, nth);
    if about.strategy = 'hash' then
        -- Behind the number of its virtual shard, so the point is within the range that has this virtual shard.
        at := int4send((shardwright.key_hash(key[1], about.key_types[1]) & (about.buckets - 1))::integer) || at;
    end if;
    return shardwright.key_span(at, at || '\x00');
end
$$;
