-- The figures of `shardwright show ID -o json`, one per line: NAME=VALUE.
-- Variable: file, where the document is.
\set document `cat :file`
with step as (
    select s ->> 'kind' as kind, s -> 'output' as output
    from jsonb_array_elements(:'document'::jsonb -> 'steps') s
)
select 'state=' || (:'document'::jsonb ->> 'state')
union all
select 'map_version=' || (:'document'::jsonb #>> '{map_version,after}')
union all
select 'copy_rows=' || (output ->> 'rows') from step where kind = 'copy'
union all
select 'copy_megabytes=' || round((output ->> 'bytes')::numeric / 1e6, 1) from step where kind = 'copy'
union all
select 'copy_seconds=' || round((output ->> 'seconds')::numeric, 1) from step where kind = 'copy'
union all
select 'verify_' || key || '=' || value
from step, jsonb_each_text(output)
where kind = 'verify' and key in ('rows_compared', 'different')
union all
select 'window_' || key || '=' || round(value::numeric, 1)
from step, jsonb_each_text(output -> 'window')
where kind = 'cutover';
