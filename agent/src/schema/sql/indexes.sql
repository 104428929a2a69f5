-- Indexes that no constraint brings along. The last column: rows are found by it.
select i.tableoid, i.oid, n.nspname::text, i.relname::text, format('%I.%I', n.nspname, i.relname), null::text,
       concat('set local default_tablespace = ' || quote_ident(s.spcname) || '; ', pg_catalog.pg_get_indexdef(i.oid),
         case when s.spcname is not null then '; reset default_tablespace' end),
       x.indisreplident
from pg_catalog.pg_index x
join pg_catalog.pg_class i on i.oid = x.indexrelid
join pg_catalog.pg_class c on c.oid = x.indrelid and c.relkind in ('r', 'p', 'm')
join pg_catalog.pg_namespace n on n.oid = i.relnamespace
left join pg_catalog.pg_tablespace s on s.oid = i.reltablespace
where i.relpersistence <> 't' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
  and not exists (select from pg_catalog.pg_constraint k where k.conindid = i.oid and k.contype in ('p', 'u', 'x'))
