-- The transactions that wrote the rows of the catalog that user_code.sql reads for the tables ($1, a JSON array),
-- except for domains inside of other types and for called functions. NULL if a table has partitions, which are not
-- included. Each catalog is scanned once for all tables, because the apply executes this in each of its transactions.
-- The parameter is no SQL array: the planner counts the elements of an array, and would plan the statement again each
-- time.
with t (oids) as materialized (
    select array(select pg_catalog.to_regclass(name)::pg_catalog.oid from pg_catalog.jsonb_array_elements_text($1::pg_catalog.text::pg_catalog.jsonb) name))
select case when exists (select from pg_catalog.pg_class c where c.oid = any ((select oids from t)::pg_catalog.oid[]) and c.relkind = 'p') then null else
    pg_catalog.md5(pg_catalog.concat_ws('|', (select oids from t),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_constraint r where r.conrelid = any ((select oids from t)::pg_catalog.oid[])),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_attrdef r where r.adrelid = any ((select oids from t)::pg_catalog.oid[])),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.indexrelid) from pg_catalog.pg_index r where r.indrelid = any ((select oids from t)::pg_catalog.oid[])),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_statistic_ext r where r.stxrelid = any ((select oids from t)::pg_catalog.oid[])),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_trigger r where r.tgrelid = any ((select oids from t)::pg_catalog.oid[])),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_rewrite r where r.ev_class = any ((select oids from t)::pg_catalog.oid[])),
    (select pg_catalog.string_agg(pg_catalog.concat_ws(' ', r.attrelid, r.attnum, r.atttypid, r.xmin,
         (select pg_catalog.string_agg(k.xmin::text, '.' order by k.oid) from pg_catalog.pg_constraint k where k.contypid = r.atttypid),
         (select pg_catalog.string_agg(k.xmin::text, '.' order by k.oid) from pg_catalog.pg_cast k
          where k.castsource = r.atttypid or k.casttarget = r.atttypid)), ',' order by r.attrelid, r.attnum)
     from pg_catalog.pg_attribute r where r.attrelid = any ((select oids from t)::pg_catalog.oid[]) and r.attnum > 0 and r.atttypid >= 16384),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.inhrelid)
     from (select oids from t) o cross join lateral pg_catalog.unnest(o.oids) n (oid)
     cross join lateral pg_catalog.pg_partition_ancestors(n.oid) a join pg_catalog.pg_inherits r on r.inhrelid = a.relid)
    )) end
