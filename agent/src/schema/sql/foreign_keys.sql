-- Foreign keys; that of a partitioned table reaches its partitions by itself.
select k.tableoid, k.oid, n.nspname::text, concat(c.relname, ' ', k.conname), format('%I on %I.%I', k.conname, n.nspname, c.relname), null::text,
       format('alter table %s%I.%I add constraint %I %s', case c.relkind when 'p' then '' else 'only ' end,
              n.nspname, c.relname, k.conname, pg_catalog.pg_get_constraintdef(k.oid))
from pg_catalog.pg_constraint k
join pg_catalog.pg_class c on c.oid = k.conrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where k.contype = 'f' and k.conparentid = 0 and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
