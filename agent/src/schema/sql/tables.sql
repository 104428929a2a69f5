-- Tables and partitioned tables: columns with type, collation, generation and NOT NULL, and the storage parameters.
-- Defaults, identities and checks come after what they need; NOT NULL has a name of its own from 18 on.
select c.tableoid, c.oid, n.nspname::text, c.relname::text, format('%I.%I', n.nspname, c.relname),
       pg_catalog.pg_get_userbyid(c.relowner)::text,
       concat('create ', case c.relpersistence when 'u' then 'unlogged ' end,
         format(E'table %I.%I (\n    %s\n)', n.nspname, c.relname,
           (select string_agg(concat(
                     format('%I %s', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)),
                     case when a.attcollation <> t.typcollation then format(' collate %I.%I', cn.nspname, co.collname) end,
                     case a.attgenerated
                       when 's' then format(' generated always as (%s) stored', pg_catalog.pg_get_expr(d.adbin, d.adrelid))
                       when 'v' then format(' generated always as (%s) virtual', pg_catalog.pg_get_expr(d.adbin, d.adrelid)) end,
                     case when a.attnotnull and k.convalidated is not false
                          then concat(' constraint ' || quote_ident(k.conname), ' not null', case when k.connoinherit then ' no inherit' end) end),
                     E',\n    ' order by a.attnum)
            from pg_catalog.pg_attribute a
            join pg_catalog.pg_type t on t.oid = a.atttypid
            left join pg_catalog.pg_collation co on co.oid = a.attcollation
            left join pg_catalog.pg_namespace cn on cn.oid = co.collnamespace
            left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
            left join pg_catalog.pg_constraint k on k.conrelid = a.attrelid and k.contype = 'n' and k.conkey = array[a.attnum]
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)),
         ' partition by ' || case c.relkind when 'p' then pg_catalog.pg_get_partkeydef(c.oid) end,
         case when m.amname <> 'heap' then ' using ' || quote_ident(m.amname) end,
         ' with (' || (select string_agg(format('%s=%L', split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)), ', ')
                       from (select unnest(c.reloptions) as o
                             union all select 'toast.' || unnest(toast.reloptions)) options) || ')',
         ' tablespace ' || quote_ident(s.spcname))
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
left join pg_catalog.pg_class toast on toast.oid = c.reltoastrelid
left join pg_catalog.pg_am m on m.oid = c.relam
left join pg_catalog.pg_tablespace s on s.oid = c.reltablespace
where c.relkind in ('r', 'p') and c.relpersistence <> 't' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
