alter table tenants add primary key ({ids});
alter table accounts add primary key ({keys}, id);
alter table orders add primary key ({keys}, id);
alter table order_items add primary key ({keys}, order_id, line);
alter table events add primary key ({keys}, id);
alter table lists add primary key ({keys}, id);
alter table bank add primary key ({keys}, id);
alter table transfers add primary key ({keys}, id, account);
alter table ledger add primary key ({keys}, entry);
create unique index accounts_email on accounts ({keys}, email);
create index orders_account on orders ({keys}, account_id);
create index orders_op on orders ({keys}, op) where op is not null;
create index events_op on events ({keys}, op) where op is not null;
create index ledger_op on ledger ({keys}, op);
alter sequence order_ids owned by orders.id;
alter table accounts add foreign key ({keys}) references tenants ({ids});
alter table orders add foreign key ({keys}, account_id) references accounts ({keys}, id);
alter table order_items add foreign key ({keys}, order_id) references orders ({keys}, id)
    on delete cascade;
alter table events add foreign key ({keys}) references tenants ({ids});
alter table lists add foreign key ({keys}) references tenants ({ids});
alter table bank add foreign key ({keys}) references tenants ({ids});
alter table transfers add foreign key ({keys}, account) references bank ({keys}, id);

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
    select {keys}, count(*) as orders, sum(total) as total
    from orders where status = 'open' group by {keys};

grant usage on schema public to app;
grant select, insert, update, delete on all tables in schema public to app;
grant usage, select on all sequences in schema public to app;
