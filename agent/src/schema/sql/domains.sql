-- Domains without their checks, which come after the functions that they call.
select t.tableoid, t.oid, n.nspname::text, t.typname::text, format('%I.%I', n.nspname, t.typname),
       pg_catalog.pg_get_userbyid(t.typowner)::text,
       concat(format('create domain %I.%I as %s', n.nspname, t.typname, pg_catalog.format_type(t.typbasetype, t.typtypmod)),
              case when t.typcollation <> b.typcollation then format(' collate %I.%I', cn.nspname, co.collname) end,
              ' default ' || coalesce(pg_catalog.pg_get_expr(t.typdefaultbin, 0), quote_literal(t.typdefault)),
              case when t.typnotnull then concat(' constraint ' || quote_ident(k.conname), ' not null') end)
from pg_catalog.pg_type t
join pg_catalog.pg_namespace n on n.oid = t.typnamespace
join pg_catalog.pg_type b on b.oid = t.typbasetype
left join pg_catalog.pg_collation co on co.oid = t.typcollation
left join pg_catalog.pg_namespace cn on cn.oid = co.collnamespace
left join pg_catalog.pg_constraint k on k.contypid = t.oid and k.contype = 'n'
where t.typtype = 'd' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
