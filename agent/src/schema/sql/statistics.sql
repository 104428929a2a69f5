-- Statistics objects.
select s.tableoid, s.oid, n.nspname::text, s.stxname::text, format('%I.%I', n.nspname, s.stxname),
       pg_catalog.pg_get_userbyid(s.stxowner)::text,
       concat(pg_catalog.pg_get_statisticsobjdef(s.oid),
         case when s.stxstattarget >= 0 then format(E';\nalter statistics %I.%I set statistics %s', n.nspname, s.stxname, s.stxstattarget) end)
from pg_catalog.pg_statistic_ext s
join pg_catalog.pg_namespace n on n.oid = s.stxnamespace
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
