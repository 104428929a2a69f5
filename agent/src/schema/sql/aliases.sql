-- What is made together with another object, and so stands for it in dependencies.
-- Row types, array types, multiranges, generated columns, NOT NULL, views' rules, constraints' indexes and triggers.
select t.tableoid, t.oid, c.tableoid, c.oid
from pg_catalog.pg_type t join pg_catalog.pg_class c on c.oid = t.typrelid and c.relkind <> 'c'
union all
select c.tableoid, c.oid, t.tableoid, t.oid
from pg_catalog.pg_type t join pg_catalog.pg_class c on c.oid = t.typrelid and c.relkind = 'c'
union all
select t.tableoid, t.typarray, t.tableoid, t.oid from pg_catalog.pg_type t where t.typarray <> 0
union all
select t.tableoid, r.rngmultitypid, t.tableoid, t.oid
from pg_catalog.pg_range r join pg_catalog.pg_type t on t.oid = r.rngtypid
union all
select d.tableoid, d.oid, a.attrelid_class, a.attrelid
from pg_catalog.pg_attrdef d
join (select attrelid, attnum, 'pg_catalog.pg_class'::regclass::oid as attrelid_class from pg_catalog.pg_attribute where attgenerated <> '') a
  on a.attrelid = d.adrelid and a.attnum = d.adnum
union all
select k.tableoid, k.oid, c.tableoid, c.oid
from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid where k.contype = 'n' and k.convalidated
union all
select k.tableoid, k.oid, t.tableoid, t.oid
from pg_catalog.pg_constraint k join pg_catalog.pg_type t on t.oid = k.contypid where k.contype = 'n'
union all
select r.tableoid, r.oid, c.tableoid, c.oid
from pg_catalog.pg_rewrite r join pg_catalog.pg_class c on c.oid = r.ev_class where r.rulename = '_RETURN'
union all
select i.tableoid, i.oid, k.tableoid, k.oid
from pg_catalog.pg_constraint k join pg_catalog.pg_class i on i.oid = k.conindid where k.contype in ('p', 'u', 'x')
union all
select k.tableoid, k.oid, g.tableoid, g.oid
from pg_catalog.pg_constraint k join pg_catalog.pg_trigger g on g.tgconstraint = k.oid where k.contype = 't'
