-- Which shards are standbys: such a shard has the database of its primary until a migration promotes it.

alter table shardwright.server_seen
    add column standby boolean not null default false;
comment on column shardwright.server_seen.standby is 'true: the server was a standby when it was last observed';
