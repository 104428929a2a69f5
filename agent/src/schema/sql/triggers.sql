-- Triggers that are not ours; of those that partitions have from their table only another state.
-- A state goes down to the partitions, whose own comes later.
select g.tableoid, g.oid, n.nspname::text, concat(c.relname, ' ', g.tgname), format('%I on %I.%I', g.tgname, n.nspname, c.relname), null::text,
       concat_ws(E';\n', case when g.tgparentid = 0 then pg_catalog.pg_get_triggerdef(g.oid) end,
         case when g.tgenabled <> coalesce(p.tgenabled, 'O')
              then format('alter table %I.%I %s trigger %I', n.nspname, c.relname,
                     case g.tgenabled when 'D' then 'disable' when 'A' then 'enable always' when 'R' then 'enable replica' else 'enable' end,
                     g.tgname) end)
from pg_catalog.pg_trigger g
join pg_catalog.pg_class c on c.oid = g.tgrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
left join pg_catalog.pg_trigger p on p.oid = g.tgparentid
where not g.tgisinternal and c.relkind in ('r', 'p', 'v') and g.tgname !~ '^shardwright_guard_' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
