-- Checks, and from 18 on NOT NULL, that old rows need not fulfil; they reach partitions by themselves.
select k.tableoid, k.oid, n.nspname::text, concat(c.relname, ' ', k.conname), format('%I on %I.%I', k.conname, n.nspname, c.relname), null::text,
       format('alter table %I.%I add constraint %I %s', n.nspname, c.relname, k.conname, pg_catalog.pg_get_constraintdef(k.oid))
from pg_catalog.pg_constraint k
join pg_catalog.pg_class c on c.oid = k.conrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where k.contype in ('c', 'n') and not k.convalidated and k.coninhcount = 0 and c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
