-- A shard that was restored from a copy is told of until somebody accepts it, also once its log has passed the old end.

alter table shardwright.server_seen add column missing bigint not null default 0;
comment on column shardwright.server_seen.missing is
    'bytes by which its log once ended before the end seen earlier; 0: it never did, or the server was accepted since';
