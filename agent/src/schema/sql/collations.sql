-- Collations; the locale's column has another name from version to version.
select c.tableoid, c.oid, n.nspname::text, c.collname::text, format('%I.%I', n.nspname, c.collname),
       pg_catalog.pg_get_userbyid(c.collowner)::text,
       format('create collation %I.%I (%s)', n.nspname, c.collname, concat_ws(', ',
         case c.collprovider when 'c' then 'provider = libc' when 'i' then 'provider = icu' when 'b' then 'provider = builtin' end,
         case when not c.collisdeterministic then 'deterministic = false' end,
         'locale = ' || quote_literal(coalesce(f.facts ->> 'colllocale', f.facts ->> 'colliculocale')),
         'rules = ' || quote_literal(f.facts ->> 'collicurules'),
         'lc_collate = ' || quote_literal(c.collcollate), 'lc_ctype = ' || quote_literal(c.collctype)))
from pg_catalog.pg_collation c
join pg_catalog.pg_namespace n on n.oid = c.collnamespace
cross join lateral (select to_jsonb(c) as facts) f
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
