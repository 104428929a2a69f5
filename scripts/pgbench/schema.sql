-- Run as the owner after `pgbench -i`: makes pgbench's tables fit for a split by branch.
begin;

-- The shard key is a bigint, and part of each primary key.
alter table pgbench_branches alter column bid type bigint;
alter table pgbench_tellers drop constraint pgbench_tellers_pkey,
    alter column bid type bigint, alter column bid set not null,
    add primary key (bid, tid);
alter table pgbench_accounts drop constraint pgbench_accounts_pkey,
    alter column bid type bigint, alter column bid set not null,
    add primary key (bid, aid);
alter table pgbench_history
    alter column bid type bigint, alter column bid set not null,
    add column id bigserial, add primary key (id, bid);

-- The built-in scripts look for tellers and accounts by these columns alone.
create index on pgbench_tellers (tid);
create index on pgbench_accounts (aid);

grant select, insert, update
    on pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history to app;
grant usage on sequence pgbench_history_id_seq to app;
commit;

vacuum analyze pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history;
