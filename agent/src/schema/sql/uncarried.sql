-- What the writer has no words for, object by object.
select o.class, o.oid, pg_catalog.pg_describe_object(o.class, o.oid, 0) || o.why
from (
  select tableoid as class, oid, '' as why from pg_catalog.pg_am
  union all select c.tableoid, c.oid, '' from pg_catalog.pg_cast c
    where not exists (select from pg_catalog.pg_depend d where d.classid = c.tableoid and d.objid = c.oid and d.deptype = 'i')
  union all select tableoid, oid, '' from pg_catalog.pg_conversion
  union all select tableoid, oid, '' from pg_catalog.pg_foreign_data_wrapper
  union all select tableoid, oid, '' from pg_catalog.pg_foreign_server
  union all select 'pg_catalog.pg_user_mapping'::regclass, umid, '' from pg_catalog.pg_user_mappings
  union all select tableoid, oid, '' from pg_catalog.pg_language
  union all select tableoid, oid, '' from pg_catalog.pg_opclass
  union all select tableoid, oid, '' from pg_catalog.pg_opfamily
  union all select tableoid, oid, '' from pg_catalog.pg_operator
  union all select tableoid, oid, '' from pg_catalog.pg_proc where prokind = 'a'
  union all select tableoid, oid, '' from pg_catalog.pg_transform
  union all select tableoid, oid, '' from pg_catalog.pg_ts_config
  union all select tableoid, oid, '' from pg_catalog.pg_ts_dict
  union all select tableoid, oid, '' from pg_catalog.pg_ts_parser
  union all select tableoid, oid, '' from pg_catalog.pg_ts_template
  union all select tableoid, oid, ' (a base type)' from pg_catalog.pg_type t
    where typtype in ('b', 'p') and not exists (select from pg_catalog.pg_type e where e.typarray = t.oid)
  union all select t.tableoid, t.oid, ' (it has a canonical function)'
    from pg_catalog.pg_range r join pg_catalog.pg_type t on t.oid = r.rngtypid where r.rngcanonical <> 0
  union all select tableoid, oid, '' from pg_catalog.pg_class where relkind = 'f'
  union all select tableoid, oid, ' (it is of a composite type)' from pg_catalog.pg_class where reloftype <> 0
  union all select tableoid, oid, ' (it inherits)' from pg_catalog.pg_class c
    where relkind = 'r' and not relispartition and exists (select from pg_catalog.pg_inherits i where i.inhrelid = c.oid)
  union all select i.tableoid, i.oid, ' (it is invalid)' from pg_catalog.pg_index x
    join pg_catalog.pg_class i on i.oid = x.indexrelid and i.relkind = 'i' where not x.indisvalid
  union all select l.classoid, l.objoid, ' (it has a security label)' from pg_catalog.pg_seclabel l
) o
join lateral pg_catalog.pg_identify_object(o.class, o.oid, 0) named on true
where o.oid >= 16384 and named.identity is not null and coalesce(named.schema, '') !~ '^(pg_temp|pg_toast)' and coalesce(named.schema, '') <> 'shardwright'
order by 3
