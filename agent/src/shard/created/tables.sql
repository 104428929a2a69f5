-- Tables among what stands, each with the first of the names ($2) that it has, or is a partitioned table above.
select s.identity,
       (select min(o.place) - 1 from pg_catalog.unnest($2::text[]) with ordinality o (name, place)
        where s.oid = pg_catalog.to_regclass(o.name)
           or s.oid in (select pg_catalog.pg_partition_ancestors(pg_catalog.to_regclass(o.name))))
from ({standing}) s
where s.type = 'table'
