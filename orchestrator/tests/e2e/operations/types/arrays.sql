create table types.arrays (
    tenant_id bigint, id bigint, i int[], t text[], f float8[], j jsonb[], b bytea[], r int4range[], s varchar(3)[], n numeric(9, 2)[][],
    primary key (tenant_id, id));
-- rows
insert into types.arrays values
    (0, 1, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'),
    (0, 2, '{NULL}', '{NULL,"NULL",null,""}', '{NaN,-0,Infinity,5e-324}', '{"{\"a\": 1.0}",null,"null"}', '{"\\x","\\x00ff",NULL}', '{empty,"(,)","[1,5)"}', '{abc,é}', '{{1.10,NULL},{NaN,-0.00}}'),
    (0, 3, '[-5:-4][2:3]={{1,2},{3,NULL}}', '[0:1]={"a \"b\" \\\\ {c}",","}', '[9:9]={0.1}', null, null, null, '[-1:-1]={x}', null),
    (0, 4, '{{{{{{1}}}}}}', array[['a'], [E'\n']], null, null, null, null, null, null),
    (0, 5, array(select generate_series(1, 20000)), array(select md5(g::text) from generate_series(1, 2000) g), null, null, null, null, null, null),
    (0, 6, null, null, null, null, null, null, null, null);
