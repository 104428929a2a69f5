-- Tenants lie interleaved in every heap: row g belongs to tenant 1 + (g - 1) % tenants.
insert into tenants (id, name)
    select g, 'tenant ' || g from generate_series(1, {tenants}::bigint) g;
insert into accounts (tenant_id, email, balance)
    select 1 + (g - 1) % {tenants}, 'user' || g || '@example.org', {balance}
    from generate_series(1, {tenants}::bigint * {accounts}) g;
insert into orders (tenant_id, account_id, quantity, price, status)
    select t, t + {tenants} * ((g / {tenants}) % {accounts}), 1 + g % 9, (g % 1000) / 10.0,
        case g % 3 when 0 then 'open' when 1 then 'paid' else 'sent' end
    from generate_series(1, {tenants}::bigint * {orders}) g,
        lateral (select 1 + (g - 1) % {tenants} as t) tenant;
insert into order_items (tenant_id, order_id, line, sku, quantity, cents)
    select 1 + (o - 1) % {tenants}, o, line, 'sku-' || (o * 7 + line) % 5000, 1 + line % 3, o % 10000
    from generate_series(1, {tenants}::bigint * {orders}) o, generate_series(1, 4) line
    where line < 4 or o % 4 = 0;
insert into events (tenant_id, kind, payload, body)
    select 1 + (g - 1) % {tenants}, case g % 2 when 0 then 'login' else 'import' end,
        jsonb_build_object('number', g, 'tags', jsonb_build_array('a', g % 10), 'note', md5('{seed}' || g)),
        case when ((g - 1) / {tenants}) % 50 = 0
            then (select string_agg(md5('{seed}' || g || '.' || i), '') from generate_series(1, 400) i)
            else 'short ' || g end
    from generate_series(1, {tenants}::bigint * {events}) g;
