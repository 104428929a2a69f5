-- What the request of docs/getting-started.md moves.
create table tenants (id bigint primary key, name text);
create table accounts (tenant_id bigint references tenants, id bigint, primary key (tenant_id, id));
create table orders (tenant_id bigint references tenants, id bigint, amount numeric, primary key (tenant_id, id));
create table schema_migrations (version text primary key);
insert into tenants select g, 'tenant ' || g from generate_series(1, 1000) g;
insert into accounts select 1 + g % 1000, g from generate_series(1, 2000) g;
insert into orders select 1 + g % 1000, g, g from generate_series(1, 4000) g;
analyze;
