-- TPC-B as pgbench has it, but account, teller and branch belong together.
-- Variables: first and last branch, number of the run, which marks the rows of the history.
\set bid random(:first, :last)
\set tid (:bid - 1) * 10 + random(1, 10)
\set aid (:bid - 1) * 100000 + random(1, 100000)
\set delta random(-5000, 5000)
begin;
update pgbench_accounts set abalance = abalance + :delta where bid = :bid and aid = :aid;
select abalance from pgbench_accounts where bid = :bid and aid = :aid;
update pgbench_tellers set tbalance = tbalance + :delta where bid = :bid and tid = :tid;
update pgbench_branches set bbalance = bbalance + :delta where bid = :bid;
insert into pgbench_history (tid, bid, aid, delta, mtime, filler)
    values (:tid, :bid, :aid, :delta, current_timestamp, 'run' || :run);
end;
