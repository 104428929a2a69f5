create table types.large (
    tenant_id bigint, id bigint, note text, packed text, outside text, inside text, plain text, bytes bytea,
    primary key (tenant_id, id));
alter table types.large alter outside set storage external, alter inside set storage main, alter plain set storage plain;
-- rows
insert into types.large
    select 0, 1, 'large', repeat('compress me ', 200000), repeat(E'o\\\n', 300000), repeat('inside', 1000), repeat('p', 4000),
      (select string_agg(sha512(g::text::bytea), ''::bytea order by g) from generate_series(1, 18000) g);
insert into types.large
    select 0, 2, 'no run of anything', string_agg(md5(g::text), '' order by g), string_agg(md5((-g)::text), '' order by g), '', '', '\x'
    from generate_series(1, 9000) g;
insert into types.large values (0, 3, 'nothing');
