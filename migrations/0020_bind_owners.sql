-- The owner of a migration is the agent that has its lease. It is bound to the token with which it claimed the migration,
-- and to the secret that the controller sent with the step.

alter table shardwright.migration
    add column bound_token text,
    add column bound_secret bytea,
    add column bound_epoch bigint;
comment on column shardwright.migration.bound_token is
    'name of the token with which the owner claimed the migration; null: no token was required, or no agent owns it';
comment on column shardwright.migration.bound_secret is
    'SHA-256 of the secret that the owner received with the step; null: the owner has an older version';
comment on column shardwright.migration.bound_epoch is
    'epoch for which token and secret are valid; a controller of the previous version does not set them when it assigns a new epoch';
