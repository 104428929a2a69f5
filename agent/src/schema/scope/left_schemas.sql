-- The schemas that a move of whole tables leaves out; see objects.sql.
with kept as (
  select pg_catalog.to_regclass(name)::oid as oid from pg_catalog.unnest($1::pg_catalog.text[]) name),
ignored as (
  select pg_catalog.to_regclass(name)::oid as oid from pg_catalog.unnest($2::pg_catalog.text[]) name)
select n.nspname::text
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
cross join lateral (select coalesce(pg_catalog.pg_partition_root(c.oid)::oid, c.oid) as oid) root
where c.relkind in ('r', 'p', 'f') and c.relpersistence <> 't'
  and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright', 'public')
group by n.nspname
having not pg_catalog.bool_or(root.oid in (select k.oid from kept k where k.oid is not null))
   and pg_catalog.bool_or(root.oid not in (select i.oid from ignored i where i.oid is not null))
order by 1
