-- Composite types that stand by themselves, not the row types of tables.
select t.tableoid, t.oid, n.nspname::text, t.typname::text, format('%I.%I', n.nspname, t.typname),
       pg_catalog.pg_get_userbyid(t.typowner)::text,
       format('create type %I.%I as (%s)', n.nspname, t.typname,
         (select string_agg(concat(format('%I %s', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)),
                                   case when a.attcollation <> at.typcollation then format(' collate %I.%I', cn.nspname, co.collname) end),
                            ', ' order by a.attnum)
          from pg_catalog.pg_attribute a
          join pg_catalog.pg_type at on at.oid = a.atttypid
          left join pg_catalog.pg_collation co on co.oid = a.attcollation
          left join pg_catalog.pg_namespace cn on cn.oid = co.collnamespace
          where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped))
from pg_catalog.pg_type t
join pg_catalog.pg_namespace n on n.oid = t.typnamespace
join pg_catalog.pg_class c on c.oid = t.typrelid and c.relkind = 'c'
where t.typtype = 'c' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
