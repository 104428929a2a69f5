-- Event triggers that are not ours; last of all, so that none of them sees the rest being made.
select e.tableoid, e.oid, ''::text, e.evtname::text, quote_ident(e.evtname), pg_catalog.pg_get_userbyid(e.evtowner)::text,
       concat(format('create event trigger %I on %s', e.evtname, e.evtevent),
         ' when tag in (' || (select string_agg(quote_literal(tag), ', ') from unnest(e.evttags) tag) || ')',
         format(' execute function %s()', e.evtfoid::regproc),
         case when e.evtenabled <> 'O'
              then format(E';\nalter event trigger %I %s', e.evtname,
                     case e.evtenabled when 'D' then 'disable' when 'A' then 'enable always' else 'enable replica' end) end)
from pg_catalog.pg_event_trigger e
where e.evtname !~ '^shardwright_'
