-- Policies of row level security.
select p.tableoid, p.oid, n.nspname::text, concat(c.relname, ' ', p.polname), format('%I on %I.%I', p.polname, n.nspname, c.relname), null::text,
       concat(format('create policy %I on %I.%I', p.polname, n.nspname, c.relname),
         case when not p.polpermissive then ' as restrictive' end,
         case p.polcmd when 'r' then ' for select' when 'a' then ' for insert' when 'w' then ' for update' when 'd' then ' for delete' end,
         case when p.polroles <> '{0}'
              then ' to ' || (select string_agg(quote_ident(pg_catalog.pg_get_userbyid(role)), ', ' order by place)
                              from unnest(p.polroles) with ordinality r (role, place)) end,
         ' using (' || pg_catalog.pg_get_expr(p.polqual, p.polrelid) || ')',
         ' with check (' || pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) || ')')
from pg_catalog.pg_policy p
join pg_catalog.pg_class c on c.oid = p.polrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
