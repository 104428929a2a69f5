create table types.queries (
    tenant_id bigint, id bigint, q tsquery, many tsquery[],
    primary key (tenant_id, id));
-- rows
insert into types.queries values
    (0, 1, '', '{}'), (0, 2, '!fat & (cat:AB | rat:*) <2> dog', '{"", "a & b", NULL}'),
    (0, 3, E'''it''''s'' <-> ''a b''', null), (0, 4, null, null);
