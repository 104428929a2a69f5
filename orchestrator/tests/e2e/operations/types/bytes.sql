create table types.bytes (
    tenant_id bigint, id bigint, b bytea, yes boolean, u uuid, bits bit(70), bit1 bit, many varbit, few varbit(3),
    primary key (tenant_id, id));
-- rows
insert into types.bytes values
    (0, 1, '', true, '00000000-0000-0000-0000-000000000000', repeat('0', 70)::bit(70), '0', '', ''),
    (0, 2, '\x00', false, 'ffffffff-ffff-ffff-ffff-ffffffffffff', repeat('1', 70)::bit(70), '1', '1', '101'),
    (0, 3, (select string_agg(set_byte('\x00', 0, g), '') from generate_series(0, 255) g), null,
        'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', repeat('10', 35)::bit(70), null, repeat('011', 3333)::varbit, '01'),
    (0, 4, E'\\\\x5c\\000'::bytea, null, null, null, null, null, null);
