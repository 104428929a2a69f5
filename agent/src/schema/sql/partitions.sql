-- Partitions find their place once they have the checks of the table that they belong to.
select i.tableoid, i.inhrelid, n.nspname::text, c.relname::text, format('%I.%I', n.nspname, c.relname), null::text,
       format('alter table only %I.%I attach partition %I.%I %s', pn.nspname, p.relname, n.nspname, c.relname,
              pg_catalog.pg_get_expr(c.relpartbound, c.oid))
from pg_catalog.pg_inherits i
join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relispartition and c.relkind in ('r', 'p')
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_class p on p.oid = i.inhparent
join pg_catalog.pg_namespace pn on pn.oid = p.relnamespace
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
