-- Sequences: those of identity columns are made with the identity, the others are then owned by their columns.
select c.tableoid, c.oid, n.nspname::text, c.relname::text, format('%I.%I', n.nspname, c.relname),
       case when o.deptype is distinct from 'i' then pg_catalog.pg_get_userbyid(c.relowner)::text end,
       case o.deptype when 'i'
         then format('alter table %I.%I alter column %I add generated %s as identity (sequence name %I.%I %s)',
                tn.nspname, t.relname, a.attname, case a.attidentity when 'a' then 'always' else 'by default' end,
                n.nspname, c.relname, p.parameters)
              || case when c.relpersistence <> t.relpersistence
                      then format(E';\nalter sequence %I.%I set %s', n.nspname, c.relname, case c.relpersistence when 'u' then 'unlogged' else 'logged' end)
                      else '' end
         else format('create %ssequence %I.%I as %s %s', case c.relpersistence when 'u' then 'unlogged ' else '' end,
                n.nspname, c.relname, pg_catalog.format_type(s.seqtypid, null), p.parameters) end
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_sequence s on s.seqrelid = c.oid
left join pg_catalog.pg_depend o on o.classid = c.tableoid and o.objid = c.oid and o.refclassid = c.tableoid
                                and o.refobjsubid > 0 and o.deptype in ('a', 'i')
left join pg_catalog.pg_attribute a on a.attrelid = o.refobjid and a.attnum = o.refobjsubid
left join pg_catalog.pg_class t on t.oid = o.refobjid
left join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
cross join lateral (select format('start with %s increment by %s minvalue %s maxvalue %s cache %s%s', s.seqstart, s.seqincrement,
                                  s.seqmin, s.seqmax, s.seqcache, case when s.seqcycle then ' cycle' else '' end) as parameters) p
where c.relkind = 'S' and c.relpersistence <> 't' and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
