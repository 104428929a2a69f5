-- Defaults of columns, of views too.
select d.tableoid, d.oid, n.nspname::text, concat(c.relname, ' ', a.attname), format('%I.%I.%I', n.nspname, c.relname, a.attname), null::text,
       format('alter table only %I.%I alter column %I set default %s', n.nspname, c.relname, a.attname,
              pg_catalog.pg_get_expr(d.adbin, d.adrelid))
from pg_catalog.pg_attrdef d
join pg_catalog.pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum and a.attgenerated = ''
join pg_catalog.pg_class c on c.oid = d.adrelid and c.relkind in ('r', 'p', 'v')
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relpersistence <> 't' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
