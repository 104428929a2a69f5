-- The objects of the database that a move of whole tables concerns: those in schemas that are not left out, and their parts.
-- $1: the moving tables and the reference tables; $2: the tables that the map ignores; both are names in SQL.
-- A table is left out if it is in neither list, and so is a schema that has tables left out (not only ignored ones) and no
-- others. For each object: its id, the object that it is a part of, the schema and name of that one, whether it needs
-- something that is left out, and whether it is a foreign key.
with recursive kept as (
  select pg_catalog.to_regclass(name)::oid as oid from pg_catalog.unnest($1::pg_catalog.text[]) name),
ignored as (
  select pg_catalog.to_regclass(name)::oid as oid from pg_catalog.unnest($2::pg_catalog.text[]) name),
space as (
  select n.oid, n.nspname from pg_catalog.pg_namespace n
  where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')),
tab as materialized (
  select c.oid, c.relnamespace, coalesce(pg_catalog.pg_partition_root(c.oid)::oid, c.oid) as root
  from pg_catalog.pg_class c join space s on s.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'f') and c.relpersistence <> 't'),
left_tab as materialized (
  select t.* from tab t where t.root not in (select k.oid from kept k where k.oid is not null)),
left_space as materialized (
  select s.oid, s.nspname from space s
  where s.nspname <> 'public'
    and s.oid in (select t.relnamespace from left_tab t where t.root not in (select i.oid from ignored i where i.oid is not null))
    and s.oid not in (select t.relnamespace from tab t where t.root in (select k.oid from kept k where k.oid is not null))),
named as (
  select d.classid as class, d.objid as oid
  from pg_catalog.pg_depend d
  join space s on d.refclassid = 'pg_catalog.pg_namespace'::regclass and d.refobjid = s.oid
  where s.oid not in (select l.oid from left_space l)
    and not (d.classid = 'pg_catalog.pg_class'::regclass and d.objid in (select t.oid from left_tab t))),
part as (
  select x.tableoid as class, i.indexrelid as oid, i.indrelid as of, 'pg_catalog.pg_class'::regclass::oid as of_class, false as is_foreign_key
  from pg_catalog.pg_index i join pg_catalog.pg_class x on x.oid = i.indexrelid
  union all
  select k.tableoid, k.oid, k.conrelid, 'pg_catalog.pg_class'::regclass, k.contype = 'f' from pg_catalog.pg_constraint k where k.conrelid <> 0
  union all
  select k.tableoid, k.oid, k.contypid, 'pg_catalog.pg_type'::regclass, false from pg_catalog.pg_constraint k where k.contypid <> 0
  union all
  select c.tableoid, c.oid, t.oid, t.tableoid, false from pg_catalog.pg_type t join pg_catalog.pg_class c on c.oid = t.typrelid and c.relkind = 'c'
  union all
  select d.tableoid, d.oid, d.adrelid, 'pg_catalog.pg_class'::regclass, false from pg_catalog.pg_attrdef d
  union all
  select g.tableoid, g.oid, g.tgrelid, 'pg_catalog.pg_class'::regclass, false from pg_catalog.pg_trigger g where not g.tgisinternal
  union all
  select p.tableoid, p.oid, p.polrelid, 'pg_catalog.pg_class'::regclass, false from pg_catalog.pg_policy p
  union all
  select w.tableoid, w.oid, w.ev_class, 'pg_catalog.pg_class'::regclass, false from pg_catalog.pg_rewrite w),
object as materialized (
  select n.class, n.oid, n.class as of_class, n.oid as of, false as is_foreign_key from named n
  union all
  select p.class, p.oid, p.of_class, p.of, p.is_foreign_key
  from part p join named n on n.class = p.of_class and n.oid = p.of),
-- What an object needs. The row type of a table counts as the table, an array type for its elements, the columns of a
-- composite type for the type, and the rule of a view for the view.
edge as materialized (
  select o.class, o.oid, case when coalesce(e.typrelid, t.typrelid) <> 0 then 'pg_catalog.pg_class'::regclass::oid else d.refclassid end as needed_class,
         case when coalesce(e.typrelid, t.typrelid) <> 0 then coalesce(e.typrelid, t.typrelid) else coalesce(e.oid, d.refobjid) end as needed
  from object o
  join pg_catalog.pg_depend d on d.classid = o.class and d.objid = o.oid and d.deptype in ('n', 'a', 'i', 'P', 'S')
  left join pg_catalog.pg_type t on d.refclassid = 'pg_catalog.pg_type'::regclass and t.oid = d.refobjid
  left join pg_catalog.pg_type e on t.typlen = -1 and t.typelem <> 0 and e.oid = t.typelem
  union all
  select 'pg_catalog.pg_type'::regclass, t.oid, 'pg_catalog.pg_class'::regclass, t.typrelid
  from object o join pg_catalog.pg_type t on o.class = t.tableoid and o.oid = t.oid and t.typrelid <> 0
  union all
  select 'pg_catalog.pg_class'::regclass, w.ev_class, w.tableoid, w.oid
  from pg_catalog.pg_rewrite w join object o on o.class = 'pg_catalog.pg_class'::regclass and o.oid = w.ev_class
  where w.rulename = '_RETURN'),
-- What is left out, as far as others need it.
left_out as materialized (
  select e.needed_class as class, e.needed as oid from edge e
  where e.needed_class = 'pg_catalog.pg_class'::regclass
    and exists (select from pg_catalog.pg_class c left join pg_catalog.pg_index i on i.indexrelid = c.oid
                where c.oid = e.needed and (c.relnamespace in (select l.oid from left_space l)
                                            or coalesce(i.indrelid, c.oid) in (select t.oid from left_tab t)))
  union
  select e.needed_class, e.needed from edge e
  where e.needed_class <> 'pg_catalog.pg_namespace'::regclass
    and exists (select from pg_catalog.pg_depend d join left_space l on l.oid = d.refobjid
                where d.classid = e.needed_class and d.objid = e.needed and d.refclassid = 'pg_catalog.pg_namespace'::regclass)),
-- Objects that belong to no schema, or to one by their name only.
other as (
  select tableoid as class, oid from pg_catalog.pg_default_acl
  union all select tableoid, oid from pg_catalog.pg_extension
  union all select tableoid, oid from pg_catalog.pg_cast
  union all select tableoid, oid from pg_catalog.pg_transform
  union all select tableoid, oid from pg_catalog.pg_language
  union all select tableoid, oid from pg_catalog.pg_event_trigger),
needy as (
  select e.class, e.oid from edge e join left_out l on l.class = e.needed_class and l.oid = e.needed
  union
  select e.class, e.oid from needy n join edge e on e.needed_class = n.class and e.needed = n.oid)
select o.class, o.oid, o.of_class, o.of, coalesce(s.nspname::text, ''), coalesce(c.relname::text, ''),
       (o.class, o.oid) in (select class, oid from needy), o.is_foreign_key
from object o
left join pg_catalog.pg_class c on o.of_class = 'pg_catalog.pg_class'::regclass and c.oid = o.of
left join space s on s.oid = c.relnamespace
union all
-- Those of them that need something left out are left out, too.
select o.class, o.oid, o.class, o.oid, '', '', true, true
from other o
where exists (
  select from pg_catalog.pg_depend d
  where d.classid = o.class and d.objid = o.oid
    and (d.refclassid = 'pg_catalog.pg_namespace'::regclass and d.refobjid in (select l.oid from left_space l)
         or (d.refclassid, d.refobjid) in (select class, oid from needy)
         or exists (select from pg_catalog.pg_depend u join left_space l on l.oid = u.refobjid
                    where u.classid = d.refclassid and u.objid = d.refobjid and u.refclassid = 'pg_catalog.pg_namespace'::regclass)))
union all
select 'pg_catalog.pg_namespace'::regclass, s.oid, 'pg_catalog.pg_namespace'::regclass, s.oid, '', '', false, false
from space s where s.oid not in (select l.oid from left_space l)
