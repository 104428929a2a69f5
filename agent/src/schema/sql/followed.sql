with recursive t as (
  select pg_catalog.to_regclass(name)::oid as oid from pg_catalog.unnest($1::text[]) name
  where pg_catalog.to_regclass(name) is not null
  union
  -- pg_partition_tree would lock the partitions.
  select i.inhparent
  from t
  join pg_catalog.pg_class c on c.oid = t.oid and c.relispartition
  join pg_catalog.pg_inherits i on i.inhrelid = c.oid)
select pg_catalog.jsonb_build_object(
  'table', pg_catalog.jsonb_build_object('schema', n.nspname::text, 'name', c.relname::text),
  'is_partition', c.relispartition,
  'is_partitioned', c.relkind = 'p',
  'filenode', coalesce(pg_catalog.pg_relation_filenode(c.oid)::bigint, 0),
  'comment', pg_catalog.obj_description(c.oid, 'pg_class'),
  'columns', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'number', a.attnum,
      'name', a.attname::text,
      'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
      'not_null', a.attnotnull,
      'default', pg_catalog.pg_get_expr(d.adbin, d.adrelid),
      'missing', (a.attmissingval::text::text[])[1],
      'generated', a.attgenerated::text,
      'identity', a.attidentity::text,
      'sequence', (select pg_catalog.quote_ident(sn.nspname::text) || '.' || pg_catalog.quote_ident(s.relname::text)
                   from pg_catalog.pg_depend u
                   join pg_catalog.pg_class s on s.oid = u.objid and s.relkind = 'S'
                   join pg_catalog.pg_namespace sn on sn.oid = s.relnamespace
                   where u.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and u.refclassid = u.classid
                     and u.refobjid = a.attrelid and u.refobjsubid = a.attnum and u.deptype in ('a', 'i')
                   order by 1 limit 1),
      'collation', (select pg_catalog.quote_ident(cn.nspname::text) || '.' || pg_catalog.quote_ident(co.collname::text)
                    from pg_catalog.pg_collation co join pg_catalog.pg_namespace cn on cn.oid = co.collnamespace
                    where co.oid = a.attcollation and a.attcollation <> y.typcollation),
      'runs_code', exists (
         select from pg_catalog.pg_depend u
         where u.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass and u.objid = d.oid and u.refobjid >= 16384
           and u.refclassid in ('pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_operator'::pg_catalog.regclass))
         or exists (select from pg_catalog.pg_type e
                    where e.oid in (y.oid, y.typelem) and e.typtype = 'd' and e.oid >= 16384),
      'comment', pg_catalog.col_description(a.attrelid, a.attnum)) order by a.attnum), '[]')
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_type y on y.oid = a.atttypid
    left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
  'constraints', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'name', k.conname::text,
      'kind', k.contype::text,
      'definition', pg_catalog.pg_get_constraintdef(k.oid)) order by k.conname), '[]')
    from pg_catalog.pg_constraint k
    where k.conrelid = c.oid and k.contype in ('c', 'f', 'p', 'u', 'x')
      and k.conparentid = 0 and k.coninhcount = 0),
  'indexes', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'name', i.relname::text,
      'definition', pg_catalog.pg_get_indexdef(x.indexrelid),
      'is_valid', x.indisvalid) order by i.relname), '[]')
    from pg_catalog.pg_index x
    join pg_catalog.pg_class i on i.oid = x.indexrelid
    where x.indrelid = c.oid and not i.relispartition
      and not exists (select from pg_catalog.pg_constraint k
                      where k.conindid = x.indexrelid and k.contype in ('p', 'u', 'x'))),
  'enums', (
    select coalesce(pg_catalog.jsonb_agg(distinct pg_catalog.jsonb_build_object(
      'name', pg_catalog.format_type(e.oid, null),
      'labels', (select pg_catalog.jsonb_agg(l.enumlabel::text order by l.enumsortorder)
                 from pg_catalog.pg_enum l where l.enumtypid = e.oid))), '[]')
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_type y on y.oid = a.atttypid
    join pg_catalog.pg_type e on e.oid in (y.oid, y.typelem, y.typbasetype) and e.typtype = 'e'
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped))
from t
join pg_catalog.pg_class c on c.oid = t.oid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
order by n.nspname, c.relname
