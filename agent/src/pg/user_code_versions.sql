-- For each table of $1, in that order: the transactions that wrote what user_code.sql reads of it, but for domains inside
-- of other types, and what is only called; null where the table has partitions, which are not among them. A scalar subquery
-- for each catalog, so that rows are found by an index whatever the planner expects.
select case when (select c.relkind = 'p' from pg_catalog.pg_class c where c.oid = t.oid) then null else
    pg_catalog.md5(pg_catalog.concat_ws('|', t.oid,
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_constraint r where r.conrelid = t.oid),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_attrdef r where r.adrelid = t.oid),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.indexrelid) from pg_catalog.pg_index r where r.indrelid = t.oid),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_statistic_ext r where r.stxrelid = t.oid),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_trigger r where r.tgrelid = t.oid),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_rewrite r where r.ev_class = t.oid),
    (select pg_catalog.string_agg(pg_catalog.concat_ws(' ', r.atttypid, r.xmin,
         (select pg_catalog.string_agg(k.xmin::text, '.' order by k.oid) from pg_catalog.pg_constraint k where k.contypid = r.atttypid),
         (select pg_catalog.string_agg(k.xmin::text, '.' order by k.oid) from pg_catalog.pg_cast k
          where k.castsource = r.atttypid or k.casttarget = r.atttypid)), ',' order by r.attnum)
     from pg_catalog.pg_attribute r where r.attrelid = t.oid and r.attnum > 0 and r.atttypid >= 16384),
    (select pg_catalog.string_agg(r.xmin::text, ',' order by r.inhrelid)
     from pg_catalog.pg_partition_ancestors(t.oid) a join pg_catalog.pg_inherits r on r.inhrelid = a.relid))) end
from (select pg_catalog.to_regclass(name)::pg_catalog.oid as oid, at
      from pg_catalog.unnest($1::pg_catalog.text[]) with ordinality g (name, at)) t
order by t.at
