-- Checks of domains.
select k.tableoid, k.oid, n.nspname::text, concat(t.typname, ' ', k.conname), format('%I on domain %I.%I', k.conname, n.nspname, t.typname),
       null::text,
       format('alter domain %I.%I add constraint %I %s', n.nspname, t.typname, k.conname, pg_catalog.pg_get_constraintdef(k.oid))
from pg_catalog.pg_constraint k
join pg_catalog.pg_type t on t.oid = k.contypid
join pg_catalog.pg_namespace n on n.oid = t.typnamespace
where k.contype = 'c' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
