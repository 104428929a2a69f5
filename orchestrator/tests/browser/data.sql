insert into tenants select n, 'tenant ' || n from generate_series(1, 1000) as n;
insert into orders (tenant_id, id, note)
    select n % 1000 + 1, n, repeat('order ' || n || ' ', 10) from generate_series(1, 10000) as n;
insert into order_items
    select tenant_id, id, line, id % 100 from orders, generate_series(1, 2) as line;
analyze;
