-- Records as shared what a migration created, except its own tables and schemas and everything that belongs to them or
-- depends on them: another migration cannot use these.
insert into shardwright.shared_object (migration, class, oid)
with recursive own (class, oid) as (
  select * from (
    select 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, c.oid
    from pg_catalog.pg_class c
    where exists (select from pg_catalog.unnest({tables}) name
                  where pg_catalog.to_regclass(name) = coalesce(pg_catalog.pg_partition_root(c.oid), c.oid))
    union all
    select 'pg_catalog.pg_namespace'::pg_catalog.regclass::pg_catalog.oid, n.oid
    from pg_catalog.pg_namespace n where n.nspname = any ({schemas})) given
  union
  -- A view depends on a table by its rule, which belongs to the view.
  select next.class, next.oid
  from own
  cross join lateral (
    select d.classid as class, d.objid as oid
    from pg_catalog.pg_depend d where d.refclassid = own.class and d.refobjid = own.oid
    union all
    select d.refclassid, d.refobjid
    from pg_catalog.pg_depend d where d.classid = own.class and d.objid = own.oid and d.deptype in ('a', 'i')) next)
select c.migration, c.class, c.oid
from shardwright.created c
where c.migration = {migration}
  and not exists (select from own where own.class = c.class and own.oid = c.oid)
on conflict do nothing
