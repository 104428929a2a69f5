-- Privileges that differ from those that the object has when it is new: first what is taken away, then what is given,
-- each by whoever gave it. Objects of extensions are among them where they were changed; those of pg_catalog are the server's
-- matter, and only a superuser could repeat theirs.
-- MAINTAIN is left out where the target's version does not know it.
with objects as (
  select c.tableoid as class, c.oid, 0 as place, '' as columns, case c.relkind when 'S' then 'sequence' else 'table' end as kind,
         format('%I.%I', n.nspname, c.relname) as identity, c.relowner as owner, n.nspname, c.relacl as acl,
         acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner) as base
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
  union all
  select c.tableoid, c.oid, a.attnum, format(' (%I)', a.attname), 'table', format('%I.%I', n.nspname, c.relname), c.relowner, n.nspname,
         a.attacl, null
  from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where a.attacl is not null and not a.attisdropped
  union all
  select p.tableoid, p.oid, 0, '', 'routine', format('%I.%I(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)),
         p.proowner, n.nspname, p.proacl, acldefault('f', p.proowner)
  from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace where p.prokind <> 'a'
  union all
  select p.tableoid, p.oid, 0, '', 'routine', (pg_catalog.pg_identify_object(p.tableoid, p.oid, 0)).identity,
         p.proowner, n.nspname, p.proacl, acldefault('f', p.proowner)
  from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace where p.prokind = 'a' and p.proacl is not null
    and (pg_catalog.pg_identify_object(p.tableoid, p.oid, 0)).identity is not null
  union all
  select f.tableoid, f.oid, 0, '', 'foreign data wrapper', quote_ident(f.fdwname), f.fdwowner, '', f.fdwacl, acldefault('F', f.fdwowner)
  from pg_catalog.pg_foreign_data_wrapper f
  union all
  select s.tableoid, s.oid, 0, '', 'foreign server', quote_ident(s.srvname), s.srvowner, '', s.srvacl, acldefault('S', s.srvowner)
  from pg_catalog.pg_foreign_server s
  union all
  select t.tableoid, t.oid, 0, '', 'type', format('%I.%I', n.nspname, t.typname), t.typowner, n.nspname, t.typacl, acldefault('T', t.typowner)
  from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace
  union all
  select n.tableoid, n.oid, 0, '', 'schema', quote_ident(n.nspname), n.nspowner, n.nspname, n.nspacl,
         acldefault('n', n.nspowner)
           || case when n.nspname = 'public' then array[makeaclitem(0, n.nspowner, 'USAGE', false)] else '{}' end
  from pg_catalog.pg_namespace n
  union all
  select l.tableoid, l.oid, 0, '', 'language', quote_ident(l.lanname), l.lanowner, '', l.lanacl, acldefault('l', l.lanowner)
  from pg_catalog.pg_language l),
seen as (
  select o.class, o.oid, o.place, o.columns, o.kind, o.identity, o.owner, o.acl,
         case when o.kind = 'schema' and o.nspname = 'public' then o.base else coalesce(i.initprivs, o.base) end as base
  from objects o
  left join pg_catalog.pg_init_privs i on i.classoid = o.class and i.objoid = o.oid and i.objsubid = o.place
  where o.acl is not null and o.acl is distinct from i.initprivs
    and o.nspname not in ('information_schema', 'shardwright') and o.nspname !~ '^pg_'),
changes as (
  select s.class, s.oid, s.place, 1 as turn, b.item, b.privilege_type,
         format('revoke %s%s on %s %s from %s', b.privilege_type, s.columns, s.kind, s.identity, g.name) as statement, s.owner, s.owner as grantor
  from seen s
  cross join lateral aclexplode(s.base) with ordinality b (grantor, grantee, privilege_type, is_grantable, item)
  cross join lateral (select case b.grantee when 0 then 'public' else quote_ident(pg_catalog.pg_get_userbyid(b.grantee)) end) g (name)
  where not exists (select from aclexplode(s.acl) a where a.grantee = b.grantee and a.privilege_type = b.privilege_type)
  union all
  select s.class, s.oid, s.place, 2, a.item, a.privilege_type,
         format('grant %s%s on %s %s to %s%s', a.privilege_type, s.columns, s.kind, s.identity, g.name,
                case when a.is_grantable then ' with grant option' else '' end), s.owner, a.grantor
  from seen s
  cross join lateral aclexplode(s.acl) with ordinality a (grantor, grantee, privilege_type, is_grantable, item)
  cross join lateral (select case a.grantee when 0 then 'public' else quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) end) g (name)
  where not exists (select from aclexplode(s.base) b
                    where b.grantee = a.grantee and b.privilege_type = a.privilege_type and b.is_grantable = a.is_grantable))
select c.class, c.oid, min(s.kind || ' ' || s.identity),
       string_agg(case when c.grantor = c.owner then c.statement
                       else format('set local role %I; %s; reset role', pg_catalog.pg_get_userbyid(c.grantor), c.statement) end,
                  E';\n' order by c.place, c.turn, c.item)
from changes c join (select distinct class, oid, kind, identity from seen) s on s.class = c.class and s.oid = c.oid
where c.privilege_type <> 'MAINTAIN' or pg_catalog.current_setting('shardwright.target_version')::integer >= 17
group by c.class, c.oid
order by 3
