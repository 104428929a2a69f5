-- Row level security comes after the copy. It has no catalog of its own: class 0 stands for it, with the table's number.
select 0::oid, c.oid, n.nspname::text, c.relname::text, format('%I.%I', n.nspname, c.relname), null::text,
       concat_ws(E';\n',
         case when c.relrowsecurity then format('alter table %I.%I enable row level security', n.nspname, c.relname) end,
         case when c.relforcerowsecurity then format('alter table only %I.%I force row level security', n.nspname, c.relname) end)
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and (c.relrowsecurity or c.relforcerowsecurity) and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
