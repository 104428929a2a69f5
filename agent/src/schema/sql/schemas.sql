-- Schemas; of `public`, which every database has, only the owner, where it is not the one of a new database.
select n.tableoid, n.oid, ''::text, n.nspname::text, quote_ident(n.nspname),
       nullif(pg_catalog.pg_get_userbyid(n.nspowner), 'pg_database_owner')::text,
       case when n.nspname = 'public' then '' else format('create schema %I', n.nspname) end
from pg_catalog.pg_namespace n
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
