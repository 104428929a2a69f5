-- The existing tables that the migration created, each with the index of the first name in $2 that is its own, or that
-- of a leaf below it.
select s.identity,
       (select min(o.place) - 1 from pg_catalog.unnest($2::text[]) with ordinality o (name, place)
        where s.oid = pg_catalog.to_regclass(o.name)
           or s.oid in (select pg_catalog.pg_partition_ancestors(pg_catalog.to_regclass(o.name))))
from ({unshared}) s
where s.type = 'table'
