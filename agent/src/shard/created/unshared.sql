-- The existing objects that a migration created and that are not recorded as shared.
select e.*
from ({existing}) e
where not exists (select from shardwright.shared_object s
                  where s.migration = $1 and s.class = e.class and s.oid = e.oid)
