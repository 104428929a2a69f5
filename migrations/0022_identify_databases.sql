-- Which databases the shards are: operators exchange connection strings, names and proxies lead elsewhere.

alter table shardwright.server_seen
    add column database bigint,
    add column identity text;
comment on column shardwright.server_seen.database is 'OID of the database; null: it was not read yet';
comment on column shardwright.server_seen.identity is
    'random id that is kept in the database itself; null: the database was not registered yet';
