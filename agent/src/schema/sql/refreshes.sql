-- Materialized views that have rows, those that others read first.
with recursive uses as (
  select distinct r.ev_class as view, d.refobjid as needed
  from pg_catalog.pg_rewrite r
  join pg_catalog.pg_depend d on d.classid = r.tableoid and d.objid = r.oid
  where r.ev_class >= 16384 and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> r.ev_class),
deep (view, depth) as (
  select c.oid, 0 from pg_catalog.pg_class c where c.relkind in ('v', 'm')
  union
  select u.view, d.depth + 1 from uses u join deep d on d.view = u.needed)
select n.nspname::text, c.relname::text, format('refresh materialized view %I.%I', n.nspname, c.relname)
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join deep d on d.view = c.oid
where c.relkind = 'm' and c.relispopulated and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
  and not exists (select from pg_catalog.pg_depend e where e.classid = c.tableoid and e.objid = c.oid and e.deptype = 'e')
group by 1, 2, 3
order by max(d.depth), 1, 2
