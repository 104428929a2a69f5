create extension citext with schema public;
create extension hstore with schema public;
create extension ltree with schema public;
create extension cube with schema public;
create extension seg with schema public;
create table types.extended (
    tenant_id bigint, id bigint, c public.citext, h public.hstore, l public.ltree, q public.lquery, x public.ltxtquery, u public.cube, s public.seg, many public.citext[],
    primary key (tenant_id, id));
-- rows
insert into types.extended values
    (0, 1, '', '', '', '*', 'a', '()', '1', '{}'),
    (0, 2, 'MiXed É', '"a"=>NULL, "b c"=>"NULL", ""=>"\"=>\\"', 'Top.Sub_1.x', '*{2,3}.!a|b*@%.*', 'a & !b* | (c & d@)', '(1e-300,-0),(NaN,5)', '1.00 .. 2.0', '{A,a,NULL,""}'),
    (0, 3, 'mixed é', (select public.hstore(array_agg('k' || g), array_agg(repeat('v', g))) from generate_series(1, 99) g), (repeat('label.', 200) || 'end')::public.ltree, null, null, '(0.1),(0.30000000000000004)', '~6.50', null),
    (0, 4, null, null, null, null, null, null, null, null);
