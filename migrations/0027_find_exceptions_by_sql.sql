-- Single keys of a hash map can have an owner of their own. Such an exception is a listed key among ranges of virtual shards.

comment on column shardwright.mapping.span is
    'the keys as bytes in key order; the virtual shards as numbers; or a key of a hash map, behind the number of its virtual shard';

comment on view shardwright.shard_map is
    'the version in force of every map; a row with a key takes precedence over one with virtual shards; state tells whether some of the keys are being moved';

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
