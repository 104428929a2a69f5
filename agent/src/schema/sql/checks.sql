-- Checks that every row has passed; a partition has those of its table before it is attached.
select k.tableoid, k.oid, n.nspname::text, concat(c.relname, ' ', k.conname), format('%I on %I.%I', k.conname, n.nspname, c.relname), null::text,
       format('alter table only %I.%I add constraint %I %s', n.nspname, c.relname, k.conname, pg_catalog.pg_get_constraintdef(k.oid))
from pg_catalog.pg_constraint k
join pg_catalog.pg_class c on c.oid = k.conrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where k.contype = 'c' and k.convalidated and c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
