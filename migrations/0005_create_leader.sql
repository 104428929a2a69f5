-- Which controller leads: one lease row with a term; nothing else is written but under the term in force.
--
-- Every table of this store has the trigger led_only, and every transaction that writes calls prove_term first.
-- A later migration that changes rows of such tables proves the term in force:
--     select pg_catalog.set_config('shardwright.term', (select term::text from shardwright.leader), true);

create table shardwright.leader (
    only_row boolean primary key default true check (only_row),
    term bigint not null check (term >= 0),
    holder text,
    url text,
    until timestamptz not null,
    constraint nobody_led_term_zero check ((term = 0) = (holder is null) and (holder is null) = (url is null))
);
comment on table shardwright.leader is 'the controller that leads, or led last';
comment on column shardwright.leader.term is 'grows by one with each take-over; what was begun under an older one writes nothing';
comment on column shardwright.leader.holder is 'random id of the process; tells terms of the same number apart after a restore';
comment on column shardwright.leader.url is 'where the others send what changes something';
comment on column shardwright.leader.until is
    'others may take over after this time of this server''s clock; bounds unavailability only, safety rests on the term';
insert into shardwright.leader (term, until) values (0, '-infinity');

create function shardwright.refuse_older_term() returns trigger
    language plpgsql
    as $$
begin
    if tg_op <> 'UPDATE' or new.term < old.term or (new.term = old.term and new.holder is distinct from old.holder) then
        raise exception 'terms only grow' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
end
$$;
create trigger terms_grow before update or delete on shardwright.leader
    for each row execute function shardwright.refuse_older_term();

-- The lock is held shared until the transaction ends; a take-over waits for it exclusively, or ends its sessions.
-- Its queue is fair, so that overlapping writes cannot hold a take-over off. The row is read by a later statement
-- than the lock, or it would be the row of before the take-over.
create function shardwright.prove_term(mine bigint, who text) returns void
    language plpgsql
    as $$
begin
    perform pg_catalog.pg_advisory_xact_lock_shared(1397248331, 1);
    perform from shardwright.leader where term = mine and holder = who;
    if not found then
        raise exception 'term % of the controllers is over', mine using errcode = 'SC001';
    end if;
    perform pg_catalog.set_config('shardwright.term', mine::text, true);
end
$$;
comment on function shardwright.prove_term is
    'raises SC001 unless this process leads under this term, which stays so until the transaction ends';

create function shardwright.refuse_without_term() returns trigger
    language plpgsql
    as $$
begin
    if pg_catalog.current_setting('shardwright.term', true)
        is distinct from (select term::text from shardwright.leader)
    then
        raise exception '% is written under the term of the controller that leads', tg_table_name using errcode = 'SC001';
    end if;
    return null;
end
$$;

create function shardwright.announce_settings() returns trigger
    language plpgsql
    as $$
begin
    perform pg_notify('shardwright_map', new.map || ' settings');
    return null;
end
$$;
create trigger announce after insert on shardwright.map_settings
    for each row execute function shardwright.announce_settings();

do $$
declare
    name text;
begin
    foreach name in array array['shard', 'agent', 'audit', 'map', 'map_version', 'map_settings', 'mapping',
        'operation', 'migration', 'lease', 'step', 'event', 'cleanup_record']
    loop
        execute pg_catalog.format(
            'create trigger led_only before insert or update or delete or truncate on shardwright.%I '
            'for each statement execute function shardwright.refuse_without_term()', name);
    end loop;
end
$$;
