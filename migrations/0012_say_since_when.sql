-- Since when a migration is as it is, so that whoever waits for it is told.

alter table shardwright.migration add column since timestamptz;
comment on column shardwright.migration.since is
    'when state or waiting_for became what they are; null: before this was kept';
