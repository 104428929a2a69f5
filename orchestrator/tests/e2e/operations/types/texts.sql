create table types.texts (
    tenant_id bigint, id bigint, t text, v varchar, v5 varchar(5), c char(7), c1 char, n name, one "char",
    german text collate "C",
    primary key (tenant_id, id));
-- rows
insert into types.texts values
    (0, 1, '', '', '', '', '', '', '', ''),
    (0, 2, ' ', '  ', '     ', '   ', ' ', ' ', ' ', ' '),
    (0, 3, E'tab\tline\nreturn\rback\\slash\bbell\f\v', '\.', '\N', '\N', '\', 'NULL', '\', E'\\.'),
    (0, 4, E'\x01\x7f', 'trailing  ', 'ab   ', 'ab', 'a', repeat('n', 63), 'z', 'ß'),
    (0, 5, '𝄞Ω漢字é' || chr(8203) || chr(1114109), 'e' || chr(769), 'éééé漢', '漢字', '漢', repeat('é', 31), null, ''),
    (0, 6, '"quoted", ''it''''s'', {a,b} (c,d) [1,2]', 'null', 'NULL', 'x     y', '"', 'a "b"', '"', ','),
    (0, 7, repeat(E'\\', 999), repeat(E'\n', 999), null, null, null, null, null, repeat('''', 99)),
    (0, 8, null, null, null, null, null, null, null, null);
