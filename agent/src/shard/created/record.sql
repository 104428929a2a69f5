-- Records the objects that this transaction has created and that can be dropped separately. This transaction wrote
-- their rows in the catalog. It leaves out parts of other objects, members of extensions, and the sidecar schema.
insert into shardwright.created (migration, class, oid, type, identity)
select $1, o.class, o.oid, named.type, named.identity
from (
  select tableoid as class, oid, xmin from pg_catalog.pg_namespace
  union all select tableoid, oid, xmin from pg_catalog.pg_extension
  union all select tableoid, oid, xmin from pg_catalog.pg_class where relkind in ('r', 'p', 'v', 'm', 'S', 'f')
  union all select tableoid, oid, xmin from pg_catalog.pg_type
  union all select tableoid, oid, xmin from pg_catalog.pg_proc
  union all select tableoid, oid, xmin from pg_catalog.pg_collation
  union all select tableoid, oid, xmin from pg_catalog.pg_conversion
  union all select tableoid, oid, xmin from pg_catalog.pg_operator
  union all select tableoid, oid, xmin from pg_catalog.pg_opfamily
  union all select tableoid, oid, xmin from pg_catalog.pg_opclass
  union all select tableoid, oid, xmin from pg_catalog.pg_cast
  union all select tableoid, oid, xmin from pg_catalog.pg_transform
  union all select tableoid, oid, xmin from pg_catalog.pg_language
  union all select tableoid, oid, xmin from pg_catalog.pg_am
  union all select tableoid, oid, xmin from pg_catalog.pg_ts_parser
  union all select tableoid, oid, xmin from pg_catalog.pg_ts_template
  union all select tableoid, oid, xmin from pg_catalog.pg_ts_dict
  union all select tableoid, oid, xmin from pg_catalog.pg_ts_config
  union all select tableoid, oid, xmin from pg_catalog.pg_foreign_data_wrapper
  union all select tableoid, oid, xmin from pg_catalog.pg_foreign_server
  union all select tableoid, oid, xmin from pg_catalog.pg_event_trigger) o
cross join lateral pg_catalog.pg_identify_object(o.class, o.oid, 0) named
where o.oid >= 16384 and o.xmin = pg_catalog.pg_current_xact_id()::xid
  and not exists (select from pg_catalog.pg_depend d
                  where d.classid = o.class and d.objid = o.oid and d.objsubid = 0 and d.deptype in ('i', 'e'))
  and coalesce(named.schema, '') not in ('shardwright', 'pg_toast') and coalesce(named.schema, '') !~ '^pg_temp_'
  and not (named.type = 'event trigger' and named.name ~ '^"?shardwright_ddl_')
on conflict do nothing
