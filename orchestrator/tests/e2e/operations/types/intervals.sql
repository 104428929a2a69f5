create table types.intervals (
    tenant_id bigint, id bigint, i interval, seconds interval(0), months interval year to month, many interval[],
    primary key (tenant_id, id));
-- rows
insert into types.intervals values
    (0, 1, '178956970 years 7 mons', '2147483647 days', '178956970 years 7 mons', '{"1 mon -1 day +00:00:01",NULL}'),
    (0, 2, '-178956970 years -8 mons', '-2147483648 days', '-178956970 years -8 mons', '{}'),
    (0, 3, '2562047788:00:54.775807', '1 second', '0', '{"30 days","1 mon"}'),
    (0, 4, '-2562047788:00:54.775807', '-1 second', '-1 mon', null),
    (0, 5, '1 mon -1 day +00:00:00.000001', '0', '1 year -1 mon', '[0:0]={"720:00:00"}'),
    (0, 6, '1 mon', '24:00:00', null, null),
    (0, 7, '30 days', '1 day', null, null),
    (0, 8, null, null, null, null);
