create table types.documents (
    tenant_id bigint, id bigint, j json, b jsonb, p jsonpath, v tsvector,
    primary key (tenant_id, id));
-- rows
insert into types.documents values
    (0, 1, '  { "a" :  1,"a": 2 , "b":[ ] }  ', '{"a": 1.50, "b": [1e100, -0, 0.000], "c": {"d": null}}', '$', ''),
    (0, 2, E'[\n\t1.0,\n\t1e0,\n\t"\\u0000\\ud834\\udd1e"\n]', '[]', 'strict $.a[*] ? (@.b > 1 && exists (@.c))', 'fat:2,4 cat:3A,16383B rat:1C'),
    (0, 3, 'null', 'null', 'lax $."key with \"quotes\"".size()', E'''it''''s'' ''back\\\\slash'' '' '''),
    (0, 4, '"\/"', '"\/ 𝄞"', '$.* like_regex "^x" flag "i"', 'x:1,1,1'),
    (0, 5, '-0.0', '-0.0', '$varname + 1', null),
    (0, 6, ('"' || repeat('x', 9000) || '"')::json, (select jsonb_object_agg('key ' || g, g) from generate_series(1, 999) g), null,
        (select array_to_tsvector(array_agg('word' || g)) from generate_series(1, 999) g)),
    (0, 7, null, null, null, null);
