-- The existing objects that a migration created and that no other migration can use.
select e.*
from ({existing}) e
where not exists (select from shardwright.shared_object s
                  where s.migration = $1 and s.class = e.class and s.oid = e.oid)
