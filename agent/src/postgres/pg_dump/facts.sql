-- What the catalog says of the objects ($1: catalogs, $2: numbers) of an archive, in their order: how an owner is given to
-- each, what names it, whether rows are found by it, the bytes of its index, and whether it is ours.
select format('alter %s %s owner to ', case named.type when 'function' then 'routine' when 'procedure' then 'routine'
                when 'aggregate' then 'routine' when 'composite type' then 'type' when 'statistics object' then 'statistics'
                when 'foreign-data wrapper' then 'foreign data wrapper' else named.type end, named.identity),
       named.identity,
       coalesce(k.contype = 'p' and t.relreplident <> 'i' or x.indisreplident, false),
       pg_catalog.pg_relation_size(x.indexrelid),
       coalesce(named.type = 'trigger' and g.tgname ~ '^shardwright_guard_'
                or named.type = 'event trigger' and e.evtname ~ '^shardwright_ddl_', false)
from unnest($1::oid[], $2::oid[]) with ordinality given (class, oid, place)
-- Without a catalog there is nothing to identify.
left join lateral pg_catalog.pg_identify_object(nullif(given.class, 0), given.oid, 0) named on true
left join pg_catalog.pg_constraint k on given.class = 'pg_catalog.pg_constraint'::regclass and k.oid = given.oid and k.contype in ('p', 'u', 'x')
left join pg_catalog.pg_index x on x.indexrelid = coalesce(k.conindid, case when given.class = 'pg_catalog.pg_class'::regclass then given.oid end)
left join pg_catalog.pg_class t on t.oid = x.indrelid
left join pg_catalog.pg_trigger g on given.class = 'pg_catalog.pg_trigger'::regclass and g.oid = given.oid
left join pg_catalog.pg_event_trigger e on given.class = 'pg_catalog.pg_event_trigger'::regclass and e.oid = given.oid
order by given.place
