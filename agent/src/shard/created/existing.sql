-- The objects that a migration created and that still have the same OID, type and name.
select c.class, c.oid, c.type, c.identity
from shardwright.created c
cross join lateral pg_catalog.pg_identify_object(c.class, c.oid, 0) now
where c.migration = $1 and now.type = c.type and now.identity = c.identity
