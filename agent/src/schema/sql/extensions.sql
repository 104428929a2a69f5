-- Extensions, in the version that the target offers; plpgsql is in every database.
select e.tableoid, e.oid, ''::text, e.extname::text, quote_ident(e.extname), null::text,
       format('create extension if not exists %I with schema %I', e.extname, n.nspname)
from pg_catalog.pg_extension e
join pg_catalog.pg_namespace n on n.oid = e.extnamespace
where e.extname <> 'plpgsql'
