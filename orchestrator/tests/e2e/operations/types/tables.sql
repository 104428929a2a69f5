create table types.computed (
    tenant_id bigint, id bigint, n numeric, twice numeric generated always as (n * 2) stored, t text,
    shouted text generated always as (upper(t)) stored, parts text[] generated always as (string_to_array(t, ' ')) stored,
    span numrange generated always as (numrange(n, n, '[]')) stored,
    doc jsonb, part jsonb generated always as (doc -> 'a') stored, last text default 'default',
    primary key (tenant_id, id));
create table types.gaps (
    first text, tenant_id bigint, second numeric, third text, id bigint, fourth bytea, fifth text default 'five',
    primary key (tenant_id, id));
alter table types.gaps drop first, drop third;
alter table types.gaps add sixth jsonb default '{"a":  1.0}', add seventh text default 'seven';
alter table types.gaps drop fifth;
create table types."SELECT ""odd"" größe — 漢字; drop table" (
    "Tenant ID" bigint, "order" bigint, "a b" text, "q""q" text, "it's" text, "back\slash" text, "CamelCase" text, "ünïcödé" text,
    "null" text, "user" text, "$1" text, "%s" text, "a.b" text,
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" text,
    primary key ("Tenant ID", "order"));
do $$ begin
    execute (select 'create table types.wide (tenant_id bigint, id bigint, '
      || string_agg(format('c%s %s', g, (array['int', 'text', 'numeric', 'bool', 'timestamptz'])[1 + g % 5]), ', ' order by g)
      || ', primary key (tenant_id, id))' from generate_series(1, 400) g);
end $$;
-- rows
insert into types.computed (tenant_id, id, n, t, doc) values
    (0, 1, 1.50, 'a b', '{"a": 1.50}'), (0, 2, 'NaN', '', '{"a": null}'), (0, 3, 'Infinity', 'ß é', '[]'), (0, 4, null, null, null);
insert into types.gaps (tenant_id, id, second, fourth) values (0, 1, 0.0, '\x00'), (0, 2, null, null);
insert into types.gaps values (0, 1e10, 3, '', null, '');
insert into types."SELECT ""odd"" größe — 漢字; drop table" values
    (0, 1, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'),
    (0, 2, '', '"', '''', E'\\', null, 'ü', 'null', 'user', '$1', '%s', '.', repeat('x', 3000)),
    (0, 3, null, null, null, null, null, null, null, null, null, null, null, null);
do $$ begin
    execute (select 'insert into types.wide values (0, 1, '
      || string_agg((array['2147483647', '''x''', '1.0', 'true', '''infinity'''])[1 + g % 5], ', ' order by g) || ')'
      from generate_series(1, 400) g);
end $$;
insert into types.wide (tenant_id, id) values (0, 2);
