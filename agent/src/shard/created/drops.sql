-- The statements that drop the existing objects of a migration, in three lists. `part`: a part of one object that needs
-- another object, which could form a cycle; it is dropped first. `object`: an object that is not dropped together with
-- another one of the list. `edge`: an object, and an object that it needs.
with recursive unshared as materialized ({unshared}),
-- The objects that are dropped together with each of them: a table's indexes, partitions and sequences, a view's rule,
-- an extension's members.
part (class, oid, of_class, of_oid) as (
  select class, oid, class, oid from unshared
  union
  select d.classid, d.objid, p.of_class, p.of_oid
  from part p
  join pg_catalog.pg_depend d on d.refclassid = p.class and d.refobjid = p.oid and d.deptype in ('a', 'i', 'P', 'S', 'e')),
root as materialized (
  select s.* from unshared s
  where not exists (select from part p where p.class = s.class and p.oid = s.oid and (p.of_class, p.of_oid) <> (s.class, s.oid))),
owned as materialized (
  select p.class, p.oid, r.class as of_class, r.oid as of_oid
  from part p join root r on r.class = p.of_class and r.oid = p.of_oid),
needs as materialized (
  select distinct a.class, a.oid, a.of_class, a.of_oid, b.of_class as needed_class, b.of_oid as needed_oid
  from pg_catalog.pg_depend d
  join owned a on a.class = d.classid and a.oid = d.objid
  join owned b on b.class = d.refclassid and b.oid = d.refobjid
  where d.deptype in ('n', 'x') and (a.of_class, a.of_oid) <> (b.of_class, b.of_oid)),
soft (class, oid, inherited, statement) as (
  select k.tableoid, k.oid, k.coninhcount > 0 or k.conparentid <> 0,
         case when k.contypid <> 0
              then pg_catalog.format('alter domain %s drop constraint %I', k.contypid::regtype, k.conname)
              else pg_catalog.format('alter table %s drop constraint %I', k.conrelid::regclass, k.conname) end
  from pg_catalog.pg_constraint k where k.contype in ('c', 'f')
  union all
  select g.tableoid, g.oid, g.tgparentid <> 0, pg_catalog.format('drop trigger %I on %s', g.tgname, g.tgrelid::regclass)
  from pg_catalog.pg_trigger g where not g.tgisinternal
  union all
  select r.tableoid, r.oid, false, pg_catalog.format('drop rule %I on %s', r.rulename, r.ev_class::regclass)
  from pg_catalog.pg_rewrite r where r.rulename <> '_RETURN'
  union all
  select p.tableoid, p.oid, false, pg_catalog.format('drop policy %I on %s', p.polname, p.polrelid::regclass)
  from pg_catalog.pg_policy p
  union all
  select d.tableoid, d.oid, false, pg_catalog.format('alter table %s alter column %I drop default', d.adrelid::regclass, a.attname)
  from pg_catalog.pg_attrdef d
  join pg_catalog.pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum and a.attgenerated = ''
  union all
  select c.tableoid, c.oid, c.relispartition, pg_catalog.format('drop index %s', c.oid::regclass)
  from pg_catalog.pg_class c
  where c.relkind in ('i', 'I')
    and not exists (select from pg_catalog.pg_constraint k where k.conindid = c.oid and k.contype in ('p', 'u', 'x'))
  union all
  select s.tableoid, s.oid, false, pg_catalog.format('drop statistics %I.%I', n.nspname, s.stxname)
  from pg_catalog.pg_statistic_ext s join pg_catalog.pg_namespace n on n.oid = s.stxnamespace)
select 'part', 0::oid, 0::oid, 0::oid, 0::oid, s.statement
from soft s
where not s.inherited and exists (select from needs n where n.class = s.class and n.oid = s.oid)
union all
select 'object', r.class, r.oid, 0, 0,
       pg_catalog.format('drop %s %s',
         case r.type when 'function' then 'routine' when 'procedure' then 'routine' when 'aggregate' then 'routine'
                     when 'composite type' then 'type' when 'foreign-data wrapper' then 'foreign data wrapper'
                     else r.type end,
         r.identity)
from root r
union all
select 'object', 'pg_catalog.pg_user_mapping'::regclass, m.umid, 0, 0,
       pg_catalog.format('drop user mapping for %s server %I',
         case m.umuser when 0 then 'public' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(m.umuser)) end, m.srvname)
from pg_catalog.pg_user_mappings m join root r on r.class = 'pg_catalog.pg_foreign_server'::regclass and r.oid = m.srvid
union all
select 'edge', 'pg_catalog.pg_user_mapping'::regclass, m.umid, r.class, r.oid, ''
from pg_catalog.pg_user_mappings m join root r on r.class = 'pg_catalog.pg_foreign_server'::regclass and r.oid = m.srvid
union all
select distinct 'edge', n.of_class, n.of_oid, n.needed_class, n.needed_oid, ''
from needs n
where not exists (select from soft s where s.class = n.class and s.oid = n.oid)
