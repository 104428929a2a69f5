-- Operations and their migrations, with steps, their journal and what they leave to be cleaned up.

create table shardwright.operation (
    id text collate "C" primary key check (id ~ '^[a-z][a-z0-9]{0,23}$'),
    plan jsonb not null,
    plan_hash text not null,
    queued boolean not null,
    override_reason text,
    submitted_by text not null,
    created_at timestamptz not null
);
comment on table shardwright.operation is 'a submitted plan; its moves are migrations';
comment on column shardwright.operation.queued is
    'admitted although other migrations may move some of its keys; it waits for them';
comment on column shardwright.operation.override_reason is 'why it may break rules of the map; null: it breaks none';
create index operation_by_time on shardwright.operation (created_at desc);
create trigger append_only before update or delete or truncate on shardwright.operation
    for each statement execute function shardwright.refuse_change();

create table shardwright.migration (
    id text collate "C" primary key check (id ~ '^[a-z][a-z0-9]{0,23}$'),
    operation text collate "C" not null references shardwright.operation (id),
    move text not null,
    ordinal integer not null check (ordinal >= 0),
    map text collate "C" not null references shardwright.map (name),
    source text collate "C" not null,
    target text collate "C" not null check (target <> source),
    spans shardwright.key_spans not null check (not isempty(spans)),
    plan jsonb not null,
    state text not null check (state in ('planned', 'running', 'waiting', 'paused', 'failed', 'unwinding',
        'unwound', 'flipped', 'completed', 'rolled_back')),
    ownership text not null check (ownership in ('ready', 'fencing', 'aborted', 'flipped', 'rollback_fencing',
        'rolled_back', 'completed')),
    attempt bigint not null default 0 check (attempt >= 0),
    epoch bigint not null default 0 check (epoch >= 0),
    renew boolean not null default true,
    agent text collate "C",
    instance text,
    approved boolean not null default false,
    hold_end text check (hold_end in ('finish', 'rollback')),
    waiting_for text,
    failure jsonb,
    map_version_before bigint not null,
    map_version_after bigint,
    map_version_back bigint,
    submitted_by text not null,
    created_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz,
    revision bigint not null default 1,
    unique (operation, ordinal),
    foreign key (map, map_version_after) references shardwright.map_version (map, version),
    foreign key (map, map_version_back) references shardwright.map_version (map, version),
    constraint what_acts_has_started check (
        started_at is not null or state in ('planned', 'paused', 'failed', 'unwinding', 'unwound')),
    constraint owner_is_whole check ((agent is null) = (instance is null)),
    constraint flip_made_a_version check (
        (ownership in ('flipped', 'rollback_fencing', 'rolled_back', 'completed')) = (map_version_after is not null)),
    constraint roll_back_made_a_version check ((ownership = 'rolled_back') = (map_version_back is not null)),
    constraint end_is_settled check (finished_at is null
        or (state = 'unwound' and ownership = 'aborted')
        or (state = 'completed' and ownership = 'completed')
        or (state = 'rolled_back' and ownership = 'rolled_back')),
    -- A migration does not start while another one that has started and not ended moves some of its keys (I8).
    constraint keys_move_once exclude using gist (
        shardwright.name_range(map, map, '[]') with &&,
        spans with &&
    ) where (started_at is not null and finished_at is null)
);
comment on column shardwright.migration.operation is 'the operation that it is one move of; the same id where that is the only move';
comment on column shardwright.migration.move is 'its name in the operation''s plan: m1, m2 and so on';
comment on column shardwright.migration.spans is 'the moving keys, as mapping.span has them';
comment on column shardwright.migration.ownership is 'who owns the moving keys; flip, abort, roll back and completion are rivals on it (I4)';
comment on column shardwright.migration.attempt is 'number of the last cutover attempt, either way';
comment on column shardwright.migration.epoch is 'fencing token of the owner; only the highest may act (I7)';
comment on column shardwright.migration.renew is 'the next dispatch is made under a new epoch';
comment on column shardwright.migration.instance is 'the process that owns the migration while its lease lasts';
comment on column shardwright.migration.hold_end is 'how the operator, or the time limit, ended the hold';
comment on column shardwright.migration.map_version_before is 'map version in force when the last forward attempt began';
comment on column shardwright.migration.map_version_after is 'map version that the flip made';
comment on column shardwright.migration.map_version_back is 'map version that the roll back made';
comment on column shardwright.migration.revision is 'grows by one with each change; every change names the one it saw';
create index migration_by_time on shardwright.migration (created_at desc);
create index migration_unfinished on shardwright.migration (map) where finished_at is null;

create table shardwright.lease (
    migration text collate "C" primary key references shardwright.migration (id),
    instance text not null,
    until timestamptz not null
);
comment on table shardwright.lease is
    'apart from the migration, so that a heartbeat never waits for a cutover that holds the migration''s row';
comment on column shardwright.lease.until is 'the owner''s work is given to another process after this time';

create table shardwright.step (
    migration text collate "C" not null references shardwright.migration (id),
    id text collate "C" not null,
    kind text not null,
    ordinal integer not null,
    state text not null check (state in ('pending', 'running', 'backoff', 'failed', 'done', 'skipped')),
    attempt integer not null default 0 check (attempt >= 0),
    epoch bigint not null default 0,
    next_at timestamptz,
    started_at timestamptz,
    dispatched_at timestamptz,
    finished_at timestamptz,
    output jsonb,
    failure jsonb,
    progress jsonb,
    primary key (migration, id),
    unique (migration, ordinal),
    constraint done_has_output check ((state = 'done') = (output is not null))
);
comment on column shardwright.step.attempt is 'attempts begun since the step was last reset';
comment on column shardwright.step.epoch is 'epoch of the last dispatch';
comment on column shardwright.step.next_at is 'not dispatched before this time';
comment on column shardwright.step.started_at is 'first dispatch; dispatched_at is the last one';
comment on column shardwright.step.progress is 'last figures that an agent sent';

create table shardwright.event (
    migration text collate "C" not null references shardwright.migration (id),
    seq bigint not null check (seq >= 1),
    at timestamptz not null,
    actor text not null,
    kind text not null,
    step text collate "C",
    data jsonb not null,
    primary key (migration, seq)
);
comment on table shardwright.event is 'journal, append-only, written in the transaction of the change that it tells';
comment on column shardwright.event.actor is 'operator, agent or controller that caused it';
create trigger append_only before update or delete or truncate on shardwright.event
    for each statement execute function shardwright.refuse_change();

create function shardwright.announce_event() returns trigger
    language plpgsql
    as $$
begin
    perform pg_notify('shardwright_event', new.migration || ' ' || new.seq);
    return null;
end
$$;
create trigger announce after insert on shardwright.event
    for each row execute function shardwright.announce_event();

create table shardwright.cleanup_record (
    migration text collate "C" not null references shardwright.migration (id),
    shard text collate "C" not null,
    kind text not null,
    name text not null,
    policy text not null,
    created_at timestamptz not null default now(),
    done_at timestamptz,
    primary key (migration, shard, kind, name)
);
comment on table shardwright.cleanup_record is 'written before the object is created on the shard';
comment on column shardwright.cleanup_record.policy is 'when the object must go: always, on_failure, on_success';
comment on column shardwright.cleanup_record.done_at is 'when the object was seen to be gone; null: still to be removed';
