create table types.positions (
    tenant_id bigint, id bigint, l pg_lsn, x xid8, s pg_snapshot, t txid_snapshot,
    primary key (tenant_id, id));
-- rows
insert into types.positions values
    (0, 1, '0/0', '0', '1:1:', '1:1:'), (0, 2, 'FFFFFFFF/FFFFFFFF', '18446744073709551615', '10:20:10,14,15', '10:20:10,14,15'), (0, 3, null, null, null, null);
