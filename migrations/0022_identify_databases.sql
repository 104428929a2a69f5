-- Identifies the database of each shard: an operator may exchange connection strings by mistake, and a host name or a proxy
-- may lead to another server.

alter table shardwright.server_seen
    add column database bigint,
    add column identity text;
comment on column shardwright.server_seen.database is 'OID of the database; null: no agent has read it yet';
comment on column shardwright.server_seen.identity is
    'random id that is stored in the database itself; null: the database was not registered yet';
