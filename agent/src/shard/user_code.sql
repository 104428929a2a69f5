-- The code that PostgreSQL evaluates when it reads, writes or plans for rows of tables, with its owner; code of trusted
-- owners is left out. $1: the tables as JSON, each with the written columns, or null if no column takes its default.
--
-- Expressions are parsed in the form in which the server stores them. A function is therefore found whether it is
-- called by name, as an operator, as a cast, or through a domain in the expression or in the type of a column.
with recursive named as (
    select c.oid, g.columns, g.schema, g.name
    from pg_catalog.jsonb_to_recordset($1::pg_catalog.text::pg_catalog.jsonb)
         g (schema pg_catalog.text, name pg_catalog.text, columns pg_catalog.text[])
    join pg_catalog.pg_namespace n on n.nspname = g.schema
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = g.name
),
-- The partitions of the partitioned tables. pg_partition_tree would lock them, and the session may query on behalf of
-- another session for whose lock others wait.
partition (oid) as (
    select i.inhrelid
    from named
    join pg_catalog.pg_inherits i on i.inhparent = named.oid
    join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relispartition
    union
    select i.inhrelid from partition join pg_catalog.pg_inherits i on i.inhparent = partition.oid
),
given as (
    select oid, columns, schema, name from named
    union all
    select p.oid, null, n.nspname::pg_catalog.text, c.relname::pg_catalog.text
    from partition p
    join pg_catalog.pg_class c on c.oid = p.oid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where p.oid not in (select oid from named)
),
-- 'e' is an expression, 'c' the type of a column, 't' another type, 'f' a function, 'o' an operator.
node (relation, place, kind, id, tree) as (
    select g.oid, s.place, s.kind, s.id, s.tree
    from given g, lateral (
        select pg_catalog.format('check constraint %I', k.conname), 'e', 0::pg_catalog.oid, k.conbin::pg_catalog.text
        from pg_catalog.pg_constraint k where k.conrelid = g.oid and k.conbin is not null
        union all
        select pg_catalog.format(case when a.attgenerated = '' then 'default of column %I' else 'generated column %I' end, a.attname),
               'e', 0, d.adbin::pg_catalog.text
        from pg_catalog.pg_attrdef d
        join pg_catalog.pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
        where d.adrelid = g.oid and (a.attgenerated <> '' or not a.attname = any (g.columns))
        union all
        select pg_catalog.format('index %I', c.relname), 'e', 0, e.tree
        from pg_catalog.pg_index i
        join pg_catalog.pg_class c on c.oid = i.indexrelid
        cross join lateral (values (i.indexprs::pg_catalog.text), (i.indpred::pg_catalog.text)) e (tree)
        where i.indrelid = g.oid and e.tree is not null
        union all
        select pg_catalog.format('statistics %I', x.stxname), 'e', 0, x.stxexprs::pg_catalog.text
        from pg_catalog.pg_statistic_ext x where x.stxrelid = g.oid and x.stxexprs is not null
        union all
        select 'partition key', 'e', 0, p.partexprs::pg_catalog.text
        from pg_catalog.pg_partitioned_table p
        where p.partexprs is not null
          and (p.partrelid = g.oid or p.partrelid in (select a.relid from pg_catalog.pg_partition_ancestors(g.oid) a))
        union all
        select pg_catalog.format('trigger %I', r.tgname), 'e', 0, r.tgqual::pg_catalog.text
        from pg_catalog.pg_trigger r where r.tgrelid = g.oid and r.tgenabled in ('A', 'R') and r.tgqual is not null
        union all
        select pg_catalog.format('column %I', a.attname), 'c', a.atttypid, null
        from pg_catalog.pg_attribute a
        where a.attrelid = g.oid and a.attnum > 0 and not a.attisdropped and a.atttypid >= 16384
    ) s (place, kind, id, tree)
    union
    select n.relation, s.place, s.kind, s.id, s.tree
    from node n, lateral (
        select pg_catalog.format('domain %s', n.id::pg_catalog.regtype), 'e', 0::pg_catalog.oid, k.conbin::pg_catalog.text
        from pg_catalog.pg_constraint k where n.kind in ('c', 't') and k.contypid = n.id and k.conbin is not null
        union all
        select n.place, 't', p.id, null
        from pg_catalog.pg_type y
        cross join lateral (
            values (y.typbasetype), (y.typelem)
            union all
            select a.atttypid from pg_catalog.pg_attribute a
            where y.typrelid <> 0 and a.attrelid = y.typrelid and a.attnum > 0 and not a.attisdropped
            union all
            select r.rngsubtype from pg_catalog.pg_range r where y.typtype = 'r' and r.rngtypid = y.oid
            union all
            select r.rngtypid from pg_catalog.pg_range r where y.typtype = 'm' and r.rngmultitypid = y.oid
        ) p (id)
        where n.kind in ('c', 't') and y.oid = n.id and p.id >= 16384
        union all
        select pg_catalog.format('type %s', r.rngtypid::pg_catalog.regtype), 'f', p.id, null
        from pg_catalog.pg_range r
        cross join lateral (values (r.rngcanonical::pg_catalog.oid), (r.rngsubdiff::pg_catalog.oid)) p (id)
        where n.kind in ('c', 't') and r.rngtypid = n.id and p.id <> 0
        union all
        select pg_catalog.format('cast from %s to %s', c.castsource::pg_catalog.regtype, c.casttarget::pg_catalog.regtype),
               'f', c.castfunc, null
        from pg_catalog.pg_cast c where n.kind = 'c' and n.id in (c.castsource, c.casttarget) and c.castfunc <> 0
        union all
        select n.place, case when m[1] is not null then 'f' when m[2] is not null then 'o' else 't' end,
               coalesce(m[1], m[2], m[3])::pg_catalog.oid, null
        from pg_catalog.regexp_matches(n.tree, ':(?:(?:funcid|aggfnoid|winfnoid) (\d+)|opno (\d+)|\w*type(?:id)? (\d{5,}))', 'gi') m
        where n.kind = 'e'
        union all
        select n.place, 'f', o.oprcode::pg_catalog.oid, null
        from pg_catalog.pg_operator o where n.kind = 'o' and o.oid = n.id
    ) s (place, kind, id, tree)
),
-- The roles that may make the agents' role execute code: superusers, that role itself, and the roles that its setting
-- names.
trusted as (
    select r.oid from pg_catalog.pg_roles r
    where r.rolsuper or r.rolname = session_user or r.rolname in (
        select pg_catalog.btrim(w.name)
        from pg_catalog.pg_roles u
        join pg_catalog.pg_db_role_setting s on s.setrole = u.oid
        cross join lateral pg_catalog.unnest(s.setconfig) c (entry)
        cross join lateral pg_catalog.string_to_table(pg_catalog.split_part(c.entry, '=', 2), ',') w (name)
        where u.rolname = session_user and pg_catalog.split_part(c.entry, '=', 1) = 'shardwright.trusted_owners')
),
found (relation, place, fires, problem, remedy) as (
    select n.relation, n.place, false,
           pg_catalog.format('it calls %s of %s, who is not trusted, with the privileges of the agents'' role', p.oid::pg_catalog.regprocedure, r.rolname),
           pg_catalog.format('write it without functions of %1$s, or, if %1$s may do whatever the agents'' role may: run docs/grants.sql with -v owner=%1$I -v trust=on', r.rolname)
    from node n
    join pg_catalog.pg_proc p on p.oid = n.id
    join pg_catalog.pg_roles r on r.oid = p.proowner
    where n.kind = 'f' and p.oid >= 16384 and p.proowner not in (select oid from trusted)
    union
    select n.relation, n.place, false,
           pg_catalog.format('it calls %s, which does more than to compute a value, with the privileges of the agents'' role', p.oid::pg_catalog.regprocedure),
           'write it without that function'
    from node n
    join pg_catalog.pg_proc p on p.oid = n.id
    where n.kind = 'f' and (
        -- Functions that execute their arguments.
        (p.oid < 16384 and p.proname ~ '(_to_xml|_to_xmlschema|_to_xml_and_xmlschema|^ts_stat|^ts_rewrite)$')
        or (p.provolatile = 'v' and p.oid < 16384 and p.proname not in (
            'random', 'random_normal', 'clock_timestamp', 'timeofday', 'gen_random_uuid', 'uuidv4', 'uuidv7', 'nextval'))
        or (p.provolatile = 'v' and p.proowner in (select oid from trusted) and exists (
            select from pg_catalog.pg_depend d
            where d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = p.oid and d.deptype = 'e')))
    union
    select g.oid, pg_catalog.format('trigger %I', r.tgname), true,
           pg_catalog.format('it fires for what the agents write, and calls %s of %s with the privileges of their role',
                             p.oid::pg_catalog.regprocedure, pg_catalog.pg_get_userbyid(p.proowner)),
           pg_catalog.format('alter table %I.%I enable trigger %I', g.schema, g.name, r.tgname)
    from given g
    join pg_catalog.pg_trigger r on r.tgrelid = g.oid
    join pg_catalog.pg_proc p on p.oid = r.tgfoid
    where r.tgenabled in ('A', 'R') and p.proowner not in (select oid from trusted)
    union
    select g.oid, pg_catalog.format('rule %I', r.rulename), true, 'it acts on what the agents write, with the privileges of their role',
           pg_catalog.format('alter table %I.%I enable rule %I', g.schema, g.name, r.rulename)
    from given g
    join pg_catalog.pg_class c on c.oid = g.oid
    join pg_catalog.pg_rewrite r on r.ev_class = g.oid
    where r.ev_enabled in ('A', 'R') and c.relowner not in (select oid from trusted)
)
select coalesce((
    select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
               'schema', g.schema, 'name', g.name, 'place', f.place, 'fires', f.fires, 'problem', f.problem, 'remedy', f.remedy)
               order by g.schema, g.name, f.place, f.problem)
    from found f join given g on g.oid = f.relation), '[]')::pg_catalog.text,
    exists (select from node n join pg_catalog.pg_type y on y.oid = n.id where n.kind = 't' and y.typtype = 'd')
