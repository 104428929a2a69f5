set role shop_owner;
create table tenants (id bigint primary key, name text not null);
create table orders (tenant_id bigint references tenants, id bigint, amount numeric not null, primary key (tenant_id, id));
insert into tenants select n, 'tenant ' || n from generate_series(1, 1000) n;
insert into orders select 1 + n % 1000, -n, n from generate_series(1, 200000) n;
