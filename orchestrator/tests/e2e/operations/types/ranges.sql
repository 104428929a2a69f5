create table types.ranges (
    tenant_id bigint, id bigint, i int4range, b int8range, n numrange, d daterange, t tsrange, z tstzrange,
    mi int4multirange, mb int8multirange, mn nummultirange, md datemultirange, mt tsmultirange, mz tstzmultirange,
    primary key (tenant_id, id));
-- rows
insert into types.ranges values
    (0, 1, 'empty', 'empty', 'empty', 'empty', 'empty', 'empty', '{}', '{}', '{}', '{}', '{}', '{}'),
    (0, 2, '(,)', '(,)', '(,)', '(,)', '(,)', '(,)', '{(,)}', '{(,)}', '{(,)}', '{(,)}', '{(,)}', '{(,)}'),
    (0, 3, '[-2147483648,2147483647)', '(,9223372036854775807)', '[1.0,1.00]', '[-infinity,infinity]', '[-infinity,infinity)', '(-infinity,)',
        '{[1,2),(5,)}', '{(,-1),[1,1]}', '{(1.10,2.000],[NaN,NaN]}', '{[4714-11-24 BC,infinity)}', '{[infinity,infinity]}', '{["2026-01-01 00:00+02","2026-01-02 00:00+02")}'),
    (0, 4, null, null, '(-Infinity,Infinity)', null, null, null, null, null, null, null, null, null),
    (0, 5, null, null, null, null, null, null, null, null, null, null, null, null);
