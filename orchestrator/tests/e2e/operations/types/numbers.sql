create table types.integers (
    tenant_id bigint, id bigint, s smallint, i integer, b bigint, o oid,
    primary key (tenant_id, id));
create table types.numerics (
    tenant_id bigint, id bigint, n numeric, wide numeric(1000, 500), negative numeric(5, -3), small numeric(3, 5),
    primary key (tenant_id, id));
create table types.floats (
    tenant_id bigint, id bigint, r real, d double precision, f float(3),
    primary key (tenant_id, id));
create table types.amounts (
    tenant_id bigint, id bigint, m money,
    primary key (tenant_id, id));
-- rows
insert into types.integers values
    (0, 1, -32768, -2147483648, -9223372036854775808, 0),
    (0, 2, 32767, 2147483647, 9223372036854775807, 4294967295),
    (0, 3, 0, 0, 0, 2147483648),
    (0, 4, null, null, null, null);
insert into types.numerics values
    (0, 1, 'NaN', 'NaN', 'NaN', 'NaN'),
    (0, 2, 'Infinity', 0, 99999000, 0.00999),
    (0, 3, '-Infinity', -0.0, -12345678, -0.00001),
    (0, 4, 1.0, 1.00, 1499, 0),
    (0, 5, 1.00, 1e499, 0, 0.005),
    (0, 6, repeat('9', 131072)::numeric, -1e-500, null, null),
    (0, 7, ('0.' || repeat('0', 16382) || '1')::numeric, null, null, null),
    (0, 8, (repeat('1', 131072) || '.' || repeat('7', 16383))::numeric * -1, null, null, null),
    (0, 9, 0.000, null, null, null),
    (0, 10, 1e-16383, null, null, null),
    (0, 11, null, null, null, null);
insert into types.floats values
    (0, 1, 'NaN', 'NaN', 'NaN'),
    (0, 2, '-0', '-0', '-0'),
    (0, 3, '1e-45', '5e-324', '1e-45'),
    (0, 4, '-1.1754942e-38', '-2.225073858507201e-308', '1.17549435e-38'),
    (0, 5, '3.4028235e38', '1.7976931348623157e308', '-3.4028235e38'),
    (0, 6, 'Infinity', '-Infinity', 'Infinity'),
    (0, 7, 0.1, 0.1::float8 + 0.2::float8, 16777217),
    (0, 8, 1e15, 9007199254740993, 1e-5),
    (0, 9, null, null, null);
insert into types.amounts values
    (0, 1, '-92233720368547758.08'), (0, 2, '92233720368547758.07'), (0, 3, '0'), (0, 4, '-0.01'), (0, 5, null);
