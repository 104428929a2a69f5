-- Tables of a shop whose tenants lie interleaved in every table, as time mixes them. :items is the number of items, a
-- multiple of 20,000: then every reference stays within its tenant.
create table tenants (
  tenant_id bigint primary key,
  name text not null
);
create table accounts (
  tenant_id bigint not null references tenants,
  id bigint not null,
  name text not null,
  email text,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create table orders (
  tenant_id bigint not null,
  id bigint not null,
  account_id bigint not null,
  status smallint not null,
  total numeric(12, 2) not null,
  created_at timestamptz not null,
  note text,
  primary key (tenant_id, id),
  constraint orders_account foreign key (tenant_id, account_id) references accounts
);
create table order_items (
  tenant_id bigint not null,
  id bigint not null,
  order_id bigint not null,
  product_id integer not null,
  quantity integer not null,
  price numeric(12, 2) not null,
  primary key (tenant_id, id),
  constraint order_items_order foreign key (tenant_id, order_id) references orders
);
create table events (
  tenant_id bigint not null,
  id bigint not null,
  account_id bigint not null,
  kind text not null,
  payload jsonb not null,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  constraint events_account foreign key (tenant_id, account_id) references accounts
);
create index orders_by_account on orders (tenant_id, account_id);
create index orders_by_time on orders (created_at);
create index order_items_by_order on order_items (tenant_id, order_id);
create index order_items_by_product on order_items (product_id);
create index events_by_account on events (tenant_id, account_id);
create index events_by_time on events (created_at);

set session_replication_role = replica;
insert into tenants select n, 'tenant ' || n from generate_series(1, 1000) n;
insert into accounts
  select 1 + n % 1000, n, 'account ' || n, case when n % 10 > 0 then n || '@example.com' end,
         '2026-01-01'::timestamptz + n * interval '1 second'
  from generate_series(1, :items / 20) n;
insert into orders
  select 1 + n % 1000, n, 1 + (n - 1) % (:items / 20), n % 5, n % 10000 / 100.0,
         '2026-01-01'::timestamptz + n * interval '1 second', case when n % 3 = 0 then 'note ' || md5(n::text) end
  from generate_series(1, :items / 5) n;
insert into order_items
  select 1 + n % 1000, n, 1 + (n - 1) % (:items / 5), n % 5000, 1 + n % 7, n % 1000 / 10.0
  from generate_series(1, :items) n;
insert into events
  select 1 + n % 1000, n, 1 + (n - 1) % (:items / 20), (array['view', 'buy', 'sell'])[1 + n % 3],
         jsonb_build_object('number', n, 'hash', md5(n::text), 'tags', jsonb_build_array(n % 7, n % 11)),
         '2026-01-01'::timestamptz + n * interval '1 second'
  from generate_series(1, :items * 3 / 20) n;
vacuum (analyze, freeze);
checkpoint;
