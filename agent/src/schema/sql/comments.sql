-- Comments of objects that a user can have made; of ours none.
select d.classoid, d.objoid, o.identity,
       format('comment on %s %s is %L',
         case when o.type like '% column' then 'column'
              when o.type = 'table constraint' then 'constraint'
              when o.type = 'domain constraint' then 'constraint'
              when o.type = 'statistics object' then 'statistics'
              else o.type end,
         case when o.type = 'domain constraint' then k.identity else o.identity end, d.description)
from pg_catalog.pg_description d
cross join lateral pg_catalog.pg_identify_object(d.classoid, d.objoid, d.objsubid) o
left join lateral (
  select format('%I on domain %I.%I', k.conname, n.nspname, t.typname) as identity
  from pg_catalog.pg_constraint k
  join pg_catalog.pg_type t on t.oid = k.contypid
  join pg_catalog.pg_namespace n on n.oid = t.typnamespace
  where d.classoid = k.tableoid and k.oid = d.objoid) k on true
where (d.objoid >= 16384 or (o.type = 'schema' and o.identity = 'public' and d.description <> 'standard public schema'))
  and coalesce(case o.type when 'schema' then o.identity else o.schema end, '') <> 'shardwright'
  and not (o.type = 'event trigger' and o.identity ~ '^"?shardwright_' or o.type = 'trigger' and o.identity ~ '^"?shardwright_guard_')
order by d.classoid, d.objoid, d.objsubid
