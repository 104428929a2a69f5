-- One process at a time has an agent's name.

alter table shardwright.agent
    add column host text,
    add column key bytea,
    add column process text;
comment on column shardwright.agent.host is 'where the process runs, as it says';
comment on column shardwright.agent.key is 'SHA-256 of what its calls show; null: it speaks an older version';
comment on column shardwright.agent.process is
    'the process that host and key are of; a controller of the version before sets none, so that they count for this one alone';
