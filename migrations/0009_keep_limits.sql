-- What a migration may take of its shards can be changed while it runs.

alter table shardwright.migration add column limits jsonb;
comment on column shardwright.migration.limits is
    'streams, rate, hours, latency and signs of strain, in the place of what the plan says; null: as the plan says';
