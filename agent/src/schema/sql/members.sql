-- What belongs to extensions and comes with them.
select d.classid, d.objid from pg_catalog.pg_depend d where d.deptype = 'e'
