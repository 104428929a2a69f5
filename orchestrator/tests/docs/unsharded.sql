-- The shop of docs/adopt.md before anybody thought of shards.
create table countries (code text primary key, name text);
create table tenants (id bigint primary key, country text references countries, name text);
create table users (id bigint primary key, tenant_id bigint references tenants, name text);
create table orders (tenant_id bigint references tenants, id bigint, user_id bigint, primary key (tenant_id, id));
create table order_lines (
    tenant_id bigint, order_id bigint, line int, article text,
    primary key (tenant_id, order_id, line), foreign key (tenant_id, order_id) references orders);
create table sessions (id bigint primary key, user_id bigint references users, seen timestamptz);
create table schema_migrations (version text primary key);
insert into countries values ('de', 'Germany'), ('nl', 'Netherlands');
insert into tenants select g, 'de', 'tenant ' || g from generate_series(1, 1000) g;
insert into users select g, 1 + g % 1000, 'user ' || g from generate_series(1, 3000) g;
insert into orders select 1 + g % 1000, g, g from generate_series(1, 3000) g;
insert into order_lines select 1 + g % 1000, g, 1, 'article' from generate_series(1, 3000) g;
insert into sessions select g, g, now() from generate_series(1, 3000) g;
insert into schema_migrations values ('0001');
analyze;
