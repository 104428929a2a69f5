
-- The items of orders have no column with the key: they belong to the tenants of their orders.
alter table orders add unique (id);
alter table order_items drop column tenant_id;
alter table order_items add primary key (order_id, line);
alter table order_items add foreign key (order_id) references orders (id) on delete cascade;
