create table types.markup (
    tenant_id bigint, id bigint, x xml,
    primary key (tenant_id, id));
-- rows
insert into types.markup values
    (0, 1, ''), (0, 2, '<a/>'), (0, 3, E'text <b c="&lt;">é&#x1D11E;</b>\n<!-- c --> more'),
    (0, 4, '<?xml version="1.0" standalone="yes"?><a><![CDATA[<]]>]]&gt;</a>'), (0, 5, null);
