-- What the servers of the shards were when they were looked at last.

create table shardwright.server_seen (
    number integer primary key references shardwright.shard (number),
    system text not null,
    timeline integer not null,
    flushed bigint not null check (flushed >= 0),
    seen_at timestamptz not null
);
comment on table shardwright.server_seen is
    'a shard that was restored from a copy, or failed over, since then is told apart by it; changed on an operator''s word only';
comment on column shardwright.server_seen.system is 'system_identifier of the cluster';
comment on column shardwright.server_seen.flushed is 'end of the log on its disk, bytes: on one timeline it never goes back';
create trigger led_only before insert or update or delete or truncate on shardwright.server_seen
    for each statement execute function shardwright.refuse_without_term();
