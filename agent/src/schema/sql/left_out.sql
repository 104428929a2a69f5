-- What of a source is not carried over and not compared, for people.
select 'publication ' || quote_ident(pubname) from pg_catalog.pg_publication where pubname !~ '^shardwright_'
union all
select 'subscription ' || quote_ident(subname) from pg_catalog.pg_stat_subscription
union all
select 'invalid index ' || x.indexrelid::regclass::text
from pg_catalog.pg_index x join pg_catalog.pg_class c on c.oid = x.indexrelid and c.relkind = 'i'
where not x.indisvalid and x.indexrelid >= 16384
union all
select 'default privileges of ' || quote_ident(pg_catalog.pg_get_userbyid(d.defaclrole)) from pg_catalog.pg_default_acl d
union all
select 'privileges of schema public' from pg_catalog.pg_namespace where nspname = 'public' and nspacl is not null
order by 1
