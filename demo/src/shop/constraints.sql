alter table tenants add primary key (id);
alter table accounts add primary key (tenant_id, id);
alter table orders add primary key (tenant_id, id);
alter table order_items add primary key (tenant_id, order_id, line);
alter table events add primary key (tenant_id, id);
alter table ledger add primary key (tenant_id, entry);
create unique index accounts_email on accounts (tenant_id, email);
create index orders_account on orders (tenant_id, account_id);
create index orders_op on orders (tenant_id, op) where op is not null;
create index events_op on events (tenant_id, op) where op is not null;
create index ledger_op on ledger (tenant_id, op);
alter sequence order_ids owned by orders.id;
alter table accounts add foreign key (tenant_id) references tenants (id);
alter table orders add foreign key (tenant_id, account_id) references accounts (tenant_id, id);
alter table order_items add foreign key (tenant_id, order_id) references orders (tenant_id, id)
    on delete cascade;
alter table events add foreign key (tenant_id) references tenants (id);

create function stamp_account() returns trigger language plpgsql as $$
begin
    new.updated_at := clock_timestamp();
    return new;
end $$;
create trigger stamp before update on accounts for each row execute function stamp_account();
create function tidy_order() returns trigger language plpgsql as $$
begin
    new.status := lower(new.status);
    return new;
end $$;
create trigger tidy before insert or update on orders for each row execute function tidy_order();
create view open_orders as
    select tenant_id, count(*) as orders, sum(total) as total
    from orders where status = 'open' group by tenant_id;

grant usage on schema public to app;
grant select, insert, update, delete on all tables in schema public to app;
grant usage, select on all sequences in schema public to app;
