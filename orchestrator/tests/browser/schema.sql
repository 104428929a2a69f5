-- What the browser test moves: tenants, their orders and the lines of these.
create table tenants (
    id bigint primary key,
    name text not null unique
);
create table orders (
    tenant_id bigint not null references tenants (id),
    id bigint not null,
    note text not null,
    placed_at timestamptz not null default now(),
    primary key (tenant_id, id)
);
create table order_items (
    tenant_id bigint not null,
    order_id bigint not null,
    line integer not null,
    amount numeric(12, 2) not null,
    primary key (tenant_id, order_id, line),
    foreign key (tenant_id, order_id) references orders (tenant_id, id)
);
