-- Only one process at a time may use the name of an agent.

alter table shardwright.agent
    add column host text,
    add column key bytea,
    add column process text;
comment on column shardwright.agent.host is 'host on which the process runs, as the process reports it';
comment on column shardwright.agent.key is 'SHA-256 of the secret that the process sends with its calls; null: it has an older version';
comment on column shardwright.agent.process is
    'the process for which host and key are valid; a controller of the previous version does not set them for a new process';
