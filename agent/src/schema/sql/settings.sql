-- What is set on an object once it is there: statistics targets, storage, compression and options of columns,
-- replica identity, clustering, owners of sequences, dependence on extensions.
select c.tableoid, c.oid, format('alter table only %I.%I %s', n.nspname, c.relname, s.clause)
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
cross join lateral (
  select a.attnum, format('alter column %I set %s', a.attname, v.setting)
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_type t on t.oid = a.atttypid
  cross join lateral (values
    (case when a.attstattarget >= 0 then 'statistics ' || a.attstattarget::text end),
    (case when a.attstorage <> t.typstorage
          then 'storage ' || case a.attstorage when 'p' then 'plain' when 'e' then 'external' when 'm' then 'main' else 'extended' end end),
    (case a.attcompression when 'p' then 'compression pglz' when 'l' then 'compression lz4' end),
    ('(' || array_to_string(a.attoptions, ', ') || ')')) v (setting)
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and v.setting is not null
  union all
  select 0, case c.relreplident when 'f' then 'replica identity full' when 'n' then 'replica identity nothing' end
  where c.relreplident in ('f', 'n')) s (place, clause)
where c.relkind in ('r', 'p', 'm') and c.relpersistence <> 't' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
union all
select i.tableoid, i.oid, s.statement
from pg_catalog.pg_index x
join pg_catalog.pg_class i on i.oid = x.indexrelid
join pg_catalog.pg_class c on c.oid = x.indrelid and c.relkind in ('r', 'p', 'm')
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
cross join lateral (
  select format('alter table only %I.%I replica identity using index %I', n.nspname, c.relname, i.relname) where x.indisreplident
  union all
  select format('alter table only %I.%I cluster on %I', n.nspname, c.relname, i.relname) where x.indisclustered
  union all
  select format('alter index %I.%I alter column %s set statistics %s', n.nspname, i.relname, a.attnum, a.attstattarget)
  from pg_catalog.pg_attribute a where a.attrelid = i.oid and a.attstattarget >= 0) s (statement)
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
union all
select q.tableoid, q.oid, format('alter sequence %I.%I owned by %I.%I.%I', n.nspname, q.relname, tn.nspname, t.relname, a.attname)
from pg_catalog.pg_class q
join pg_catalog.pg_namespace n on n.oid = q.relnamespace
join pg_catalog.pg_depend o on o.classid = q.tableoid and o.objid = q.oid and o.refclassid = q.tableoid and o.refobjsubid > 0 and o.deptype = 'a'
join pg_catalog.pg_attribute a on a.attrelid = o.refobjid and a.attnum = o.refobjsubid
join pg_catalog.pg_class t on t.oid = o.refobjid
join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
where q.relkind = 'S' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
union all
select d.classid, d.objid, format('alter %s %s depends on extension %I', o.type, o.identity, e.extname)
from pg_catalog.pg_depend d
join pg_catalog.pg_extension e on e.oid = d.refobjid
cross join lateral pg_catalog.pg_identify_object(d.classid, d.objid, 0) o
where d.deptype = 'x' and d.refclassid = e.tableoid
order by 1, 2, 3
