-- Who may ask the controller for what. A token is random and shown once; its SHA-256 is kept.

create table shardwright.token (
    id text primary key,
    name text not null,
    role text not null check (role in ('viewer', 'application', 'operator', 'approver', 'admin', 'agent')),
    labels jsonb not null check (jsonb_typeof(labels) = 'object'),
    digest bytea not null unique check (octet_length(digest) = 32),
    created_at timestamptz not null,
    created_by text not null,
    ends_at timestamptz,
    revoked_at timestamptz,
    revoked_by text,
    check ((revoked_at is null) = (revoked_by is null))
);
create unique index token_name on shardwright.token (name) where revoked_at is null;
comment on table shardwright.token is 'who may ask for what; a revoked token stays here, because the journals name it';
comment on column shardwright.token.labels is 'an agent takes only migrations between shards that carry all of these; empty: all';
comment on column shardwright.token.digest is 'SHA-256 of the token, which is random and nowhere kept';

create table shardwright.session (
    digest bytea primary key check (octet_length(digest) = 32),
    token text not null,
    started_at timestamptz not null,
    ends_at timestamptz not null
);
comment on table shardwright.session is 'browsers that are signed in; a session ends with its token';
comment on column shardwright.session.digest is 'SHA-256 of the cookie';
comment on column shardwright.session.token is 'id of the token it was begun with, or of the one in the controller''s admin token file';

create trigger led_only before insert or update or delete or truncate on shardwright.token
    for each statement execute function shardwright.refuse_without_term();
create trigger led_only before insert or update or delete or truncate on shardwright.session
    for each statement execute function shardwright.refuse_without_term();
