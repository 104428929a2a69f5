-- Materialized views, empty: their rows come after the copy.
select c.tableoid, c.oid, n.nspname::text, c.relname::text, format('%I.%I', n.nspname, c.relname),
       pg_catalog.pg_get_userbyid(c.relowner)::text,
       concat(format('create materialized view %I.%I', n.nspname, c.relname),
              case when m.amname <> 'heap' then ' using ' || quote_ident(m.amname) end,
              ' with (' || (select string_agg(format('%s=%L', split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)), ', ')
                            from unnest(c.reloptions) o) || ')',
              ' tablespace ' || quote_ident(s.spcname),
              E' as\n', rtrim(pg_catalog.pg_get_viewdef(c.oid), ';'), E'\nwith no data')
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
left join pg_catalog.pg_am m on m.oid = c.relam
left join pg_catalog.pg_tablespace s on s.oid = c.reltablespace
where c.relkind = 'm' and c.relpersistence <> 't' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
