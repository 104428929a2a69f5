-- How far migrations were over time, for charts and reports.

create table shardwright.reading (
    -- No foreign key: its check would wait for a row that a cutover holds.
    migration text collate "C" not null,
    at timestamptz not null,
    figures jsonb not null,
    primary key (migration, at)
);
comment on table shardwright.reading is
    'figures of heartbeats: each second at first, then as often as the migration is old in thousandths';
create trigger led_only before insert or update or delete or truncate on shardwright.reading
    for each statement execute function shardwright.refuse_without_term();
