-- Run on one shard: a line for each thing that is wrong, nothing when all is well.
-- Variables: first and last branch that this shard owns.
with found (name, rows, strangers, expected) as (
    select 'pgbench_branches', count(*), count(*) filter (where bid not between :first and :last),
           :last - :first + 1 from pgbench_branches
    union all
    select 'pgbench_tellers', count(*), count(*) filter (where bid not between :first and :last),
           (:last - :first + 1) * 10 from pgbench_tellers
    union all
    select 'pgbench_accounts', count(*), count(*) filter (where bid not between :first and :last),
           (:last - :first + 1) * 100000 from pgbench_accounts
    union all
    select 'pgbench_history', count(*), count(*) filter (where bid not between :first and :last),
           count(*) from pgbench_history
)
select format('%s has %s rows instead of %s, %s of them of branches of the other shard',
              name, rows, expected, strangers)
from found where strangers > 0 or rows <> expected;

with entries as (select bid, sum(delta) as total from pgbench_history group by bid),
wrong as (
    select bid, bbalance, total from pgbench_branches full join entries using (bid)
    where bbalance is distinct from coalesce(total, 0)
)
select format('%s branches differ from their history, one is %s: balance %s, history %s',
              count(*) over (), bid, coalesce(bbalance::text, 'none'), coalesce(total, 0))
from wrong order by bid limit 1;

with entries as (select tid, sum(delta) as total from pgbench_history group by tid),
wrong as (
    select tid, tbalance, total from pgbench_tellers full join entries using (tid)
    where tbalance is distinct from coalesce(total, 0)
)
select format('%s tellers differ from their history, one is %s: balance %s, history %s',
              count(*) over (), tid, coalesce(tbalance::text, 'none'), coalesce(total, 0))
from wrong order by tid limit 1;

with entries as (select aid, sum(delta) as total from pgbench_history group by aid),
wrong as (
    select aid, abalance, total from pgbench_accounts full join entries using (aid)
    where abalance is distinct from coalesce(total, 0)
)
select format('%s accounts differ from their history, one is %s: balance %s, history %s',
              count(*) over (), aid, coalesce(abalance::text, 'none'), coalesce(total, 0))
from wrong order by aid limit 1;

select format('replication slot %s is left', slot_name) from pg_replication_slots;
select format('publication %s is left', pubname) from pg_publication;
