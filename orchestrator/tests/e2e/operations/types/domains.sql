create type types.mood as enum ('low', 'high', 'so so', 'it''s "odd", {really}', 'größer 漢');
alter type types.mood add value 'in between' after 'low';
create domain types.positive as integer not null check (value > 0);
create domain types.code as varchar(12) collate "C" check (value ~ '^[A-Z]*$');
create domain types.short_code as types.code check (length(value) < 5);
create domain types.cheer as types.mood;
create domain types.tags as text[] check (array_ndims(value) = 1);
create domain types.exact as numeric(20, 10);
create domain types.moment as timestamptz(3);
create table types.domains (
    tenant_id bigint, id bigint, p types.positive, c types.code, s types.short_code, h types.cheer, m types.mood, e types.exact, w types.moment,
    primary key (tenant_id, id));
-- rows
insert into types.domains values
    (0, 1, 1, '', '', 'low', 'in between', 'NaN', 'infinity'),
    (0, 2, 2147483647, 'ABCDEFGHIJKL', 'ABCD', 'it''s "odd", {really}', 'größer 漢', 9999999999.9999999999, '2026-01-01 00:00:00.123+00'),
    (0, 3, 7, null, null, null, null, null, null);
