-- How migrations, their steps, shards and maps are, for monitoring; columns are only ever added.
--
-- A role that may read these views alone sees no connection string, no token, no key, no text of a failure and no
-- statement of another session: they name things, count and say codes.

create view shardwright.migration_status as
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
comment on view shardwright.migration_status is
    'each migration: where it is, how far, how fast, how far behind, what it waits for; docs/sql-views.md has the columns';

create view shardwright.step_status as
select s.migration, s.id as step, s.kind, s.ordinal, s.state, s.attempt,
    case when s.state = 'running' then m.agent end as agent,
    s.epoch, s.failure ->> 'code' as error_code, s.next_at as next_try_at,
    f.rows_done, f.rows_expected, f.bytes_done,
    s.started_at, s.dispatched_at, s.finished_at
from shardwright.step s
join shardwright.migration m on m.id = s.migration
left join lateral (
    select sum((t ->> 'rows_done')::numeric) as rows_done, sum((t ->> 'rows_total')::numeric) as rows_expected,
        sum((t ->> 'bytes_done')::numeric) as bytes_done
    from jsonb_array_elements(s.progress -> 'tables') t
) f on true;
comment on view shardwright.step_status is 'each step of each migration: attempts, code of the last failure, next try, agent';

create view shardwright.shard_status as
with held as (
    select shard, count(*) as mappings from shardwright.mapping where until is null group by shard
), moving as (
    select source, target from shardwright.migration where finished_at is null and started_at is not null
), going as (
    select source as shard, count(*) as migrations from moving group by source
), coming as (
    select target as shard, count(*) as migrations from moving group by target
)
select s.name as shard, s.number, s.labels, s.capacity, s.space,
    coalesce(h.mappings, 0) as mappings,
    coalesce(g.migrations, 0) as moving_from,
    coalesce(c.migrations, 0) as moving_to,
    s.created_at
from shardwright.shard s
left join held h on h.shard = s.number
left join going g on g.shard = s.name
left join coming c on c.shard = s.name
where s.removed_at is null;
comment on view shardwright.shard_status is 'each registered shard: what maps give it, and what is being moved';

create view shardwright.map_status as
select p.name as map, p.strategy, v.version, v.pieces as mappings, v.migration, v.created_by, v.created_at,
    (select count(*) from shardwright.migration m where m.map = p.name and m.finished_at is null) as migrations
from shardwright.map p
cross join lateral (
    select * from shardwright.map_version w where w.map = p.name order by w.version desc limit 1
) v;
comment on view shardwright.map_status is 'each map: its version in force, what made it, and migrations that have not ended';

create view shardwright.agent_status as
select a.name as agent, a.protocol, a.last_seen,
    (select count(*) from shardwright.migration m
        join shardwright.lease l on l.migration = m.id and l.until > now()
        where m.agent = a.name and m.finished_at is null) as migrations
from shardwright.agent a;
comment on view shardwright.agent_status is 'each agent: when it spoke last, and the migrations that it holds';
