-- Every object of the users' schemas with its definition: kind, name, what it lies on (or nothing), definition.
-- $1: both servers print definitions in the same words; $2: both know the privilege MAINTAIN; $3: the stride of a
-- sequence that a cutover or a repair has shared out on one of them, which is compared as it counted before (ADR 12).
-- Not here: our own schema, guards and event triggers, members of extensions, publications, subscriptions, default
-- privileges, and what one server makes by itself of an object that is here.
with recursive member (class, oid) as (
  select d.classid, d.objid from pg_catalog.pg_depend d where d.deptype = 'e'
  union
  select d.classid, d.objid from pg_catalog.pg_depend d
  join member m on d.refclassid = m.class and d.refobjid = m.oid and d.deptype in ('a', 'i')),
space as (
  select n.oid, n.nspname from pg_catalog.pg_namespace n
  where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')),
rel as materialized (
  select c.*, format('%I.%I', s.nspname, c.relname) as name, t.reloptions as toast_options
  from pg_catalog.pg_class c join space s on s.oid = c.relnamespace
  left join pg_catalog.pg_class t on t.oid = c.reltoastrelid
  where c.relpersistence <> 't' and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    and (c.tableoid, c.oid) not in (select class, oid from member)),
typ as materialized (
  select t.*, format('%I.%I', s.nspname, t.typname) as name
  from pg_catalog.pg_type t join space s on s.oid = t.typnamespace
  where (t.tableoid, t.oid) not in (select class, oid from member)
    and not exists (select from pg_catalog.pg_depend d where d.classid = t.tableoid and d.objid = t.oid and d.deptype = 'i')),
proc as materialized (
  select p.*, (pg_catalog.pg_identify_object(p.tableoid, p.oid, 0)).identity as name
  from pg_catalog.pg_proc p join space s on s.oid = p.pronamespace
  where (p.tableoid, p.oid) not in (select class, oid from member)
    and not exists (select from pg_catalog.pg_depend d where d.classid = p.tableoid and d.objid = p.oid and d.deptype = 'i')),
acl (kind, name, of_name, owner, acl) as (
  select 'relation', r.name, null::text, r.relowner,
         coalesce(r.relacl, acldefault(case r.relkind when 'S' then 's' else 'r' end::"char", r.relowner)) from rel r
  union all
  select 'column', format('%s.%I', r.name, a.attname), r.name, r.relowner, a.attacl
  from rel r join pg_catalog.pg_attribute a on a.attrelid = r.oid where a.attacl is not null and not a.attisdropped
  union all select 'routine', p.name, null, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner)) from proc p
  union all select 'type', t.name, null, t.typowner, coalesce(t.typacl, acldefault('T', t.typowner)) from typ t
  union all
  select 'schema', quote_ident(n.nspname), null, n.nspowner, coalesce(n.nspacl, acldefault('n', n.nspowner))
  from pg_catalog.pg_namespace n join space s on s.oid = n.oid where n.nspname <> 'public')
select 'schema', quote_ident(n.nspname), null::text, format('owner %I', pg_catalog.pg_get_userbyid(n.nspowner))
from pg_catalog.pg_namespace n join space s on s.oid = n.oid where n.nspname <> 'public'
union all
select 'extension', quote_ident(e.extname), null, format('schema %I', n.nspname)
from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace where e.extname <> 'plpgsql'
union all
select case r.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' when 'f' then 'foreign table' else 'table' end,
       r.name, null,
       concat_ws(', ', 'kind ' || r.relkind::text, format('owner %I', pg_catalog.pg_get_userbyid(r.relowner)), 'persistence ' || r.relpersistence::text,
         'access method ' || m.amname, 'tablespace ' || quote_ident(ts.spcname),
         'options ' || (select string_agg(o, ' ' order by o) from unnest(r.reloptions) o),
         'toast options ' || (select string_agg(o, ' ' order by o) from unnest(r.toast_options) o),
         case when r.relkind in ('r', 'p') then 'replica identity ' || r.relreplident::text end,
         case when r.relrowsecurity then 'row security' end, case when r.relforcerowsecurity then 'forced row security' end,
         case when r.relkind = 'p' then 'partition by ' || pg_catalog.pg_get_partkeydef(r.oid) end,
         'inherits ' || (select string_agg(i.inhparent::regclass::text, ' ' order by i.inhseqno) from pg_catalog.pg_inherits i where i.inhrelid = r.oid),
         case when r.relispartition then 'partition ' || pg_catalog.pg_get_expr(r.relpartbound, r.oid) end,
         case when r.reloftype <> 0 then 'of ' || r.reloftype::regtype::text end,
         case when $1 and r.relkind in ('v', 'm') then 'as ' || pg_catalog.pg_get_viewdef(r.oid) end,
         (select format('%s start %s by %s from %s to %s cache %s cycle %s', q.seqtypid::regtype, q.seqstart, case abs(q.seqincrement) when $3 then q.seqincrement / $3 else q.seqincrement end, q.seqmin, q.seqmax, q.seqcache, q.seqcycle)
          from pg_catalog.pg_sequence q where q.seqrelid = r.oid),
         (select format('owned by %s.%I (%s)', d.refobjid::regclass, a.attname, d.deptype)
          from pg_catalog.pg_depend d join pg_catalog.pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
          where r.relkind = 'S' and d.classid = 'pg_catalog.pg_class'::regclass and d.objid = r.oid and d.deptype in ('a', 'i') and d.refclassid = d.classid))
from rel r
left join pg_catalog.pg_am m on m.oid = r.relam
left join pg_catalog.pg_tablespace ts on ts.oid = r.reltablespace
union all
select 'column', format('%s.%I', r.name, a.attname), r.name,
       concat_ws(', ', 'place ' || a.place::text,
         pg_catalog.format_type(a.atttypid, a.atttypmod),
         case when a.attcollation <> t.typcollation then 'collation ' || a.attcollation::regcollation::text end,
         case when a.attnotnull then 'not null' end,
         case when a.attgenerated <> '' then 'generated ' || a.attgenerated::text || ' as' when d.adbin is not null then 'default' end
           || ' ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid),
         case when a.attidentity <> '' then 'identity ' || a.attidentity::text end,
         case when r.relkind in ('r', 'p', 'm', 'f') then 'storage ' || a.attstorage::text end,
         case when a.attcompression <> '' then 'compression ' || a.attcompression::text end,
         case when a.attstattarget >= 0 then 'statistics ' || a.attstattarget::text end,
         'options ' || (select string_agg(o, ' ' order by o) from unnest(a.attoptions) o),
         'foreign options ' || (select string_agg(o, ' ' order by o) from unnest(a.attfdwoptions) o))
from rel r
-- Table by table: beside a window over all of them the planner would look through all tables for each column.
cross join lateral (select a.*, row_number() over (order by a.attnum) as place
                    from pg_catalog.pg_attribute a where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped) a
join pg_catalog.pg_type t on t.oid = a.atttypid
left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where r.relkind <> 'S'
union all
-- Those of partitions that come from the table above have names of the server's making.
select 'constraint', format('%I on %s', k.conname, r.name), r.name,
       concat_ws(', ', pg_catalog.pg_get_constraintdef(k.oid), case when not k.convalidated then 'not validated' end,
         case when k.connoinherit and k.contype = 'c' then 'no inherit' end)
from rel r join pg_catalog.pg_constraint k on k.conrelid = r.oid
where k.contype in ('c', 'f', 'p', 'u', 'x') and (k.contype <> 'f' or k.conparentid = 0)
union all
select 'index', format('%I.%I', n.nspname, i.relname), r.name,
       concat_ws(', ', pg_catalog.pg_get_indexdef(i.oid), 'tablespace ' || quote_ident(ts.spcname),
         case when not x.indisvalid then 'invalid' end, case when not x.indisready then 'not ready' end,
         case when x.indisclustered then 'clustered' end, case when x.indisreplident then 'replica identity' end,
         'part of ' || (select h.inhparent::regclass::text from pg_catalog.pg_inherits h where h.inhrelid = i.oid),
         'statistics ' || (select string_agg(a.attnum::text || ': ' || a.attstattarget::text, ' ' order by a.attnum) from pg_catalog.pg_attribute a
                           where a.attrelid = i.oid and a.attstattarget >= 0))
from rel r
join pg_catalog.pg_index x on x.indrelid = r.oid and (x.indisvalid or r.relkind = 'p')
join pg_catalog.pg_class i on i.oid = x.indexrelid
join pg_catalog.pg_namespace n on n.oid = i.relnamespace
left join pg_catalog.pg_tablespace ts on ts.oid = i.reltablespace
union all
select 'trigger', format('%I on %s', g.tgname, r.name), r.name,
       concat_ws(', ', case when g.tgparentid = 0 then pg_catalog.pg_get_triggerdef(g.oid) end, 'enabled ' || g.tgenabled::text)
from rel r join pg_catalog.pg_trigger g on g.tgrelid = r.oid
where not g.tgisinternal and g.tgname !~ '^shardwright_guard_'
union all
select 'rule', format('%I on %s', w.rulename, r.name), r.name,
       concat_ws(', ', case when $1 then pg_catalog.pg_get_ruledef(w.oid) end, 'enabled ' || w.ev_enabled::text)
from rel r join pg_catalog.pg_rewrite w on w.ev_class = r.oid where w.rulename <> '_RETURN'
union all
select 'policy', format('%I on %s', p.polname, r.name), r.name,
       concat_ws(', ', 'for ' || p.polcmd::text, case when p.polpermissive then 'permissive' else 'restrictive' end,
         'to ' || (select string_agg(case role when 0 then 'public' else quote_ident(pg_catalog.pg_get_userbyid(role)) end, ' ' order by 1) from unnest(p.polroles) role),
         'using ' || pg_catalog.pg_get_expr(p.polqual, p.polrelid), 'with check ' || pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid))
from rel r join pg_catalog.pg_policy p on p.polrelid = r.oid
union all
select 'statistics', format('%I.%I', n.nspname, s.stxname), r.name,
       concat_ws(', ', pg_catalog.pg_get_statisticsobjdef(s.oid), format('owner %I', pg_catalog.pg_get_userbyid(s.stxowner)),
         case when s.stxstattarget >= 0 then 'statistics ' || s.stxstattarget::text end)
from rel r join pg_catalog.pg_statistic_ext s on s.stxrelid = r.oid join pg_catalog.pg_namespace n on n.oid = s.stxnamespace
union all
select 'type', t.name, null,
       concat_ws(', ', 'kind ' || t.typtype::text, format('owner %I', pg_catalog.pg_get_userbyid(t.typowner)),
         'labels ' || (select string_agg(quote_literal(e.enumlabel), ' ' order by e.enumsortorder) from pg_catalog.pg_enum e where e.enumtypid = t.oid),
         'of ' || (select string_agg(concat_ws(' ', quote_ident(a.attname), pg_catalog.format_type(a.atttypid, a.atttypmod), nullif(a.attcollation, 0)::regcollation::text), ', ' order by a.attnum)
                   from pg_catalog.pg_attribute a where t.typtype = 'c' and a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped),
         case when t.typtype = 'd' then concat_ws(' ', 'over', pg_catalog.format_type(t.typbasetype, t.typtypmod), nullif(t.typcollation, 0)::regcollation::text,
           case when t.typnotnull then 'not null' end, 'default ' || coalesce(pg_catalog.pg_get_expr(t.typdefaultbin, 0), t.typdefault)) end,
         'range over ' || (select concat_ws(' ', g.rngsubtype::regtype::text, nullif(g.rngcollation, 0)::regcollation::text, g.rngmultitypid::regtype::text) from pg_catalog.pg_range g where g.rngtypid = t.oid))
from typ t
union all
select 'constraint', format('%I on domain %s', k.conname, t.name), t.name,
       concat_ws(', ', pg_catalog.pg_get_constraintdef(k.oid), case when not k.convalidated then 'not validated' end)
from typ t join pg_catalog.pg_constraint k on k.contypid = t.oid where k.contype = 'c'
union all
select 'routine', p.name, null,
       concat_ws(', ', format('owner %I', pg_catalog.pg_get_userbyid(p.proowner)),
         case when p.prokind = 'a'
              then (select concat_ws(' ', 'aggregate', g.aggkind, g.aggtransfn, g.aggfinalfn, g.aggcombinefn, g.aggtranstype::regtype, g.agginitval, nullif(g.aggsortop, 0)::regoperator)
                    from pg_catalog.pg_aggregate g where g.aggfnoid = p.oid)
              when p.prosqlbody is null or $1
              then 'digest ' || md5(pg_catalog.pg_get_functiondef(p.oid)) end)
from proc p
union all
select 'event trigger', quote_ident(e.evtname), null,
       concat_ws(', ', 'on ' || e.evtevent, 'calls ' || e.evtfoid::regprocedure::text, 'enabled ' || e.evtenabled::text,
         'tags ' || (select string_agg(t, ' ' order by t) from unnest(e.evttags) t), format('owner %I', pg_catalog.pg_get_userbyid(e.evtowner)))
from pg_catalog.pg_event_trigger e
where e.evtname !~ '^shardwright_ddl_' and (e.tableoid, e.oid) not in (select class, oid from member)
union all
-- Of the other kinds that there is one.
select o.type, o.identity, null, ''
from (select tableoid as class, oid from pg_catalog.pg_collation
      union all select tableoid, oid from pg_catalog.pg_conversion
      union all select tableoid, oid from pg_catalog.pg_operator
      union all select tableoid, oid from pg_catalog.pg_opfamily
      union all select tableoid, oid from pg_catalog.pg_opclass
      union all select tableoid, oid from pg_catalog.pg_cast
      union all select tableoid, oid from pg_catalog.pg_transform
      union all select tableoid, oid from pg_catalog.pg_language
      union all select tableoid, oid from pg_catalog.pg_am
      union all select tableoid, oid from pg_catalog.pg_ts_parser
      union all select tableoid, oid from pg_catalog.pg_ts_template
      union all select tableoid, oid from pg_catalog.pg_ts_dict
      union all select tableoid, oid from pg_catalog.pg_ts_config
      union all select tableoid, oid from pg_catalog.pg_foreign_data_wrapper
      union all select tableoid, oid from pg_catalog.pg_foreign_server) other
cross join lateral pg_catalog.pg_identify_object(other.class, other.oid, 0) o
where other.oid >= 16384 and (other.class, other.oid) not in (select class, oid from member)
union all
select 'privileges', a.kind || ' ' || a.name, a.of_name,
       coalesce((select string_agg(concat(case e.grantee when 0 then 'public' else quote_ident(pg_catalog.pg_get_userbyid(e.grantee)) end, ' ', e.privilege_type,
                    case when e.is_grantable then ' with grant option' end, ' by ', quote_ident(pg_catalog.pg_get_userbyid(e.grantor))), ', '
                    order by e.grantee = 0, pg_catalog.pg_get_userbyid(e.grantee), e.privilege_type, pg_catalog.pg_get_userbyid(e.grantor))
                 from aclexplode(a.acl) e where $2 or e.privilege_type <> 'MAINTAIN'), '')
from acl a
union all
select 'comment', o.type || ' ' || o.identity, null, d.description
from pg_catalog.pg_description d
cross join lateral pg_catalog.pg_identify_object(d.classoid, d.objoid, d.objsubid) o
where d.objoid >= 16384 and (d.classoid, d.objoid) not in (select class, oid from member)
  and coalesce(case o.type when 'schema' then o.identity else o.schema end, '') <> 'shardwright'
  and not (o.type = 'event trigger' and o.identity ~ '^"?shardwright_ddl_' or o.type = 'trigger' and o.identity ~ '^"?shardwright_guard_')
  and o.type not in ('extension', 'publication', 'subscription')
union all
select 'security label', o.type || ' ' || o.identity, null, concat(l.provider, ' ', l.label)
from pg_catalog.pg_seclabel l
cross join lateral pg_catalog.pg_identify_object(l.classoid, l.objoid, l.objsubid) o
where l.objoid >= 16384 and (l.classoid, l.objoid) not in (select class, oid from member)
