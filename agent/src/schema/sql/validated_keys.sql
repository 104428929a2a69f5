-- Foreign keys that are validated, between tables that are no partitioned ones: what adds each unvalidated, what validates it.
select k.tableoid, k.oid,
       format('alter table only %I.%I add constraint %I %s not valid;', n.nspname, c.relname, k.conname, pg_catalog.pg_get_constraintdef(k.oid)),
       format('alter table only %I.%I validate constraint %I;', n.nspname, c.relname, k.conname)
from pg_catalog.pg_constraint k
join pg_catalog.pg_class c on c.oid = k.conrelid
join pg_catalog.pg_class r on r.oid = k.confrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where k.contype = 'f' and k.conparentid = 0 and k.convalidated and c.relkind = 'r' and r.relkind = 'r'
order by pg_catalog.pg_relation_size(c.oid) desc
