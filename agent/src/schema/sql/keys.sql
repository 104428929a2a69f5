-- Primary keys, unique and exclusion constraints; those of partitions are attached to those of their table afterwards.
-- The last column: rows are found by it.
select k.tableoid, k.oid, n.nspname::text, concat(c.relname, ' ', k.conname), format('%I on %I.%I', k.conname, n.nspname, c.relname), null::text,
       concat('set local default_tablespace = ' || quote_ident(s.spcname) || '; ',
         format('alter table only %I.%I add constraint %I %s', n.nspname, c.relname, k.conname, pg_catalog.pg_get_constraintdef(k.oid)),
         case when s.spcname is not null then '; reset default_tablespace' end),
       k.contype = 'p' and c.relreplident <> 'i' or x.indisreplident
from pg_catalog.pg_constraint k
join pg_catalog.pg_class c on c.oid = k.conrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_class i on i.oid = k.conindid
join pg_catalog.pg_index x on x.indexrelid = i.oid
left join pg_catalog.pg_tablespace s on s.oid = i.reltablespace
where k.contype in ('p', 'u', 'x') and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
