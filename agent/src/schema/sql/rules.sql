-- Rules, other than the ones that make a view.
select r.tableoid, r.oid, n.nspname::text, concat(c.relname, ' ', r.rulename), format('%I on %I.%I', r.rulename, n.nspname, c.relname), null::text,
       concat(rtrim(pg_catalog.pg_get_ruledef(r.oid), ';'),
         case when r.ev_enabled <> 'O'
              then format(E';\nalter table %I.%I %s rule %I', n.nspname, c.relname,
                     case r.ev_enabled when 'D' then 'disable' when 'A' then 'enable always' else 'enable replica' end, r.rulename) end)
from pg_catalog.pg_rewrite r
join pg_catalog.pg_class c on c.oid = r.ev_class
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where r.rulename <> '_RETURN' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
