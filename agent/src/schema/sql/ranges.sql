-- Range types with the names of their multiranges; those with a canonical function need a shell type and are refused.
select t.tableoid, t.oid, n.nspname::text, t.typname::text, format('%I.%I', n.nspname, t.typname),
       pg_catalog.pg_get_userbyid(t.typowner)::text,
       format('create type %I.%I as range (%s)', n.nspname, t.typname, concat_ws(', ',
         'subtype = ' || pg_catalog.format_type(r.rngsubtype, null),
         format('subtype_opclass = %I.%I', opn.nspname, op.opcname),
         case when r.rngcollation <> 0 then format('collation = %I.%I', cn.nspname, co.collname) end,
         case when r.rngsubdiff <> 0 then 'subtype_diff = ' || r.rngsubdiff::regproc::text end,
         format('multirange_type_name = %I.%I', mn.nspname, m.typname)))
from pg_catalog.pg_range r
join pg_catalog.pg_type t on t.oid = r.rngtypid
join pg_catalog.pg_namespace n on n.oid = t.typnamespace
join pg_catalog.pg_type m on m.oid = r.rngmultitypid
join pg_catalog.pg_namespace mn on mn.oid = m.typnamespace
join pg_catalog.pg_opclass op on op.oid = r.rngsubopc
join pg_catalog.pg_namespace opn on opn.oid = op.opcnamespace
left join pg_catalog.pg_collation co on co.oid = r.rngcollation
left join pg_catalog.pg_namespace cn on cn.oid = co.collnamespace
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
