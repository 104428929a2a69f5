-- Which object needs which: as the server recorded it, and what it checks without having recorded it.
-- Kinds: n, a, i, P, S of pg_depend; e and x, of extensions, are read elsewhere; o is ours: order alone.
select d.classid, d.objid, d.refclassid, d.refobjid, d.deptype::text
from pg_catalog.pg_depend d
where d.deptype in ('n', 'a', 'i', 'P', 'S') and d.objid >= 16384 and d.refobjid >= 16384
union all
-- A table's place among the partitions, after both tables
select i.tableoid, i.inhrelid, c.tableoid, c.oid, 'o'
from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid in (i.inhrelid, i.inhparent)
union all
-- after the place of the table above: since 17 that one's identity columns become its own, but not those of a table
-- that comes above later
select i.tableoid, i.inhrelid, above.tableoid, above.inhrelid, 'o'
from pg_catalog.pg_inherits i
join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relkind in ('r', 'p')
join pg_catalog.pg_inherits above on above.inhrelid = i.inhparent
union all
-- and after the checks of both.
select i.tableoid, i.inhrelid, k.tableoid, k.oid, 'o'
from pg_catalog.pg_inherits i
join pg_catalog.pg_constraint k on k.conrelid in (i.inhrelid, i.inhparent) and k.contype = 'c' and k.convalidated
union all
-- A foreign key to a partitioned table after the parts of the index that it leans on, at every level.
select k.tableoid, k.oid, 'pg_catalog.pg_inherits'::regclass, t.relid, 'o'
from pg_catalog.pg_constraint k
join pg_catalog.pg_class x on x.oid = k.conindid and x.relkind = 'I'
cross join lateral (
  with recursive tree (relid) as (
    select i.inhrelid from pg_catalog.pg_inherits i where i.inhparent = x.oid
    union select i.inhrelid from tree join pg_catalog.pg_inherits i on i.inhparent = tree.relid)
  select relid from tree) t
where k.contype = 'f'
union all
select 0, c.oid, c.tableoid, c.oid, 'o'
from pg_catalog.pg_class c where c.relrowsecurity or c.relforcerowsecurity
