create table types.networks (
    tenant_id bigint, id bigint, i inet, c cidr, m macaddr, m8 macaddr8,
    primary key (tenant_id, id));
-- rows
insert into types.networks values
    (0, 1, '0.0.0.0/0', '0.0.0.0/0', '00:00:00:00:00:00', '00:00:00:00:00:00:00:00'),
    (0, 2, '255.255.255.255', '255.255.255.255', 'ff:ff:ff:ff:ff:ff', 'ff:ff:ff:ff:ff:ff:ff:ff'),
    (0, 3, '192.168.1.77/24', '192.168.1.0/24', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05'),
    (0, 4, '::/0', '::/0', null, null),
    (0, 5, '::ffff:1.2.3.4/127', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128', null, null),
    (0, 6, null, null, null, null);
