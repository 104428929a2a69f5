-- How unevenly the shards were loaded over the last day, for the picture on the overview.

create table shardwright.imbalance_sample (
    at timestamptz primary key,
    factors jsonb not null check (jsonb_typeof(factors) = 'object')
);
comment on table shardwright.imbalance_sample is
    'at most one row for each five minutes of the last 24 hours; a time without a row was not measured';
comment on column shardwright.imbalance_sample.factors is
    'for each measure, such as size, how many times its fair share the most loaded shard had';
create trigger led_only before insert or update or delete or truncate on shardwright.imbalance_sample
    for each statement execute function shardwright.refuse_without_term();
