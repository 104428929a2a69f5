-- Another cutover after a roll back, and leave to end writers that are in the way of one.

alter table shardwright.migration add column cancel jsonb;
comment on column shardwright.migration.cancel is
    'writers in the way of the cutover, with who allowed to end them; null: none';
comment on column shardwright.migration.plan is
    'as it was submitted; tables and fingerprint follow a change that was made on both shards';
alter table shardwright.migration drop constraint migration_hold_end_check;
alter table shardwright.migration add constraint migration_hold_end_check
    check (hold_end in ('finish', 'rollback', 'again'));
