-- Routing by SQL: which shard has a key now. The same keys, bytes and hashes as everywhere else.

create function shardwright.key_hash(key text, type text) returns bigint
    language sql stable parallel safe set search_path = pg_catalog
    as $$
    select case type
        when 'smallint' then hashint8extended(key::smallint, 0)
        when 'integer' then hashint8extended(key::integer, 0)
        when 'bigint' then hashint8extended(key::bigint, 0)
        when 'text' then hashtextextended(key collate "C", 0)
        when 'uuid' then uuid_hash_extended(key::uuid, 0)
        when 'bytea' then hashtextextended(encode(key::bytea, 'hex') collate "C", 0)
        when 'date' then hash_record_extended(row(key::date), 0)
        when 'timestamptz' then hash_record_extended(row(key::timestamptz), 0)
    end
$$;
comment on function shardwright.key_hash is 'the 64-bit hash of one column of a key, with seed 0';

create function shardwright.key_bytes(key text, type text) returns bytea
    language sql stable parallel safe set search_path = pg_catalog
    as $$
    -- A sign bit that is turned over makes two's complement sort as unsigned bytes; texts end in two zeros.
    select case type
        when 'text' then convert_to(key, 'UTF8') || '\x0000'
        when 'uuid' then uuid_send(key::uuid)
        when 'bytea' then decode(replace(replace(
            regexp_replace(encode(key::bytea, 'hex'), '(..)', '\1 ', 'g'), '00 ', '00ff'), ' ', '') || '0000', 'hex')
        else set_byte(signed, 0, get_byte(signed, 0) # 128)
    end
    from (select case type
        when 'smallint' then int8send(key::smallint)
        when 'integer' then int8send(key::integer)
        when 'bigint' then int8send(key::bigint)
        when 'date' then date_send(key::date)
        when 'timestamptz' then timestamptz_send(key::timestamptz)
    end as signed) s
$$;
comment on function shardwright.key_bytes is 'one column of a key as bytes whose order is the order of keys';

create function shardwright.span_of_key(map text, key text[]) returns shardwright.key_span
    language plpgsql stable parallel safe set search_path = pg_catalog
    as $$
declare
    about shardwright.map;
    at bytea;
begin
    select * into about from shardwright.map m where m.name = span_of_key.map;
    if not found then
        raise exception 'there is no map %', span_of_key.map using errcode = 'undefined_object';
    end if;
    if cardinality(key) <> cardinality(about.key_types) or array_position(key, null) is not null then
        raise exception 'a key of map % has % column(s), none of them null', span_of_key.map, cardinality(about.key_types)
            using errcode = 'invalid_parameter_value', hint = 'their types are ' || array_to_string(about.key_types, ', ');
    end if;
    if about.strategy = 'hash' then
        at := int4send((shardwright.key_hash(key[1], about.key_types[1]) & (about.buckets - 1))::integer);
    else
        select string_agg(shardwright.key_bytes(k, t), '' order by nth) into at
        from unnest(key, about.key_types) with ordinality as c (k, t, nth);
    end if;
    return shardwright.key_span(at, at || '\x00');
end
$$;
comment on function shardwright.span_of_key is 'a key as a point among the spans of its map';

-- Runs with its owner's rights: whoever may execute it sees names of shards, and nothing else of the store.
create function shardwright.shard_for(map text, variadic key text[]) returns text
    language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp
    as $$
declare
    at shardwright.key_span := shardwright.span_of_key(shard_for.map, shard_for.key);
begin
    -- Each by its own index: a listed key, then the piece that holds it.
    return (
        select s.name from shardwright.shard s where s.number = coalesce(
            (select m.shard from shardwright.mapping m
             where m.map = shard_for.map and m.until is null and m.span = at),
            (select m.shard from shardwright.mapping m
             where m.map = shard_for.map and m.until is null and not m.keys ? 'list' and m.span @> at))
    );
end
$$;
comment on function shardwright.shard_for is 'the shard that has a key now; null for a key that no shard has';
revoke execute on function shardwright.shard_for from public;
