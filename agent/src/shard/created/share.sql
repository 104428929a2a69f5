-- Records that other migrations can use the objects that one created, except its own tables with their partitions, and
-- what belongs to its own schemas.
insert into shardwright.shared_object (migration, class, oid)
select c.migration, c.class, c.oid
from shardwright.created c
cross join lateral pg_catalog.pg_identify_object(c.class, c.oid, 0) named
where c.migration = {migration}
  and not (c.class = 'pg_catalog.pg_class'::pg_catalog.regclass
           and coalesce(pg_catalog.pg_partition_root(c.oid)::pg_catalog.oid, c.oid) in (
             select pg_catalog.to_regclass(name)::pg_catalog.oid from pg_catalog.unnest({tables}) name))
  and coalesce(case named.type when 'schema' then named.identity else named.schema end, '') not in (
    select pg_catalog.quote_ident(name) from pg_catalog.unnest({schemas}) name)
on conflict do nothing
