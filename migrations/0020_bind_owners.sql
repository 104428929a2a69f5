-- An owner is bound to the token that it showed and to the secret that came with its work.

alter table shardwright.migration
    add column bound_token text,
    add column bound_secret bytea,
    add column bound_epoch bigint;
comment on column shardwright.migration.bound_token is
    'name of the token by which the owner claimed; null: no token was asked for, or nobody owns it';
comment on column shardwright.migration.bound_secret is
    'SHA-256 of the secret of the owner''s dispatch; null: the owner speaks an older version';
comment on column shardwright.migration.bound_epoch is
    'epoch of both; a controller of the version before sets neither, so that they count under this epoch alone';
