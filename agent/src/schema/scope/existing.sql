-- Those of the objects ($1: types, $2: identities, as pg_identify_object writes them) that the database has, by their
-- position from 1. The schema public counts only if the database has tables of users.
with named as materialized (
  select o.type, o.identity
  from (select tableoid as class, oid from pg_catalog.pg_proc
        union all select tableoid, oid from pg_catalog.pg_collation
        union all select tableoid, oid from pg_catalog.pg_conversion
        union all select tableoid, oid from pg_catalog.pg_operator
        union all select tableoid, oid from pg_catalog.pg_opfamily
        union all select tableoid, oid from pg_catalog.pg_opclass
        union all select tableoid, oid from pg_catalog.pg_cast
        union all select tableoid, oid from pg_catalog.pg_transform
        union all select tableoid, oid from pg_catalog.pg_language
        union all select tableoid, oid from pg_catalog.pg_am
        union all select tableoid, oid from pg_catalog.pg_statistic_ext
        union all select tableoid, oid from pg_catalog.pg_ts_parser
        union all select tableoid, oid from pg_catalog.pg_ts_template
        union all select tableoid, oid from pg_catalog.pg_ts_dict
        union all select tableoid, oid from pg_catalog.pg_ts_config
        union all select tableoid, oid from pg_catalog.pg_foreign_data_wrapper
        union all select tableoid, oid from pg_catalog.pg_foreign_server
        union all select tableoid, oid from pg_catalog.pg_extension
        union all select tableoid, oid from pg_catalog.pg_event_trigger) own
  cross join lateral pg_catalog.pg_identify_object(own.class, own.oid, 0) o
  where own.oid >= 16384)
select given.place
from rows from (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]))
     with ordinality given (type, identity, place)
where case
    when given.type in ('table', 'view', 'materialized view', 'sequence', 'foreign table', 'index')
    then pg_catalog.to_regclass(given.identity) is not null
    when given.type in ('type', 'composite type') then pg_catalog.to_regtype(given.identity) is not null
    when given.type = 'schema' and given.identity = 'public'
    then exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                 where c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright'))
    when given.type = 'schema' then pg_catalog.to_regnamespace(given.identity) is not null
    else (given.type, given.identity) in (select type, identity from named) end
