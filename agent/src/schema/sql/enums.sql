-- Enumerated types, values in their order.
select t.tableoid, t.oid, n.nspname::text, t.typname::text, format('%I.%I', n.nspname, t.typname),
       pg_catalog.pg_get_userbyid(t.typowner)::text,
       format('create type %I.%I as enum (%s)', n.nspname, t.typname,
         (select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)
          from pg_catalog.pg_enum e where e.enumtypid = t.oid))
from pg_catalog.pg_type t
join pg_catalog.pg_namespace n on n.oid = t.typnamespace
where t.typtype = 'e' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
