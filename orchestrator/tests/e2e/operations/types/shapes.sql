create table types.shapes (
    tenant_id bigint, id bigint, p point, l line, s lseg, b box, open path, closed path, g polygon, c circle,
    primary key (tenant_id, id));
-- rows
insert into types.shapes values
    (0, 1, '(0,-0)', '{1,-1,0}', '[(0,0),(0,0)]', '(1,1),(0,0)', '[(0,0)]', '((0,0))', '((0,0))', '<(0,0),0>'),
    (0, 2, '(NaN,Infinity)', '{0,1,-1e300}', '[(-1e308,5e-324),(0.1,0.2)]', '(Infinity,1),(-Infinity,-1)', '[(1,2),(3,4),(1,2)]', '((1,2),(3,4),(1,2))', '((0.1,0.2),(1e15,-1e-15),(3,NaN))', '<(-1e308,1e308),Infinity>'),
    (0, 3, '(1e-323,1.7976931348623157e308)', '{1,0,3}', null, null, null, null, null, null),
    (0, 4, null, null, null, null, null, null, null, null);
