-- Privileges that new objects get: those of a role in all schemas differ from the built-in ones, those in one schema add to them.
-- MAINTAIN is left out where the target's version does not know it.
with said as (
  select d.tableoid as class, d.oid, d.defaclrole, d.defaclnamespace, d.defaclacl,
         case when d.defaclnamespace = 0
              then acldefault(case d.defaclobjtype when 'S' then 's' else d.defaclobjtype end, d.defaclrole)
              end as base,
         format('alter default privileges for role %I%s', pg_catalog.pg_get_userbyid(d.defaclrole), ' in schema ' || quote_ident(n.nspname)) as head,
         case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types'
              when 'n' then 'schemas' when 'L' then 'large objects' end as objects,
         pg_catalog.pg_get_userbyid(d.defaclrole) as role, n.nspname
  from pg_catalog.pg_default_acl d left join pg_catalog.pg_namespace n on n.oid = d.defaclnamespace),
changes as (
  select s.class, s.oid, 1 as turn, b.place, b.privilege_type, format('%s revoke %s on %s from %s', s.head, b.privilege_type, s.objects,
           case b.grantee when 0 then 'public' else quote_ident(pg_catalog.pg_get_userbyid(b.grantee)) end) as statement
  from said s cross join lateral aclexplode(s.base) with ordinality b (grantor, grantee, privilege_type, is_grantable, place)
  where not exists (select from aclexplode(s.defaclacl) a where a.grantee = b.grantee and a.privilege_type = b.privilege_type)
  union all
  select s.class, s.oid, 2, a.place, a.privilege_type, format('%s grant %s on %s to %s%s', s.head, a.privilege_type, s.objects,
           case a.grantee when 0 then 'public' else quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) end,
           case when a.is_grantable then ' with grant option' else '' end)
  from said s cross join lateral aclexplode(s.defaclacl) with ordinality a (grantor, grantee, privilege_type, is_grantable, place)
  where not exists (select from aclexplode(s.base) b
                    where b.grantee = a.grantee and b.privilege_type = a.privilege_type and b.is_grantable = a.is_grantable))
select c.class, c.oid, coalesce(s.nspname, '')::text, s.role || ' ' || s.objects, ''::text, null::text,
       string_agg(c.statement, E';\n' order by c.turn, c.place)
from changes c join said s on s.oid = c.oid
where coalesce(s.nspname <> 'shardwright', true)
  and (c.privilege_type <> 'MAINTAIN' or pg_catalog.current_setting('shardwright.target_version')::integer >= 17)
group by c.class, c.oid, s.nspname, s.role, s.objects
order by 3, 4
