-- What hooks are asked before phases of a migration, and how far they were told of what has happened.

alter table shardwright.migration add column hook jsonb;
comment on column shardwright.migration.hook is
    'before which phase hooks are asked, what was answered, who overruled it; null: nobody is asked';

create table shardwright.hook (
    name text collate "C" primary key check (name <> ''),
    since timestamptz not null
);
comment on table shardwright.hook is 'hooks that are told of events; each is told of those after it was first configured';

create table shardwright.hook_cursor (
    hook text collate "C" not null references shardwright.hook (name),
    -- No foreign key: its check would wait for a row that a cutover holds.
    migration text collate "C" not null,
    seq bigint not null check (seq >= 0),
    revision bigint not null check (revision >= 0),
    primary key (hook, migration)
);
comment on table shardwright.hook_cursor is 'how far a hook was told of a migration''s journal; without a row: of nothing';
comment on column shardwright.hook_cursor.seq is 'the last event that it was told of, or that is none of its';
comment on column shardwright.hook_cursor.revision is
    'revision of the migration whose events it was all told of; 0: there may be more';

create trigger led_only before insert or update or delete or truncate on shardwright.hook
    for each statement execute function shardwright.refuse_without_term();
create trigger led_only before insert or update or delete or truncate on shardwright.hook_cursor
    for each statement execute function shardwright.refuse_without_term();

-- As before, with the kind hook.
create or replace view shardwright.migration_status as
select m.id, m.operation as operation_id, m.move, m.plan ->> 'operation' as operation, m.plan ->> 'mode' as mode,
    m.map, m.source, m.target, m.state, s.kind as phase, s.state as phase_state, m.ownership,
    m.approved, m.agent, coalesce(l.until > now(), false) as owned,
    f.rows_done, f.rows_expected, f.bytes_done,
    case when f.rows_expected > 0 then round(least(f.rows_done / f.rows_expected, 1), 4) end as progress,
    (s.progress ->> 'rows_per_second')::double precision as rows_per_second,
    (s.progress ->> 'bytes_per_second')::double precision as bytes_per_second,
    make_interval(secs => (s.progress ->> 'eta_seconds')::double precision) as remaining,
    r.figures #>> '{stream,direction}' as lag_direction,
    (r.figures #>> '{stream,lag_bytes}')::bigint as lag_bytes,
    make_interval(secs => (r.figures #>> '{stream,lag_ms}')::double precision / 1000) as lag,
    r.at as lag_at,
    case
        when m.finished_at is not null then null
        when m.state in ('paused', 'failed') then m.state
        when m.state = 'waiting' and m.cancel is null and m.waiting_for is not null then 'approval'
        when m.cancel is not null and m.waiting_for is not null then 'cancel'
        when m.waiting_for is not null then 'queue'
        when s.kind in ('hold', 'hold_back') and s.state = 'running' and m.hold_end is null
            and jsonb_typeof(m.plan #> '{options,hold}') = 'string' then 'finish'
        when m.hook is not null and not (m.hook -> 'allowed')::boolean and m.hook ->> 'overruled_by' is null then 'hook'
        when s.state = 'backoff' and s.failure is not null then 'retry'
        when l.until is null or l.until <= now() then 'agent'
        when s.state is distinct from 'running' then null
        when s.progress ->> 'waiting_for' is not null then 'gate'
        when s.progress ->> 'lock' is not null then 'lock'
        when s.progress ->> 'slowed' is not null then 'throttle'
    end as waits_kind,
    case when m.cancel is null and m.finished_at is null then m.waiting_for end as waits_for,
    m.since as waits_since,
    m.failure ->> 'code' as error_code,
    m.map_version_before, m.map_version_after, m.map_version_back,
    m.submitted_by, m.created_at, m.started_at, m.finished_at, e.at as updated_at
from shardwright.migration m
left join shardwright.lease l on l.migration = m.id
left join lateral (
    select * from shardwright.step x
    where x.migration = m.id and x.state not in ('done', 'skipped') and m.finished_at is null
    order by x.state <> 'running', m.state = 'unwinding' and x.kind <> 'unwind', x.ordinal
    limit 1
) s on true
left join lateral (
    select sum((t ->> 'rows_done')::numeric) as rows_done, sum((t ->> 'rows_total')::numeric) as rows_expected,
        sum((t ->> 'bytes_done')::numeric) as bytes_done
    from jsonb_array_elements(s.progress -> 'tables') t
) f on true
left join lateral (
    select g.figures, g.at from shardwright.reading g
    where g.migration = m.id and m.finished_at is null
    order by g.at desc
    limit 1
) r on true
left join lateral (
    select v.at from shardwright.event v where v.migration = m.id order by v.seq desc limit 1
) e on true;
