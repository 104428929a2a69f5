-- What the catalog says of schema shop, object by object, without numbers: equal schemas give equal lines.
-- Triggers of a shard that gave keys away are ours, and left out.
with relation as (
    select c.* from pg_catalog.pg_class c where c.relnamespace = 'shop'::regnamespace
), described as (
    select 'relation' as kind, c.oid::regclass::text as name,
           concat_ws(' ', c.relkind, c.relpersistence, c.relreplident, c.relrowsecurity, c.relforcerowsecurity, c.relispopulated,
                     c.relispartition, a.amname, c.relowner::regrole, c.relacl::text, c.reloptions::text,
                     pg_catalog.pg_get_partkeydef(c.oid), pg_catalog.pg_get_expr(c.relpartbound, c.oid),
                     case when c.relkind in ('v', 'm') then pg_catalog.pg_get_viewdef(c.oid) end,
                     pg_catalog.obj_description(c.oid, 'pg_class')) as definition
    from relation c left join pg_catalog.pg_am a on a.oid = c.relam
    union all
    select 'column', c.oid::regclass::text || ' ' || a.attnum || ' ' || a.attname,
           concat_ws(' ', pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
                     a.attcollation::regcollation, a.attstorage, a.attcompression, a.attstattarget, a.attacl::text,
                     pg_catalog.pg_get_expr(d.adbin, d.adrelid), pg_catalog.col_description(c.oid, a.attnum))
    from relation c join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_catalog.pg_attrdef d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
    union all
    select 'index', i.indexrelid::regclass::text,
           concat_ws(' ', pg_catalog.pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisreplident, i.indisclustered)
    from pg_catalog.pg_index i join relation c on c.oid = i.indrelid
    union all
    select 'constraint', concat_ws(' ', n.conrelid::regclass, n.contypid::regtype, n.conname),
           concat_ws(' ', pg_catalog.pg_get_constraintdef(n.oid), n.convalidated, pg_catalog.obj_description(n.oid, 'pg_constraint'))
    from pg_catalog.pg_constraint n where n.connamespace = 'shop'::regnamespace
    union all
    select 'trigger', t.tgrelid::regclass::text || ' ' || t.tgname, pg_catalog.pg_get_triggerdef(t.oid) || t.tgenabled::text
    from pg_catalog.pg_trigger t join relation c on c.oid = t.tgrelid
    where not t.tgisinternal and t.tgname not like 'shardwright%'
    union all
    select 'rule', r.ev_class::regclass::text || ' ' || r.rulename, pg_catalog.pg_get_ruledef(r.oid) || r.ev_enabled::text
    from pg_catalog.pg_rewrite r join relation c on c.oid = r.ev_class
    union all
    select 'policy', p.polrelid::regclass::text || ' ' || p.polname,
           concat_ws(' ', p.polcmd, p.polpermissive, p.polroles::regrole[], pg_catalog.pg_get_expr(p.polqual, p.polrelid),
                     pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid))
    from pg_catalog.pg_policy p join relation c on c.oid = p.polrelid
    union all
    select 'statistics', s.stxname, pg_catalog.pg_get_statisticsobjdef(s.oid)
    from pg_catalog.pg_statistic_ext s where s.stxnamespace = 'shop'::regnamespace
    union all
    select 'function', f.oid::regprocedure::text, concat_ws(' ', pg_catalog.pg_get_functiondef(f.oid), f.proowner::regrole, f.proacl::text)
    from pg_catalog.pg_proc f where f.pronamespace = 'shop'::regnamespace
    union all
    select 'type', t.oid::regtype::text,
           concat_ws(' ', t.typtype, t.typowner::regrole, t.typacl::text, t.typdefault, pg_catalog.format_type(t.typbasetype, t.typtypmod),
                     (select array_agg(e.enumlabel order by e.enumsortorder) from pg_catalog.pg_enum e where e.enumtypid = t.oid),
                     pg_catalog.obj_description(t.oid, 'pg_type'))
    from pg_catalog.pg_type t where t.typnamespace = 'shop'::regnamespace
    union all
    select 'sequence', s.seqrelid::regclass::text,
           concat_ws(' ', s.seqtypid::regtype, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle,
                     (select d.refobjid::regclass::text || '.' || d.refobjsubid from pg_catalog.pg_depend d
                      where d.objid = s.seqrelid and d.deptype in ('a', 'i') and d.refclassid = 'pg_class'::regclass))
    from pg_catalog.pg_sequence s join relation c on c.oid = s.seqrelid
    union all
    select 'privileges', concat_ws(' ', p.defaclrole::regrole, p.defaclobjtype), p.defaclacl::text
    from pg_catalog.pg_default_acl p where p.defaclnamespace = 'shop'::regnamespace
    union all
    select 'schema', n.nspname, concat_ws(' ', n.nspowner::regrole, n.nspacl::text)
    from pg_catalog.pg_namespace n where n.nspname = 'shop'
)
select concat_ws(': ', kind, name, definition) from described order by 1
