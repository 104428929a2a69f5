-- Indexes of partitions become parts of those of their table, which are valid with the last one.
select i.tableoid, i.inhrelid, n.nspname::text, c.relname::text, format('%I.%I', n.nspname, c.relname), null::text,
       format('alter index %I.%I attach partition %I.%I', pn.nspname, p.relname, n.nspname, c.relname)
from pg_catalog.pg_inherits i
join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relkind in ('i', 'I')
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_class p on p.oid = i.inhparent
join pg_catalog.pg_namespace pn on pn.oid = p.relnamespace
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
