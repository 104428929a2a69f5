create type types.pair as (a int, gone text, b text);
alter type types.pair drop attribute gone;
create type types.nest as (p types.pair, m types.mood, c types.code, many types.pair[], n numeric);
create domain types.checked_pair as types.pair check ((value).a is distinct from 13);
create table types.made_of_users (
    tenant_id bigint, id bigint, p types.pair, n types.nest, d types.checked_pair, t types.tags,
    pairs types.pair[], moods types.mood[], codes types.code[], nests types.nest[],
    primary key (tenant_id, id));
create type types.span as range (subtype = float8, multirange_type_name = types.spans);
create table types.spans_of_users (
    tenant_id bigint, id bigint, s types.span, m types.spans, many types.span[],
    primary key (tenant_id, id));
-- rows
insert into types.made_of_users values
    (0, 1, row(null, null), row(row(1, ''), 'so so', 'A', array[row(1, 'x')::types.pair, null], 1.00), row(2, 'b'), '{a,NULL}',
        array[row(1, 'a, "b"')::types.pair, row(null, null)::types.pair, null], '{low,"so so",NULL}', '{A,"",NULL}',
        array[row(null, null, null, null, 'NaN')::types.nest]),
    (0, 2, row(-2147483648, E'(\\"\n)'), row(null, null, null, null, null), null, '[3:3]={x}', '{}', '{}', '{}', '{}'),
    (0, 3, row(1, ' '), null, row(null, ''), null, '[0:0]={"(1,)"}', '[-1:0]={high,low}', null, null),
    (0, 4, null, null, null, null, null, null, null, null);
insert into types.spans_of_users values
    (0, 1, 'empty', '{}', '{}'), (0, 2, '[-0,5e-324]', '{(,-1],[NaN,NaN]}', '{empty,"(,)",NULL}'), (0, 3, null, null, null);
