-- Views with their options, `check_option` among them.
select c.tableoid, c.oid, n.nspname::text, c.relname::text, format('%I.%I', n.nspname, c.relname),
       pg_catalog.pg_get_userbyid(c.relowner)::text,
       concat(format('create view %I.%I', n.nspname, c.relname),
              ' with (' || (select string_agg(format('%s=%L', split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)), ', ')
                            from unnest(c.reloptions) o) || ')',
              E' as\n', rtrim(pg_catalog.pg_get_viewdef(c.oid), ';'))
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'v' and c.relpersistence <> 't' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
