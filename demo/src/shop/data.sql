-- Tenants lie interleaved in every heap: row g belongs to tenant t = 1 + (g - 1) % tenants.
-- A shard gets the rows of its own keys; ids are the same wherever a row lies.
-- With {first} = 1 and {step} = 1 these are the rows of all tenants; with {step} = {tenants}, those of tenant {first}.
insert into tenants ({ids}, name)
    select {key_of_t}, 'tenant ' || t from generate_series({first}::bigint, {tenants}::bigint, {step}::bigint) t where {mine};
insert into accounts ({keys}, id, email, balance) overriding system value
    select {key_of_t}, g, 'user' || g || '@example.org', {balance}
    from generate_series({first}::bigint, {tenants}::bigint * {accounts}, {step}::bigint) g,
        lateral (select 1 + (g - 1) % {tenants} as t) tenant where {mine};
insert into orders ({keys}, id, account_id, quantity, price, status)
    select {key_of_t}, g, t + {tenants} * ((g / {tenants}) % {accounts}), 1 + g % 9, (g % 1000) / 10.0,
        case g % 3 when 0 then 'open' when 1 then 'paid' else 'sent' end
    from generate_series({first}::bigint, {tenants}::bigint * {orders}, {step}::bigint) g,
        lateral (select 1 + (g - 1) % {tenants} as t) tenant where {mine};
insert into order_items ({keys}, order_id, line, sku, quantity, cents)
    select {key_of_t}, o, line, 'sku-' || (o * 7 + line) % 5000, 1 + line % 3, o % 10000
    from generate_series({first}::bigint, {tenants}::bigint * {orders}, {step}::bigint) o,
        lateral (select 1 + (o - 1) % {tenants} as t) tenant, generate_series(1, 4) line
    where (line < 4 or o % 4 = 0) and {mine};
insert into events ({keys}, id, kind, payload, body)
    select {key_of_t}, g, case g % 2 when 0 then 'login' else 'import' end,
        jsonb_build_object('number', g, 'tags', jsonb_build_array('a', g % 10), 'note', md5('{seed}' || g)),
        case when ((g - 1) / {tenants}) % 50 = 0
            then (select string_agg(md5('{seed}' || g || '.' || i), '') from generate_series(1, 400) i)
            else 'short ' || g end
    from generate_series({first}::bigint, {tenants}::bigint * {most_events}, {step}::bigint) g,
        lateral (select 1 + (g - 1) % {tenants} as t) tenant
    where ((g - 1) / {tenants} < {events} or {busy}) and {mine};
insert into bank ({keys}, id, balance)
    select {key_of_t}, account, {deposit}
    from generate_series({first}::bigint, {tenants}::bigint, {step}::bigint) t, generate_series(0, {bank_accounts}) account where {mine};
select setval(pg_get_serial_sequence('accounts', 'id'), {tenants}::bigint * {accounts}),
    setval('order_ids', {tenants}::bigint * {orders}),
    setval(pg_get_serial_sequence('events', 'id'), {tenants}::bigint * {most_events});
