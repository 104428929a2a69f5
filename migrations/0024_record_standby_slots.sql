-- The physical replication slots from which standbys stream that `standby create` creates.

create table shardwright.standby_slot (
    slot text collate "C" primary key,
    standby text collate "C" not null,
    source text collate "C" not null,
    created_at timestamptz not null default now()
);
comment on table shardwright.standby_slot is 'written before the slot is created on the server of the source';
comment on column shardwright.standby_slot.standby is 'the name of the shard that the standby is registered as';
comment on column shardwright.standby_slot.source is 'the shard on whose server the slot is';
create trigger led_only before insert or update or delete or truncate on shardwright.standby_slot
    for each statement execute function shardwright.refuse_without_term();
