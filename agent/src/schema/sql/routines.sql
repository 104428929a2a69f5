-- Functions and procedures; not those that a type brings along.
select p.tableoid, p.oid, n.nspname::text, p.proname::text,
       format('%I.%I(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)),
       pg_catalog.pg_get_userbyid(p.proowner)::text,
       'set local check_function_bodies = off; ' || pg_catalog.pg_get_functiondef(p.oid)
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where p.prokind <> 'a' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
  and not exists (select from pg_catalog.pg_depend d
                  where d.classid = p.tableoid and d.objid = p.oid and d.deptype = 'i')
