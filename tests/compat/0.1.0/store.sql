--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: shardwright; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA shardwright;


--
-- Name: SCHEMA shardwright; Type: COMMENT; Schema: -; Owner: -
--

COMMENT ON SCHEMA shardwright IS 'control store of Shardwright; applications read the views shard_map and shard_map_history';


--
-- Name: key_span; Type: TYPE; Schema: shardwright; Owner: -
--

CREATE TYPE shardwright.key_span AS RANGE (
    subtype = bytea,
    multirange_type_name = shardwright.key_spans
);


--
-- Name: name_range; Type: TYPE; Schema: shardwright; Owner: -
--

CREATE TYPE shardwright.name_range AS RANGE (
    subtype = text,
    multirange_type_name = shardwright.name_multirange,
    collation = pg_catalog."C"
);


--
-- Name: announce_event(); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.announce_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    perform pg_notify('shardwright_event', new.migration || ' ' || new.seq);
    return null;
end
$$;


--
-- Name: announce_map_version(); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.announce_map_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if new.version <> 1 + coalesce(
        (select max(version) from shardwright.map_version v where v.map = new.map and v.version <> new.version), 0)
    then
        raise exception 'version % of map % does not follow the version before it', new.version, new.map
            using errcode = 'integrity_constraint_violation';
    end if;
    perform pg_notify('shardwright_map', new.map || ' ' || new.version);
    return null;
end
$$;


--
-- Name: announce_settings(); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.announce_settings() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    perform pg_notify('shardwright_map', new.map || ' settings');
    return null;
end
$$;


--
-- Name: hold(bigint, text, text); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.hold(mine bigint, who text, which text, OUT revision bigint, OUT written text, OUT version bigint, OUT made timestamp with time zone) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
    its_map text;
begin
    perform shardwright.prove_term(mine, who);
    select m.map, m.revision, m.xmin::text into its_map, revision, written
        from shardwright.migration m where m.id = which for no key update;
    perform from shardwright.map m where m.name = its_map for update;
    select v.version, v.created_at into version, made
        from shardwright.map_version v where v.map = its_map order by v.version desc limit 1;
end
$$;


--
-- Name: FUNCTION hold(mine bigint, who text, which text, OUT revision bigint, OUT written text, OUT version bigint, OUT made timestamp with time zone); Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON FUNCTION shardwright.hold(mine bigint, who text, which text, OUT revision bigint, OUT written text, OUT version bigint, OUT made timestamp with time zone) IS 'under this term, locks a migration and its map until the transaction ends, and tells how they stand; null: no such migration';


--
-- Name: key_bytes(text, text); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.key_bytes(key text, type text) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
    -- A sign bit that is turned over makes two's complement sort as unsigned bytes; texts end in two zeros.
    select case type
        when 'text' then convert_to(key, 'UTF8') || '\x0000'
        when 'uuid' then uuid_send(key::uuid)
        when 'bytea' then decode(replace(replace(
            regexp_replace(encode(key::bytea, 'hex'), '(..)', '\1 ', 'g'), '00 ', '00ff'), ' ', '') || '0000', 'hex')
        else set_byte(signed, 0, get_byte(signed, 0) # 128)
    end
    from (select case type
        when 'smallint' then int8send(key::smallint)
        when 'integer' then int8send(key::integer)
        when 'bigint' then int8send(key::bigint)
        when 'date' then date_send(key::date)
        when 'timestamptz' then timestamptz_send(key::timestamptz)
    end as signed) s
$$;


--
-- Name: FUNCTION key_bytes(key text, type text); Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON FUNCTION shardwright.key_bytes(key text, type text) IS 'one column of a key as bytes whose order is the order of keys';


--
-- Name: key_hash(text, text); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.key_hash(key text, type text) RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
    select case type
        when 'smallint' then hashint8extended(key::smallint, 0)
        when 'integer' then hashint8extended(key::integer, 0)
        when 'bigint' then hashint8extended(key::bigint, 0)
        when 'text' then hashtextextended(key collate "C", 0)
        when 'uuid' then uuid_hash_extended(key::uuid, 0)
        when 'bytea' then hashtextextended(encode(key::bytea, 'hex') collate "C", 0)
        when 'date' then hash_record_extended(row(key::date), 0)
        when 'timestamptz' then hash_record_extended(row(key::timestamptz), 0)
    end
$$;


--
-- Name: FUNCTION key_hash(key text, type text); Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON FUNCTION shardwright.key_hash(key text, type text) IS 'the 64-bit hash of one column of a key, with seed 0';


--
-- Name: key_text(jsonb); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.key_text(key jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select case jsonb_typeof(key)
        when 'object' then (select value from jsonb_each_text(key) limit 1)
        else key #>> '{}' end
$$;


--
-- Name: FUNCTION key_text(key jsonb); Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON FUNCTION shardwright.key_text(key jsonb) IS 'a key as PostgreSQL prints it; a composite one as a JSON array';


--
-- Name: prove_term(bigint, text); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.prove_term(mine bigint, who text) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
    perform pg_catalog.pg_advisory_xact_lock_shared(1397248331, 1);
    perform from shardwright.leader where term = mine and holder = who;
    if not found then
        raise exception 'term % of the controllers is over', mine using errcode = 'SC001';
    end if;
    perform pg_catalog.set_config('shardwright.term', mine::text, true);
end
$$;


--
-- Name: FUNCTION prove_term(mine bigint, who text); Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON FUNCTION shardwright.prove_term(mine bigint, who text) IS 'raises SC001 unless this process leads under this term, which stays so until the transaction ends';


--
-- Name: refuse_change(); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end
$$;


--
-- Name: refuse_older_term(); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.refuse_older_term() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if tg_op <> 'UPDATE' or new.term < old.term or (new.term = old.term and new.holder is distinct from old.holder) then
        raise exception 'terms only grow' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
end
$$;


--
-- Name: refuse_other_version(); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.refuse_other_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
    other record;
begin
    select c.map, c.version into other
    from (select distinct map, case tg_op when 'INSERT' then since else until end as version from changed) c
    where c.version is distinct from (select max(v.version) from shardwright.map_version v where v.map = c.map)
    limit 1;
    if found then
        raise exception 'version % of map % is not its newest', other.version, other.map
            using errcode = 'integrity_constraint_violation';
    end if;
    return null;
end
$$;


--
-- Name: refuse_without_term(); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.refuse_without_term() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if pg_catalog.current_setting('shardwright.term', true)
        is distinct from (select term::text from shardwright.leader)
    then
        raise exception '% is written under the term of the controller that leads', tg_table_name using errcode = 'SC001';
    end if;
    return null;
end
$$;


--
-- Name: shard_for(text, text[]); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.shard_for(map text, VARIADIC key text[]) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    at shardwright.key_span := shardwright.span_of_key(shard_for.map, shard_for.key);
begin
    -- Each by its own index: a listed key, then the piece that holds it.
    return (
        select s.name from shardwright.shard s where s.number = coalesce(
            (select m.shard from shardwright.mapping m
             where m.map = shard_for.map and m.until is null and m.span = at),
            (select m.shard from shardwright.mapping m
             where m.map = shard_for.map and m.until is null and not m.keys ? 'list' and m.span @> at))
    );
end
$$;


--
-- Name: FUNCTION shard_for(map text, VARIADIC key text[]); Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON FUNCTION shardwright.shard_for(map text, VARIADIC key text[]) IS 'the shard that has a key now; null for a key that no shard has';


--
-- Name: span_of_key(text, text[]); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.span_of_key(map text, key text[]) RETURNS shardwright.key_span
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
declare
    about shardwright.map;
    at bytea;
begin
    select * into about from shardwright.map m where m.name = span_of_key.map;
    if not found then
        raise exception 'there is no map %', span_of_key.map using errcode = 'undefined_object';
    end if;
    if cardinality(key) <> cardinality(about.key_types) or array_position(key, null) is not null then
        raise exception 'a key of map % has % column(s), none of them null', span_of_key.map, cardinality(about.key_types)
            using errcode = 'invalid_parameter_value', hint = 'their types are ' || array_to_string(about.key_types, ', ');
    end if;
    if about.strategy = 'hash' then
        at := int4send((shardwright.key_hash(key[1], about.key_types[1]) & (about.buckets - 1))::integer);
    else
        select string_agg(shardwright.key_bytes(k, t), '' order by nth) into at
        from unnest(key, about.key_types) with ordinality as c (k, t, nth);
    end if;
    return shardwright.key_span(at, at || '\x00');
end
$$;


--
-- Name: FUNCTION span_of_key(map text, key text[]); Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON FUNCTION shardwright.span_of_key(map text, key text[]) IS 'a key as a point among the spans of its map';


--
-- Name: spans(bytea[], bytea[]); Type: FUNCTION; Schema: shardwright; Owner: -
--

CREATE FUNCTION shardwright.spans(lower bytea[], upper bytea[]) RETURNS shardwright.key_spans
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select coalesce(range_agg(shardwright.key_span(l, u)), shardwright.key_spans())
    from unnest(lower, upper) as s (l, u)
$$;


--
-- Name: FUNCTION spans(lower bytea[], upper bytea[]); Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON FUNCTION shardwright.spans(lower bytea[], upper bytea[]) IS 'a set of keys from the ends of its pieces; a null end has no bound';


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: _sqlx_migrations; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);


--
-- Name: agent; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.agent (
    name text NOT NULL COLLATE pg_catalog."C",
    instance text NOT NULL,
    protocol integer NOT NULL,
    last_seen timestamp with time zone NOT NULL,
    CONSTRAINT agent_name_check CHECK ((name <> ''::text))
);


--
-- Name: COLUMN agent.instance; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.agent.instance IS 'the process of this name that spoke last; an older one has lost what it held';


--
-- Name: lease; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.lease (
    migration text NOT NULL COLLATE pg_catalog."C",
    instance text NOT NULL,
    until timestamp with time zone NOT NULL
);


--
-- Name: TABLE lease; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.lease IS 'apart from the migration, so that a heartbeat never waits for a cutover that holds the migration''s row';


--
-- Name: COLUMN lease.until; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.lease.until IS 'the owner''s work is given to another process after this time';


--
-- Name: migration; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.migration (
    id text NOT NULL COLLATE pg_catalog."C",
    operation text NOT NULL COLLATE pg_catalog."C",
    move text NOT NULL,
    ordinal integer NOT NULL,
    map text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    target text NOT NULL COLLATE pg_catalog."C",
    spans shardwright.key_spans NOT NULL,
    plan jsonb NOT NULL,
    state text NOT NULL,
    ownership text NOT NULL,
    attempt bigint DEFAULT 0 NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    renew boolean DEFAULT true NOT NULL,
    agent text COLLATE pg_catalog."C",
    instance text,
    approved boolean DEFAULT false NOT NULL,
    hold_end text,
    waiting_for text,
    failure jsonb,
    map_version_before bigint NOT NULL,
    map_version_after bigint,
    map_version_back bigint,
    submitted_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    revision bigint DEFAULT 1 NOT NULL,
    cancel jsonb,
    limits jsonb,
    since timestamp with time zone,
    hook jsonb,
    approvals jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT end_is_settled CHECK (((finished_at IS NULL) OR ((state = 'unwound'::text) AND (ownership = 'aborted'::text)) OR ((state = 'completed'::text) AND (ownership = 'completed'::text)) OR ((state = 'rolled_back'::text) AND (ownership = 'rolled_back'::text)))),
    CONSTRAINT flip_made_a_version CHECK (((ownership = ANY (ARRAY['flipped'::text, 'rollback_fencing'::text, 'rolled_back'::text, 'completed'::text])) = (map_version_after IS NOT NULL))),
    CONSTRAINT migration_approvals_check CHECK ((jsonb_typeof(approvals) = 'array'::text)),
    CONSTRAINT migration_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT migration_check CHECK ((target <> source)),
    CONSTRAINT migration_epoch_check CHECK ((epoch >= 0)),
    CONSTRAINT migration_hold_end_check CHECK ((hold_end = ANY (ARRAY['finish'::text, 'rollback'::text, 'again'::text]))),
    CONSTRAINT migration_id_check CHECK ((id ~ '^[a-z][a-z0-9]{0,23}$'::text)),
    CONSTRAINT migration_ordinal_check CHECK ((ordinal >= 0)),
    CONSTRAINT migration_ownership_check CHECK ((ownership = ANY (ARRAY['ready'::text, 'fencing'::text, 'aborted'::text, 'flipped'::text, 'rollback_fencing'::text, 'rolled_back'::text, 'completed'::text]))),
    CONSTRAINT migration_spans_check CHECK ((NOT isempty(spans))),
    CONSTRAINT migration_state_check CHECK ((state = ANY (ARRAY['planned'::text, 'running'::text, 'waiting'::text, 'paused'::text, 'failed'::text, 'unwinding'::text, 'unwound'::text, 'flipped'::text, 'completed'::text, 'rolled_back'::text]))),
    CONSTRAINT owner_is_whole CHECK (((agent IS NULL) = (instance IS NULL))),
    CONSTRAINT roll_back_made_a_version CHECK (((ownership = 'rolled_back'::text) = (map_version_back IS NOT NULL))),
    CONSTRAINT what_acts_has_started CHECK (((started_at IS NOT NULL) OR (state = ANY (ARRAY['planned'::text, 'paused'::text, 'failed'::text, 'unwinding'::text, 'unwound'::text]))))
);


--
-- Name: COLUMN migration.operation; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.operation IS 'the operation that it is one move of; the same id where that is the only move';


--
-- Name: COLUMN migration.move; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.move IS 'its name in the operation''s plan: m1, m2 and so on';


--
-- Name: COLUMN migration.spans; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.spans IS 'the moving keys, as mapping.span has them';


--
-- Name: COLUMN migration.plan; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.plan IS 'as it was submitted; tables and fingerprint follow a change that was made on both shards';


--
-- Name: COLUMN migration.ownership; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.ownership IS 'who owns the moving keys; flip, abort, roll back and completion are rivals on it (I4)';


--
-- Name: COLUMN migration.attempt; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.attempt IS 'number of the last cutover attempt, either way';


--
-- Name: COLUMN migration.epoch; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.epoch IS 'fencing token of the owner; only the highest may act (I7)';


--
-- Name: COLUMN migration.renew; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.renew IS 'the next dispatch is made under a new epoch';


--
-- Name: COLUMN migration.instance; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.instance IS 'the process that owns the migration while its lease lasts';


--
-- Name: COLUMN migration.hold_end; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.hold_end IS 'how the operator, or the time limit, ended the hold';


--
-- Name: COLUMN migration.map_version_before; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.map_version_before IS 'map version in force when the last forward attempt began';


--
-- Name: COLUMN migration.map_version_after; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.map_version_after IS 'map version that the flip made';


--
-- Name: COLUMN migration.map_version_back; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.map_version_back IS 'map version that the roll back made';


--
-- Name: COLUMN migration.revision; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.revision IS 'grows by one with each change; every change names the one it saw';


--
-- Name: COLUMN migration.cancel; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.cancel IS 'writers in the way of the cutover, with who allowed to end them; null: none';


--
-- Name: COLUMN migration.limits; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.limits IS 'streams, rate, hours, latency and signs of strain, in the place of what the plan says; null: as the plan says';


--
-- Name: COLUMN migration.since; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.since IS 'when state or waiting_for became what they are; null: before this was kept';


--
-- Name: COLUMN migration.hook; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.hook IS 'before which phase hooks are asked, what was answered, who overruled it; null: nobody is asked';


--
-- Name: COLUMN migration.approvals; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.migration.approvals IS 'who approved the cutover, when and why; approved says that they are enough';


--
-- Name: agent_status; Type: VIEW; Schema: shardwright; Owner: -
--

CREATE VIEW shardwright.agent_status AS
 SELECT a.name AS agent,
    a.protocol,
    a.last_seen,
    ( SELECT count(*) AS count
           FROM (shardwright.migration m
             JOIN shardwright.lease l ON (((l.migration = m.id) AND (l.until > now()))))
          WHERE ((m.agent = a.name) AND (m.finished_at IS NULL))) AS migrations
   FROM shardwright.agent a;


--
-- Name: VIEW agent_status; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON VIEW shardwright.agent_status IS 'each agent: when it spoke last, and the migrations that it holds';


--
-- Name: audit; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.audit (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    object text NOT NULL,
    data jsonb NOT NULL
);


--
-- Name: TABLE audit; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.audit IS 'what operators changed outside of migrations, append-only; migrations have journals of their own';


--
-- Name: audit_id_seq; Type: SEQUENCE; Schema: shardwright; Owner: -
--

ALTER TABLE shardwright.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME shardwright.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: cleanup_record; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.cleanup_record (
    migration text NOT NULL COLLATE pg_catalog."C",
    shard text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    name text NOT NULL,
    policy text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    done_at timestamp with time zone
);


--
-- Name: TABLE cleanup_record; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.cleanup_record IS 'written before the object is created on the shard';


--
-- Name: COLUMN cleanup_record.policy; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.cleanup_record.policy IS 'when the object must go: always, on_failure, on_success';


--
-- Name: COLUMN cleanup_record.done_at; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.cleanup_record.done_at IS 'when the object was seen to be gone; null: still to be removed';


--
-- Name: event; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.event (
    migration text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    kind text NOT NULL,
    step text COLLATE pg_catalog."C",
    data jsonb NOT NULL,
    CONSTRAINT event_seq_check CHECK ((seq >= 1))
);


--
-- Name: TABLE event; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.event IS 'journal, append-only, written in the transaction of the change that it tells';


--
-- Name: COLUMN event.actor; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.event.actor IS 'operator, agent or controller that caused it';


--
-- Name: hook; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.hook (
    name text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    CONSTRAINT hook_name_check CHECK ((name <> ''::text))
);


--
-- Name: TABLE hook; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.hook IS 'hooks that are told of events; each is told of those after it was first configured';


--
-- Name: hook_cursor; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.hook_cursor (
    hook text NOT NULL COLLATE pg_catalog."C",
    migration text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT hook_cursor_revision_check CHECK ((revision >= 0)),
    CONSTRAINT hook_cursor_seq_check CHECK ((seq >= 0))
);


--
-- Name: TABLE hook_cursor; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.hook_cursor IS 'how far a hook was told of a migration''s journal; without a row: of nothing';


--
-- Name: COLUMN hook_cursor.seq; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.hook_cursor.seq IS 'the last event that it was told of, or that is none of its';


--
-- Name: COLUMN hook_cursor.revision; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.hook_cursor.revision IS 'revision of the migration whose events it was all told of; 0: there may be more';


--
-- Name: keyed_order; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.keyed_order (
    key bytea NOT NULL,
    fingerprint bytea NOT NULL,
    begun_at timestamp with time zone NOT NULL,
    status smallint,
    kind text,
    body bytea,
    CONSTRAINT keyed_order_check CHECK ((((status IS NULL) = (kind IS NULL)) AND ((status IS NULL) = (body IS NULL)))),
    CONSTRAINT keyed_order_fingerprint_check CHECK ((octet_length(fingerprint) = 32)),
    CONSTRAINT keyed_order_key_check CHECK ((octet_length(key) = 32))
);


--
-- Name: TABLE keyed_order; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.keyed_order IS 'orders with an Idempotency-Key of the last 24 hours; without a status: it has begun, and maybe was not ended';


--
-- Name: COLUMN keyed_order.key; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.keyed_order.key IS 'SHA-256 of who gave the order and the key';


--
-- Name: COLUMN keyed_order.fingerprint; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.keyed_order.fingerprint IS 'SHA-256 of method, path and body';


--
-- Name: leader; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.leader (
    only_row boolean DEFAULT true NOT NULL,
    term bigint NOT NULL,
    holder text,
    url text,
    until timestamp with time zone NOT NULL,
    CONSTRAINT leader_only_row_check CHECK (only_row),
    CONSTRAINT leader_term_check CHECK ((term >= 0)),
    CONSTRAINT nobody_led_term_zero CHECK ((((term = 0) = (holder IS NULL)) AND ((holder IS NULL) = (url IS NULL))))
);


--
-- Name: TABLE leader; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.leader IS 'the controller that leads, or led last';


--
-- Name: COLUMN leader.term; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.leader.term IS 'grows by one with each take-over; what was begun under an older one writes nothing';


--
-- Name: COLUMN leader.holder; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.leader.holder IS 'random id of the process; tells terms of the same number apart after a restore';


--
-- Name: COLUMN leader.url; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.leader.url IS 'where the others send what changes something';


--
-- Name: COLUMN leader.until; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.leader.until IS 'others may take over after this time of this server''s clock; bounds unavailability only, safety rests on the term';


--
-- Name: map; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.map (
    name text NOT NULL COLLATE pg_catalog."C",
    strategy text NOT NULL,
    key_types text[] NOT NULL,
    buckets integer NOT NULL,
    CONSTRAINT composite_keys_have_ranges CHECK (((cardinality(key_types) >= 1) AND (cardinality(key_types) <=
CASE strategy
    WHEN 'range'::text THEN 3
    ELSE 1
END))),
    CONSTRAINT hash_has_buckets CHECK (
CASE strategy
    WHEN 'hash'::text THEN (((buckets >= 1) AND (buckets <= 16777216)) AND ((buckets & (buckets - 1)) = 0))
    ELSE (buckets = 0)
END),
    CONSTRAINT map_key_types_check CHECK ((key_types <@ ARRAY['smallint'::text, 'integer'::text, 'bigint'::text, 'text'::text, 'uuid'::text, 'bytea'::text, 'date'::text, 'timestamptz'::text])),
    CONSTRAINT map_name_check CHECK ((name <> ''::text)),
    CONSTRAINT map_strategy_check CHECK ((strategy = ANY (ARRAY['range'::text, 'hash'::text, 'list'::text])))
);


--
-- Name: COLUMN map.key_types; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.map.key_types IS 'types of the shard key''s columns';


--
-- Name: COLUMN map.buckets; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.map.buckets IS 'virtual shards of a hash map, a power of two; 0 for the others';


--
-- Name: map_settings; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.map_settings (
    map text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    settings jsonb NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT map_settings_revision_check CHECK ((revision >= 1))
);


--
-- Name: TABLE map_settings; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.map_settings IS 'what a map knows besides its mappings: tables, rules, sequences; the highest revision is in force';


--
-- Name: map_version; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.map_version (
    map text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    migration text COLLATE pg_catalog."C",
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    pieces bigint NOT NULL,
    added bigint NOT NULL,
    removed bigint NOT NULL,
    CONSTRAINT map_version_added_check CHECK ((added >= 0)),
    CONSTRAINT map_version_pieces_check CHECK ((pieces >= 0)),
    CONSTRAINT map_version_removed_check CHECK ((removed >= 0)),
    CONSTRAINT map_version_version_check CHECK ((version >= 1))
);


--
-- Name: COLUMN map_version.version; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.map_version.version IS 'grows by one; the highest is the one in force';


--
-- Name: COLUMN map_version.migration; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.map_version.migration IS 'the migration whose flip made this version; null for one made by hand';


--
-- Name: COLUMN map_version.pieces; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.map_version.pieces IS 'mappings in this version';


--
-- Name: COLUMN map_version.added; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.map_version.added IS 'mappings that are new in this version';


--
-- Name: COLUMN map_version.removed; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.map_version.removed IS 'mappings of the version before that are not in this one';


--
-- Name: map_status; Type: VIEW; Schema: shardwright; Owner: -
--

CREATE VIEW shardwright.map_status AS
 SELECT p.name AS map,
    p.strategy,
    v.version,
    v.pieces AS mappings,
    v.migration,
    v.created_by,
    v.created_at,
    ( SELECT count(*) AS count
           FROM shardwright.migration m
          WHERE ((m.map = p.name) AND (m.finished_at IS NULL))) AS migrations
   FROM (shardwright.map p
     CROSS JOIN LATERAL ( SELECT w.map,
            w.version,
            w.migration,
            w.created_by,
            w.created_at,
            w.pieces,
            w.added,
            w.removed
           FROM shardwright.map_version w
          WHERE (w.map = p.name)
          ORDER BY w.version DESC
         LIMIT 1) v);


--
-- Name: VIEW map_status; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON VIEW shardwright.map_status IS 'each map: its version in force, what made it, and migrations that have not ended';


--
-- Name: mapping; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.mapping (
    map text NOT NULL COLLATE pg_catalog."C",
    since bigint NOT NULL,
    until bigint,
    span shardwright.key_span NOT NULL,
    keys jsonb NOT NULL,
    shard integer NOT NULL,
    CONSTRAINT listed_key_is_a_point CHECK (((NOT (keys ? 'list'::text)) OR (upper(span) = (lower(span) || '\x00'::bytea)))),
    CONSTRAINT mapping_holds_a_key CHECK ((NOT isempty(span))),
    CONSTRAINT mapping_is_in_a_version CHECK ((until > since))
);


--
-- Name: TABLE mapping; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.mapping IS 'who owns what: one row for a range of keys, a range of virtual shards, or a key of a list map';


--
-- Name: COLUMN mapping.since; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.mapping.since IS 'first version with this mapping';


--
-- Name: COLUMN mapping.until; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.mapping.until IS 'first version without it; null: it is in force';


--
-- Name: COLUMN mapping.span; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.mapping.span IS 'the keys as bytes in key order, or the virtual shards as numbers';


--
-- Name: COLUMN mapping.keys; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.mapping.keys IS 'the keys as people and programs read them';


--
-- Name: COLUMN mapping.shard; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.mapping.shard IS 'the owner of these keys in these versions';


--
-- Name: reading; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.reading (
    migration text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    figures jsonb NOT NULL
);


--
-- Name: TABLE reading; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.reading IS 'figures of heartbeats: each second at first, then as often as the migration is old in thousandths';


--
-- Name: step; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.step (
    migration text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    ordinal integer NOT NULL,
    state text NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    next_at timestamp with time zone,
    started_at timestamp with time zone,
    dispatched_at timestamp with time zone,
    finished_at timestamp with time zone,
    output jsonb,
    failure jsonb,
    progress jsonb,
    CONSTRAINT done_has_output CHECK (((state = 'done'::text) = (output IS NOT NULL))),
    CONSTRAINT step_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT step_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'running'::text, 'backoff'::text, 'failed'::text, 'done'::text, 'skipped'::text])))
);


--
-- Name: COLUMN step.attempt; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.step.attempt IS 'attempts begun since the step was last reset';


--
-- Name: COLUMN step.epoch; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.step.epoch IS 'epoch of the last dispatch';


--
-- Name: COLUMN step.next_at; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.step.next_at IS 'not dispatched before this time';


--
-- Name: COLUMN step.started_at; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.step.started_at IS 'first dispatch; dispatched_at is the last one';


--
-- Name: COLUMN step.progress; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.step.progress IS 'last figures that an agent sent';


--
-- Name: migration_status; Type: VIEW; Schema: shardwright; Owner: -
--

CREATE VIEW shardwright.migration_status AS
 SELECT m.id,
    m.operation AS operation_id,
    m.move,
    (m.plan ->> 'operation'::text) AS operation,
    (m.plan ->> 'mode'::text) AS mode,
    m.map,
    m.source,
    m.target,
    m.state,
    s.kind AS phase,
    s.state AS phase_state,
    m.ownership,
    m.approved,
    m.agent,
    COALESCE((l.until > now()), false) AS owned,
    f.rows_done,
    f.rows_expected,
    f.bytes_done,
        CASE
            WHEN (f.rows_expected > (0)::numeric) THEN round(LEAST((f.rows_done / f.rows_expected), (1)::numeric), 4)
            ELSE NULL::numeric
        END AS progress,
    ((s.progress ->> 'rows_per_second'::text))::double precision AS rows_per_second,
    ((s.progress ->> 'bytes_per_second'::text))::double precision AS bytes_per_second,
    make_interval(secs => ((s.progress ->> 'eta_seconds'::text))::double precision) AS remaining,
    (r.figures #>> '{stream,direction}'::text[]) AS lag_direction,
    ((r.figures #>> '{stream,lag_bytes}'::text[]))::bigint AS lag_bytes,
    make_interval(secs => (((r.figures #>> '{stream,lag_ms}'::text[]))::double precision / (1000)::double precision)) AS lag,
    r.at AS lag_at,
        CASE
            WHEN (m.finished_at IS NOT NULL) THEN NULL::text
            WHEN (m.state = ANY (ARRAY['paused'::text, 'failed'::text])) THEN m.state
            WHEN ((m.state = 'waiting'::text) AND (m.cancel IS NULL) AND (m.waiting_for IS NOT NULL)) THEN 'approval'::text
            WHEN ((m.cancel IS NOT NULL) AND (m.waiting_for IS NOT NULL)) THEN 'cancel'::text
            WHEN (m.waiting_for IS NOT NULL) THEN 'queue'::text
            WHEN ((s.kind = ANY (ARRAY['hold'::text, 'hold_back'::text])) AND (s.state = 'running'::text) AND (m.hold_end IS NULL) AND (jsonb_typeof((m.plan #> '{options,hold}'::text[])) = 'string'::text)) THEN 'finish'::text
            WHEN ((m.hook IS NOT NULL) AND (NOT ((m.hook -> 'allowed'::text))::boolean) AND ((m.hook ->> 'overruled_by'::text) IS NULL)) THEN 'hook'::text
            WHEN ((s.state = 'backoff'::text) AND (s.failure IS NOT NULL)) THEN 'retry'::text
            WHEN ((l.until IS NULL) OR (l.until <= now())) THEN 'agent'::text
            WHEN (s.state IS DISTINCT FROM 'running'::text) THEN NULL::text
            WHEN ((s.progress ->> 'waiting_for'::text) IS NOT NULL) THEN 'gate'::text
            WHEN ((s.progress ->> 'lock'::text) IS NOT NULL) THEN 'lock'::text
            WHEN ((s.progress ->> 'slowed'::text) IS NOT NULL) THEN 'throttle'::text
            ELSE NULL::text
        END AS waits_kind,
        CASE
            WHEN ((m.cancel IS NULL) AND (m.finished_at IS NULL)) THEN m.waiting_for
            ELSE NULL::text
        END AS waits_for,
    m.since AS waits_since,
    (m.failure ->> 'code'::text) AS error_code,
    m.map_version_before,
    m.map_version_after,
    m.map_version_back,
    m.submitted_by,
    m.created_at,
    m.started_at,
    m.finished_at,
    e.at AS updated_at
   FROM (((((shardwright.migration m
     LEFT JOIN shardwright.lease l ON ((l.migration = m.id)))
     LEFT JOIN LATERAL ( SELECT x.migration,
            x.id,
            x.kind,
            x.ordinal,
            x.state,
            x.attempt,
            x.epoch,
            x.next_at,
            x.started_at,
            x.dispatched_at,
            x.finished_at,
            x.output,
            x.failure,
            x.progress
           FROM shardwright.step x
          WHERE ((x.migration = m.id) AND (x.state <> ALL (ARRAY['done'::text, 'skipped'::text])) AND (m.finished_at IS NULL))
          ORDER BY (x.state <> 'running'::text), ((m.state = 'unwinding'::text) AND (x.kind <> 'unwind'::text)), x.ordinal
         LIMIT 1) s ON (true))
     LEFT JOIN LATERAL ( SELECT sum(((t.value ->> 'rows_done'::text))::numeric) AS rows_done,
            sum(((t.value ->> 'rows_total'::text))::numeric) AS rows_expected,
            sum(((t.value ->> 'bytes_done'::text))::numeric) AS bytes_done
           FROM jsonb_array_elements((s.progress -> 'tables'::text)) t(value)) f ON (true))
     LEFT JOIN LATERAL ( SELECT g.figures,
            g.at
           FROM shardwright.reading g
          WHERE ((g.migration = m.id) AND (m.finished_at IS NULL))
          ORDER BY g.at DESC
         LIMIT 1) r ON (true))
     LEFT JOIN LATERAL ( SELECT v.at
           FROM shardwright.event v
          WHERE (v.migration = m.id)
          ORDER BY v.seq DESC
         LIMIT 1) e ON (true));


--
-- Name: VIEW migration_status; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON VIEW shardwright.migration_status IS 'each migration: where it is, how far, how fast, how far behind, what it waits for; docs/sql-views.md has the columns';


--
-- Name: operation; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.operation (
    id text NOT NULL COLLATE pg_catalog."C",
    plan jsonb NOT NULL,
    plan_hash text NOT NULL,
    queued boolean NOT NULL,
    override_reason text,
    submitted_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT operation_id_check CHECK ((id ~ '^[a-z][a-z0-9]{0,23}$'::text))
);


--
-- Name: TABLE operation; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.operation IS 'a submitted plan; its moves are migrations';


--
-- Name: COLUMN operation.queued; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.operation.queued IS 'admitted although other migrations may move some of its keys; it waits for them';


--
-- Name: COLUMN operation.override_reason; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.operation.override_reason IS 'why it may break rules of the map; null: it breaks none';


--
-- Name: server_seen; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.server_seen (
    number integer NOT NULL,
    system text NOT NULL,
    timeline integer NOT NULL,
    flushed bigint NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    missing bigint DEFAULT 0 NOT NULL,
    CONSTRAINT server_seen_flushed_check CHECK ((flushed >= 0))
);


--
-- Name: TABLE server_seen; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.server_seen IS 'a shard that was restored from a copy, or failed over, since then is told apart by it; changed on an operator''s word only';


--
-- Name: COLUMN server_seen.system; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.server_seen.system IS 'system_identifier of the cluster';


--
-- Name: COLUMN server_seen.flushed; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.server_seen.flushed IS 'end of the log on its disk, bytes: on one timeline it never goes back';


--
-- Name: COLUMN server_seen.missing; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.server_seen.missing IS 'bytes by which its log once ended before the end seen earlier; 0: it never did, or the server was accepted since';


--
-- Name: session; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.session (
    digest bytea NOT NULL,
    token text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    CONSTRAINT session_digest_check CHECK ((octet_length(digest) = 32))
);


--
-- Name: TABLE session; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.session IS 'browsers that are signed in; a session ends with its token';


--
-- Name: COLUMN session.digest; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.session.digest IS 'SHA-256 of the cookie';


--
-- Name: COLUMN session.token; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.session.token IS 'id of the token it was begun with, or of the one in the controller''s admin token file';


--
-- Name: shard; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.shard (
    number integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    dsn text NOT NULL,
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    capacity bigint NOT NULL,
    space bigint,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    removed_at timestamp with time zone,
    CONSTRAINT shard_capacity_check CHECK ((capacity >= 0)),
    CONSTRAINT shard_dsn_check CHECK ((dsn <> ''::text)),
    CONSTRAINT shard_labels_check CHECK ((jsonb_typeof(labels) = 'object'::text)),
    CONSTRAINT shard_name_check CHECK ((name <> ''::text)),
    CONSTRAINT shard_number_check CHECK ((number >= 1)),
    CONSTRAINT shard_space_check CHECK ((space >= 0))
);


--
-- Name: COLUMN shard.number; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.shard.number IS 'place in the fleet, assigned in order; sequences are shared out by it, so no other shard ever gets it';


--
-- Name: COLUMN shard.dsn; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.shard.dsn IS 'connection string; its password is a reference that only an agent resolves';


--
-- Name: COLUMN shard.capacity; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.shard.capacity IS 'how much load it should carry, relative to the others';


--
-- Name: COLUMN shard.space; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.shard.space IS 'bytes of rows that it can hold; null: not limited';


--
-- Name: COLUMN shard.removed_at; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.shard.removed_at IS 'when it was forgotten; the row stays, since old versions of maps name it and its number stays taken';


--
-- Name: shard_map; Type: VIEW; Schema: shardwright; Owner: -
--

CREATE VIEW shardwright.shard_map AS
 SELECT m.map,
    v.version,
    p.strategy,
    m.keys,
    shardwright.key_text((m.keys #> '{range,0,from}'::text[])) AS lower,
    shardwright.key_text((m.keys #> '{range,0,to}'::text[])) AS upper,
    ((m.keys #>> '{hash,ranges,0,from}'::text[]))::integer AS bucket_from,
    ((m.keys #>> '{hash,ranges,0,to}'::text[]))::integer AS bucket_to,
    shardwright.key_text((m.keys #> '{list,0}'::text[])) AS key,
    s.name AS shard,
        CASE
            WHEN (EXISTS ( SELECT
               FROM shardwright.migration g
              WHERE ((g.map = m.map) AND (g.finished_at IS NULL) AND (g.spans && m.span) AND (g.ownership = ANY (ARRAY['ready'::text, 'fencing'::text, 'rollback_fencing'::text]))))) THEN 'moving'::text
            ELSE 'active'::text
        END AS state
   FROM (((shardwright.mapping m
     JOIN shardwright.map p ON ((p.name = m.map)))
     JOIN shardwright.shard s ON ((s.number = m.shard)))
     CROSS JOIN LATERAL ( SELECT max(w.version) AS version
           FROM shardwright.map_version w
          WHERE (w.map = p.name)) v)
  WHERE (m.until IS NULL);


--
-- Name: VIEW shard_map; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON VIEW shardwright.shard_map IS 'the version in force of every map; state tells whether some of the keys are being moved';


--
-- Name: shard_map_history; Type: VIEW; Schema: shardwright; Owner: -
--

CREATE VIEW shardwright.shard_map_history AS
 SELECT m.map,
    v.version,
    p.strategy,
    m.keys,
    shardwright.key_text((m.keys #> '{range,0,from}'::text[])) AS lower,
    shardwright.key_text((m.keys #> '{range,0,to}'::text[])) AS upper,
    ((m.keys #>> '{hash,ranges,0,from}'::text[]))::integer AS bucket_from,
    ((m.keys #>> '{hash,ranges,0,to}'::text[]))::integer AS bucket_to,
    shardwright.key_text((m.keys #> '{list,0}'::text[])) AS key,
    s.name AS shard,
    v.migration,
    v.created_by,
    v.created_at
   FROM (((shardwright.mapping m
     JOIN shardwright.map p ON ((p.name = m.map)))
     JOIN shardwright.shard s ON ((s.number = m.shard)))
     JOIN shardwright.map_version v ON (((v.map = m.map) AND (v.version >= m.since) AND ((m.until IS NULL) OR (v.version < m.until)))));


--
-- Name: VIEW shard_map_history; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON VIEW shardwright.shard_map_history IS 'every version of every map: lower <= key < upper (null is unbounded), bucket_from <= bucket < bucket_to, or one key';


--
-- Name: shard_status; Type: VIEW; Schema: shardwright; Owner: -
--

CREATE VIEW shardwright.shard_status AS
 WITH held AS (
         SELECT mapping.shard,
            count(*) AS mappings
           FROM shardwright.mapping
          WHERE (mapping.until IS NULL)
          GROUP BY mapping.shard
        ), moving AS (
         SELECT migration.source,
            migration.target
           FROM shardwright.migration
          WHERE ((migration.finished_at IS NULL) AND (migration.started_at IS NOT NULL))
        ), going AS (
         SELECT moving.source AS shard,
            count(*) AS migrations
           FROM moving
          GROUP BY moving.source
        ), coming AS (
         SELECT moving.target AS shard,
            count(*) AS migrations
           FROM moving
          GROUP BY moving.target
        )
 SELECT s.name AS shard,
    s.number,
    s.labels,
    s.capacity,
    s.space,
    COALESCE(h.mappings, (0)::bigint) AS mappings,
    COALESCE(g.migrations, (0)::bigint) AS moving_from,
    COALESCE(c.migrations, (0)::bigint) AS moving_to,
    s.created_at
   FROM (((shardwright.shard s
     LEFT JOIN held h ON ((h.shard = s.number)))
     LEFT JOIN going g ON ((g.shard = s.name)))
     LEFT JOIN coming c ON ((c.shard = s.name)))
  WHERE (s.removed_at IS NULL);


--
-- Name: VIEW shard_status; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON VIEW shardwright.shard_status IS 'each registered shard: what maps give it, and what is being moved';


--
-- Name: step_status; Type: VIEW; Schema: shardwright; Owner: -
--

CREATE VIEW shardwright.step_status AS
 SELECT s.migration,
    s.id AS step,
    s.kind,
    s.ordinal,
    s.state,
    s.attempt,
        CASE
            WHEN (s.state = 'running'::text) THEN m.agent
            ELSE NULL::text
        END AS agent,
    s.epoch,
    (s.failure ->> 'code'::text) AS error_code,
    s.next_at AS next_try_at,
    f.rows_done,
    f.rows_expected,
    f.bytes_done,
    s.started_at,
    s.dispatched_at,
    s.finished_at
   FROM ((shardwright.step s
     JOIN shardwright.migration m ON ((m.id = s.migration)))
     LEFT JOIN LATERAL ( SELECT sum(((t.value ->> 'rows_done'::text))::numeric) AS rows_done,
            sum(((t.value ->> 'rows_total'::text))::numeric) AS rows_expected,
            sum(((t.value ->> 'bytes_done'::text))::numeric) AS bytes_done
           FROM jsonb_array_elements((s.progress -> 'tables'::text)) t(value)) f ON (true));


--
-- Name: VIEW step_status; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON VIEW shardwright.step_status IS 'each step of each migration: attempts, code of the last failure, next try, agent';


--
-- Name: store_identity; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.store_identity (
    only_row boolean DEFAULT true NOT NULL,
    incarnation uuid DEFAULT gen_random_uuid() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT store_identity_only_row_check CHECK (only_row)
);


--
-- Name: COLUMN store_identity.incarnation; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.store_identity.incarnation IS 'random id of this store, part of every map version and ETag: a store restored into another place is told apart';


--
-- Name: token; Type: TABLE; Schema: shardwright; Owner: -
--

CREATE TABLE shardwright.token (
    id text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    labels jsonb NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    ends_at timestamp with time zone,
    revoked_at timestamp with time zone,
    revoked_by text,
    CONSTRAINT token_check CHECK (((revoked_at IS NULL) = (revoked_by IS NULL))),
    CONSTRAINT token_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT token_labels_check CHECK ((jsonb_typeof(labels) = 'object'::text)),
    CONSTRAINT token_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'application'::text, 'operator'::text, 'approver'::text, 'admin'::text, 'agent'::text])))
);


--
-- Name: TABLE token; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON TABLE shardwright.token IS 'who may ask for what; a revoked token stays here, because the journals name it';


--
-- Name: COLUMN token.labels; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.token.labels IS 'an agent takes only migrations between shards that carry all of these; empty: all';


--
-- Name: COLUMN token.digest; Type: COMMENT; Schema: shardwright; Owner: -
--

COMMENT ON COLUMN shardwright.token.digest IS 'SHA-256 of the token, which is random and nowhere kept';


--
-- Data for Name: _sqlx_migrations; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright._sqlx_migrations VALUES (1, 'create identity', '2026-11-24 08:49:56.386553+00', true, '\x7553195e81562544e13230608ecf192bbdf5849eee3be988691a2ad212ba6f2f34f8b3fab5ea57ddfe59d0d0f79ce92a', 13551829);
INSERT INTO shardwright._sqlx_migrations VALUES (2, 'create map', '2026-11-24 08:49:56.400468+00', true, '\x9bb5a144a47102a220fae5f044b54f41d9f53717982d800de2454450b0c754a8f21482913d312a86c358e6b851814321', 40729846);
INSERT INTO shardwright._sqlx_migrations VALUES (3, 'create migration', '2026-11-24 08:49:56.441611+00', true, '\xb55eace281cb5bb79ac37ea7b481a9ed57947ee7f3f8aae4509a2f3df85e95bef5ce132904509c6bc5205aac5f2a89f4', 36642338);
INSERT INTO shardwright._sqlx_migrations VALUES (4, 'create views', '2026-11-24 08:49:56.478551+00', true, '\x77323958ad38da7a3ca5628f127bb6e2d847478193dbbc8695e0b8269fc798d13d7da0ee5f278484a0ffcd604bcae864', 2419687);
INSERT INTO shardwright._sqlx_migrations VALUES (5, 'create leader', '2026-11-24 08:49:56.481141+00', true, '\x959672c0554a68cebad49960b95176d7a6a61d08195baac57b8433ca0da3a079429dad49447cdfba267c15f01d280a77', 2236766);
INSERT INTO shardwright._sqlx_migrations VALUES (6, 'create server seen', '2026-11-24 08:49:56.483557+00', true, '\xbbd4aba92938ad51fd7f6186bca10ccc1c8f142e70ce7625939e0be688b250db9946efcb1e2adacd465dc6cc1d045c79', 1218697);
INSERT INTO shardwright._sqlx_migrations VALUES (7, 'let migrations go again', '2026-11-24 08:49:56.484948+00', true, '\xd8115b83e69659318a25fbbc4931f539cf0dfbd22bf31e25ed6840c52481278e086be31ff3d93ea8f61d818a932b142d', 744864);
INSERT INTO shardwright._sqlx_migrations VALUES (8, 'keep that a server went back', '2026-11-24 08:49:56.485826+00', true, '\xe452f11a7c307a691986b4de196d9f5a7878aa27a670ad6d0b2307e5a65598af4f2b74e3e10c7ab512842c969a076a7d', 553801);
INSERT INTO shardwright._sqlx_migrations VALUES (9, 'keep limits', '2026-11-24 08:49:56.486514+00', true, '\xfc4d139b03614c4f3796905959e56753a1f3ff0931d43349133ae0db8333bd727f5c9621e4836e6ec786de8404b222aa', 459861);
INSERT INTO shardwright._sqlx_migrations VALUES (10, 'hold a migration', '2026-11-24 08:49:56.487103+00', true, '\x47b1e40896415705799919945890c676c4f21f5f6bd642d8193d942bbb3d4647f17adadd93d3ff75cd65696b15122f37', 480542);
INSERT INTO shardwright._sqlx_migrations VALUES (11, 'create token', '2026-11-24 08:49:56.487712+00', true, '\xa258d0bb5b53df5da4b85efe6da3d4309591c4210b50ed945da39761132deb6a236fc21dd2d25078aad8095cabbabd29', 2020084);
INSERT INTO shardwright._sqlx_migrations VALUES (12, 'say since when', '2026-11-24 08:49:56.489882+00', true, '\x6e0d0236485eb0e394e7aed07c0e250e300a659cfb6ad3c35f8e4f654bbe7bbd45d2de69744d45c28ae6e6bfa7d306e8', 525159);
INSERT INTO shardwright._sqlx_migrations VALUES (13, 'keep readings', '2026-11-24 08:49:56.490549+00', true, '\x0ae512d882edd4bcc7a89edda3fad9cda95bee1a6d0fb412fd847337f4e0a696cdaf166b4ed182862d95c01925fbe4e2', 939202);
INSERT INTO shardwright._sqlx_migrations VALUES (14, 'keep answers', '2026-11-24 08:49:56.491644+00', true, '\x9123781d743732c566e6f12bcd730e9a29a57f8840fe9633578b920e0c7a35467967570a8727324d91bdcc3d0ac05080', 1176905);
INSERT INTO shardwright._sqlx_migrations VALUES (15, 'show status', '2026-11-24 08:49:56.492967+00', true, '\xd2e99796e7e59eac39a8a4251bb2cdf6eaffb9c5b820b531fe943dff0c4f79ce2fc556fa05038c35a5feea66a02d03c2', 5452132);
INSERT INTO shardwright._sqlx_migrations VALUES (16, 'keep hooks', '2026-11-24 08:49:56.498631+00', true, '\x157d979e9a955770ac707b10b0df6210a902f4f0cc2206f23939cac331210ecc4ef918dedc07d72d9802d3f53a137c09', 4811522);
INSERT INTO shardwright._sqlx_migrations VALUES (17, 'count approvals', '2026-11-24 08:49:56.503689+00', true, '\x0cc254bbeb6f3efae1cf308c82d64ac0ed69c4fb7079374e49be943da8122c38a34a46d3ed1986e12cd8b11de609be91', 714929);
INSERT INTO shardwright._sqlx_migrations VALUES (18, 'route by sql', '2026-11-24 08:49:56.50453+00', true, '\xf19986ffd603eb0593fe71d4005e6d9100f3158758ba4a4f406bd77a234f67122368f3798dbebd189e3230d8b2756a87', 925032);


--
-- Data for Name: agent; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.agent VALUES ('a1', '99b316e1-2d32-41cd-b9e1-bb51604ed18a', 3, '2026-11-24 08:50:40.846674+00');


--
-- Data for Name: audit; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (1, '2026-11-24 08:49:57.027717+00', 'ada', 'token.created', 'token reader', '{"role": "viewer", "labels": {}, "ends_at": null}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (2, '2026-11-24 08:49:57.029344+00', 'ada', 'order', 'POST /api/v1/tokens', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (3, '2026-11-24 08:49:57.133439+00', 'ada', 'token.created', 'token a1', '{"role": "agent", "labels": {}, "ends_at": null}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (4, '2026-11-24 08:49:57.135131+00', 'ada', 'order', 'POST /api/v1/tokens', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (5, '2026-11-24 08:49:57.248254+00', 'ada', 'token.created', 'token gone', '{"role": "operator", "labels": {}, "ends_at": null}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (6, '2026-11-24 08:49:57.249316+00', 'ada', 'order', 'POST /api/v1/tokens', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (7, '2026-11-24 08:49:57.399041+00', 'ada', 'token.revoked', 'token gone', '{"role": "operator", "reason": null}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (8, '2026-11-24 08:49:57.401345+00', 'ada', 'order', 'DELETE /api/v1/tokens/gone', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (9, '2026-11-24 08:49:57.52337+00', 'ada', 'shard.added', 'shard shard-a', '{}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (10, '2026-11-24 08:49:57.530012+00', 'ada', 'order', 'POST /api/v1/shards', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (11, '2026-11-24 08:49:57.664891+00', 'ada', 'shard.added', 'shard shard-b', '{}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (12, '2026-11-24 08:49:57.670565+00', 'ada', 'order', 'POST /api/v1/shards', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (13, '2026-11-24 08:49:57.837646+00', 'ada', 'map.created', 'map tenants', '{"mappings": 1, "strategy": "range"}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (14, '2026-11-24 08:49:57.841282+00', 'ada', 'order', 'POST /api/v1/maps', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (15, '2026-11-24 08:49:58.010271+00', 'ada', 'map.created', 'map items', '{"mappings": 1, "strategy": "range"}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (16, '2026-11-24 08:49:58.01551+00', 'ada', 'order', 'POST /api/v1/maps', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (17, '2026-11-24 08:49:58.42973+00', 'ada', 'order', 'POST /api/v1/doctor', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (18, '2026-11-24 08:49:58.910217+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (19, '2026-11-24 08:49:59.472509+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (20, '2026-11-24 08:50:03.252154+00', 'ada', 'order', 'POST /api/v1/migrations/maxrxwyr4l/approve', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (21, '2026-11-24 08:50:04.033201+00', 'ada', 'order', 'POST /api/v1/migrations/maxrxwyr4l/finish', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (22, '2026-11-24 08:50:05.858842+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (23, '2026-11-24 08:50:06.248547+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (24, '2026-11-24 08:50:08.965892+00', 'ada', 'order', 'POST /api/v1/migrations/mhtu54kzcl/approve', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (25, '2026-11-24 08:50:10.042222+00', 'ada', 'order', 'POST /api/v1/migrations/mhtu54kzcl/rollback', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (26, '2026-11-24 08:50:11.738027+00', 'ada', 'order', 'POST /api/v1/migrations/mhtu54kzcl/finish', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (27, '2026-11-24 08:50:12.876187+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (28, '2026-11-24 08:50:13.308496+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (29, '2026-11-24 08:50:17.398661+00', 'ada', 'order', 'POST /api/v1/migrations/m0lc1tvr91/abort', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (30, '2026-11-24 08:50:19.098859+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (31, '2026-11-24 08:50:19.95435+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (32, '2026-11-24 08:50:22.712013+00', 'ada', 'order', 'POST /api/v1/migrations/met7kcx1f2/finish', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (33, '2026-11-24 08:50:24.007091+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (34, '2026-11-24 08:50:24.532785+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (35, '2026-11-24 08:50:27.529195+00', 'ada', 'order', 'POST /api/v1/migrations/m10mavaoyj/approve', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (36, '2026-11-24 08:50:28.720861+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (37, '2026-11-24 08:50:29.200284+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (38, '2026-11-24 08:50:29.659225+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (39, '2026-11-24 08:50:30.143834+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (40, '2026-11-24 08:50:30.591618+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (41, '2026-11-24 08:50:31.146453+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (42, '2026-11-24 08:50:31.642485+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (43, '2026-11-24 08:50:32.140926+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (44, '2026-11-24 08:50:32.53427+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (45, '2026-11-24 08:50:35.555059+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (46, '2026-11-24 08:50:38.037241+00', 'ada', 'order', 'POST /api/v1/migrations/mp3yj7lhtu/pause', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (47, '2026-11-24 08:50:39.47924+00', 'ada', 'order', 'POST /api/v1/migrations/mp3yj7lhtu/resume', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (48, '2026-11-24 08:50:39.775952+00', 'ada', 'order', 'POST /api/v1/maps/tenants/check', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (49, '2026-11-24 08:50:39.999963+00', 'ada', 'order', 'POST /api/v1/maps/tenants/load', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 422}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (50, '2026-11-24 08:50:40.272453+00', 'ada', 'order', 'POST /api/v1/fleet/reconcile', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (51, '2026-11-24 08:50:40.554915+00', 'ada', 'order', 'POST /api/v1/fleet/cleanup', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');


--
-- Data for Name: cleanup_record; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-a', 'guard', 'guard_maxrxwyr4l', 'always', '2026-11-24 08:50:00.886606+00', '2026-11-24 08:50:07.930677+00');
INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-a', 'publication', 'shardwright_maxrxwyr4l_fwd', 'always', '2026-11-24 08:50:00.886606+00', '2026-11-24 08:50:07.930677+00');
INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:50:00.886606+00', '2026-11-24 08:50:07.930677+00');
INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-a', 'slot', 'shardwright_maxrxwyr4l_fwd', 'always', '2026-11-24 08:50:00.886606+00', '2026-11-24 08:50:07.930677+00');
INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-b', 'guard', 'guard_maxrxwyr4l', 'always', '2026-11-24 08:50:00.195142+00', '2026-11-24 08:50:08.246967+00');
INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:50:00.195142+00', '2026-11-24 08:50:08.246967+00');
INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:50:00.195142+00', '2026-11-24 08:50:08.246967+00');
INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:50:00.195142+00', '2026-11-24 08:50:08.246967+00');
INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:50:00.195142+00', '2026-11-24 08:50:08.246967+00');
INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-b', 'publication', 'shardwright_maxrxwyr4l_rev', 'always', '2026-11-24 08:50:02.769254+00', '2026-11-24 08:50:08.246967+00');
INSERT INTO shardwright.cleanup_record VALUES ('maxrxwyr4l', 'shard-b', 'slot', 'shardwright_maxrxwyr4l_rev', 'always', '2026-11-24 08:50:02.769254+00', '2026-11-24 08:50:08.246967+00');
INSERT INTO shardwright.cleanup_record VALUES ('met7kcx1f2', 'shard-a', 'guard', 'guard_met7kcx1f2', 'always', '2026-11-24 08:50:20.97747+00', '2026-11-24 08:50:23.356632+00');
INSERT INTO shardwright.cleanup_record VALUES ('met7kcx1f2', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:50:20.97747+00', '2026-11-24 08:50:23.356632+00');
INSERT INTO shardwright.cleanup_record VALUES ('met7kcx1f2', 'shard-b', 'guard', 'guard_met7kcx1f2', 'always', '2026-11-24 08:50:20.774922+00', '2026-11-24 08:50:23.741263+00');
INSERT INTO shardwright.cleanup_record VALUES ('met7kcx1f2', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:50:20.774922+00', '2026-11-24 08:50:23.741263+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-a', 'guard', 'guard_mhtu54kzcl', 'always', '2026-11-24 08:50:06.919866+00', '2026-11-24 08:50:13.101072+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-a', 'publication', 'shardwright_mhtu54kzcl_fwd', 'always', '2026-11-24 08:50:06.919866+00', '2026-11-24 08:50:13.101072+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:50:06.919866+00', '2026-11-24 08:50:13.101072+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-a', 'slot', 'shardwright_mhtu54kzcl_fwd', 'always', '2026-11-24 08:50:06.919866+00', '2026-11-24 08:50:13.101072+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-b', 'guard', 'guard_mhtu54kzcl', 'always', '2026-11-24 08:50:06.677103+00', '2026-11-24 08:50:13.498353+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:50:06.677103+00', '2026-11-24 08:50:13.498353+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:50:06.677103+00', '2026-11-24 08:50:13.498353+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:50:06.677103+00', '2026-11-24 08:50:13.498353+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:50:06.677103+00', '2026-11-24 08:50:13.498353+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-b', 'publication', 'shardwright_mhtu54kzcl_rev', 'always', '2026-11-24 08:50:08.735808+00', '2026-11-24 08:50:13.498353+00');
INSERT INTO shardwright.cleanup_record VALUES ('mhtu54kzcl', 'shard-b', 'slot', 'shardwright_mhtu54kzcl_rev', 'always', '2026-11-24 08:50:08.735808+00', '2026-11-24 08:50:13.498353+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-a', 'guard', 'guard_m0lc1tvr91', 'always', '2026-11-24 08:50:14.211754+00', '2026-11-24 08:50:18.35738+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-a', 'publication', 'shardwright_m0lc1tvr91_fwd', 'always', '2026-11-24 08:50:14.211754+00', '2026-11-24 08:50:18.35738+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:50:14.211754+00', '2026-11-24 08:50:18.35738+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-a', 'slot', 'shardwright_m0lc1tvr91_fwd', 'always', '2026-11-24 08:50:14.211754+00', '2026-11-24 08:50:18.35738+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-b', 'guard', 'guard_m0lc1tvr91', 'always', '2026-11-24 08:50:13.980474+00', '2026-11-24 08:50:18.723252+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:50:13.980474+00', '2026-11-24 08:50:18.723252+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:50:13.980474+00', '2026-11-24 08:50:18.723252+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:50:13.980474+00', '2026-11-24 08:50:18.723252+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:50:13.980474+00', '2026-11-24 08:50:18.723252+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-b', 'publication', 'shardwright_m0lc1tvr91_rev', 'always', '2026-11-24 08:50:16.838356+00', '2026-11-24 08:50:18.723252+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0lc1tvr91', 'shard-b', 'slot', 'shardwright_m0lc1tvr91_rev', 'always', '2026-11-24 08:50:16.838356+00', '2026-11-24 08:50:18.723252+00');
INSERT INTO shardwright.cleanup_record VALUES ('met7kcx1f2', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:50:20.774922+00', '2026-11-24 08:50:23.741263+00');
INSERT INTO shardwright.cleanup_record VALUES ('met7kcx1f2', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:50:20.774922+00', '2026-11-24 08:50:23.741263+00');
INSERT INTO shardwright.cleanup_record VALUES ('met7kcx1f2', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:50:20.774922+00', '2026-11-24 08:50:23.741263+00');
INSERT INTO shardwright.cleanup_record VALUES ('m10mavaoyj', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:50:25.223841+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m10mavaoyj', 'shard-b', 'guard', 'guard_m10mavaoyj', 'always', '2026-11-24 08:50:25.223841+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m10mavaoyj', 'shard-b', 'table', 'public.items', 'on_failure', '2026-11-24 08:50:25.223841+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m10mavaoyj', 'shard-a', 'publication', 'shardwright_m10mavaoyj_fwd', 'always', '2026-11-24 08:50:25.457035+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m10mavaoyj', 'shard-a', 'slot', 'shardwright_m10mavaoyj_fwd', 'always', '2026-11-24 08:50:25.457035+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m10mavaoyj', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:50:25.457035+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m10mavaoyj', 'shard-a', 'guard', 'guard_m10mavaoyj', 'always', '2026-11-24 08:50:25.457035+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m10mavaoyj', 'shard-b', 'publication', 'shardwright_m10mavaoyj_rev', 'always', '2026-11-24 08:50:27.210331+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m10mavaoyj', 'shard-b', 'slot', 'shardwright_m10mavaoyj_rev', 'always', '2026-11-24 08:50:27.210331+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:50:32.99587+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-b', 'guard', 'guard_m7gcg6j7iq', 'always', '2026-11-24 08:50:32.99587+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:50:32.99587+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:50:32.99587+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:50:32.99587+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-a', 'publication', 'shardwright_m7gcg6j7iq_fwd', 'always', '2026-11-24 08:50:33.127195+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-a', 'slot', 'shardwright_m7gcg6j7iq_fwd', 'always', '2026-11-24 08:50:33.127195+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:50:33.127195+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-a', 'guard', 'guard_m7gcg6j7iq', 'always', '2026-11-24 08:50:33.127195+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-b', 'publication', 'shardwright_m7gcg6j7iq_rev', 'always', '2026-11-24 08:50:34.657186+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('m7gcg6j7iq', 'shard-b', 'slot', 'shardwright_m7gcg6j7iq_rev', 'always', '2026-11-24 08:50:34.657186+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mp3yj7lhtu', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:50:36.309361+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mp3yj7lhtu', 'shard-b', 'guard', 'guard_mp3yj7lhtu', 'always', '2026-11-24 08:50:36.309361+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mp3yj7lhtu', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:50:36.309361+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mp3yj7lhtu', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:50:36.309361+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mp3yj7lhtu', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:50:36.309361+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mp3yj7lhtu', 'shard-a', 'publication', 'shardwright_mp3yj7lhtu_fwd', 'always', '2026-11-24 08:50:36.620694+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mp3yj7lhtu', 'shard-a', 'slot', 'shardwright_mp3yj7lhtu_fwd', 'always', '2026-11-24 08:50:36.620694+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mp3yj7lhtu', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:50:36.620694+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mp3yj7lhtu', 'shard-a', 'guard', 'guard_mp3yj7lhtu', 'always', '2026-11-24 08:50:36.620694+00', NULL);


--
-- Data for Name: event; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 1, '2026-11-24 08:49:59.444771+00', 'ada', 'migration.submitted', NULL, '{"operation": "maxrxwyr4l", "plan_hash": "fd9248d64cd12c9ba003cd848ed0115c66fe856fc94d0dec7fb20653400122a1", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 2, '2026-11-24 08:49:59.500511+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 3, '2026-11-24 08:49:59.509457+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 4, '2026-11-24 08:50:00.139403+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 5, '2026-11-24 08:50:00.150494+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 6, '2026-11-24 08:50:00.80099+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 7, '2026-11-24 08:50:00.812381+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 8, '2026-11-24 08:50:01.197587+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 9, '2026-11-24 08:50:01.206421+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 10, '2026-11-24 08:50:01.808326+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 11, '2026-11-24 08:50:01.823421+00', 'a1', 'step.dispatched', 'catch_up', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 12, '2026-11-24 08:50:02.015762+00', 'a1', 'step.completed', 'catch_up', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 13, '2026-11-24 08:50:02.028423+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 14, '2026-11-24 08:50:02.31846+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 15, '2026-11-24 08:50:02.338532+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 16, '2026-11-24 08:50:02.599086+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 17, '2026-11-24 08:50:02.607259+00', 'a1', 'step.dispatched', 'open_reverse', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 18, '2026-11-24 08:50:02.836801+00', 'a1', 'step.completed', 'open_reverse', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 19, '2026-11-24 08:50:02.860619+00', 'controller', 'migration.held', NULL, '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 20, '2026-11-24 08:50:03.244203+00', 'ada', 'migration.approved', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 21, '2026-11-24 08:50:03.251531+00', 'a1', 'step.dispatched', 'cutover', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 22, '2026-11-24 08:50:03.58715+00', 'controller', 'ownership.fence', NULL, '{"attempt": 1, "map_version": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 23, '2026-11-24 08:50:03.7588+00', 'controller', 'ownership.flip', NULL, '{"attempt": 1, "map_version": 2}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 24, '2026-11-24 08:50:03.7588+00', 'controller', 'migration.flipped', NULL, '{"attempt": 1, "map_version": 2}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 25, '2026-11-24 08:50:03.791505+00', 'a1', 'step.completed', 'cutover', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 26, '2026-11-24 08:50:03.803332+00', 'a1', 'step.dispatched', 'hold', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 27, '2026-11-24 08:50:04.026985+00', 'ada', 'hold.ended', NULL, '{"end": "finish", "reason": null}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 28, '2026-11-24 08:50:04.834509+00', 'a1', 'step.completed', 'hold', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 29, '2026-11-24 08:50:04.845902+00', 'controller', 'ownership.complete', NULL, '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 30, '2026-11-24 08:50:04.855749+00', 'a1', 'step.dispatched', 'drop_old', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 31, '2026-11-24 08:50:05.204082+00', 'a1', 'step.completed', 'drop_old', '{}');
INSERT INTO shardwright.event VALUES ('maxrxwyr4l', 32, '2026-11-24 08:50:05.226019+00', 'controller', 'migration.completed', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 1, '2026-11-24 08:50:06.23546+00', 'ada', 'migration.submitted', NULL, '{"operation": "mhtu54kzcl", "plan_hash": "93a0fabaf5c214866d13ca0b7b81a4502c886b5e245df314f8e4e2fd7afd55ef", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 2, '2026-11-24 08:50:06.251914+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 3, '2026-11-24 08:50:06.257815+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 4, '2026-11-24 08:50:06.636405+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 5, '2026-11-24 08:50:06.658674+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 6, '2026-11-24 08:50:06.844518+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 7, '2026-11-24 08:50:06.867711+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 8, '2026-11-24 08:50:07.148032+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 9, '2026-11-24 08:50:07.166535+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 10, '2026-11-24 08:50:07.567081+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 11, '2026-11-24 08:50:07.586959+00', 'a1', 'step.dispatched', 'catch_up', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 12, '2026-11-24 08:50:07.742265+00', 'a1', 'step.completed', 'catch_up', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 13, '2026-11-24 08:50:07.767172+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 14, '2026-11-24 08:50:08.127754+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 15, '2026-11-24 08:50:08.153037+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 16, '2026-11-24 08:50:08.538484+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 17, '2026-11-24 08:50:08.563065+00', 'a1', 'step.dispatched', 'open_reverse', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 18, '2026-11-24 08:50:08.781406+00', 'a1', 'step.completed', 'open_reverse', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 19, '2026-11-24 08:50:08.801856+00', 'controller', 'migration.held', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 20, '2026-11-24 08:50:08.952149+00', 'ada', 'migration.approved', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 21, '2026-11-24 08:50:08.96099+00', 'a1', 'step.dispatched', 'cutover', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 22, '2026-11-24 08:50:09.491048+00', 'controller', 'ownership.fence', NULL, '{"attempt": 1, "map_version": 2}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 23, '2026-11-24 08:50:09.655274+00', 'controller', 'ownership.flip', NULL, '{"attempt": 1, "map_version": 3}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 24, '2026-11-24 08:50:09.655274+00', 'controller', 'migration.flipped', NULL, '{"attempt": 1, "map_version": 3}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 25, '2026-11-24 08:50:09.674101+00', 'a1', 'step.completed', 'cutover', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 26, '2026-11-24 08:50:09.680824+00', 'a1', 'step.dispatched', 'hold', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 27, '2026-11-24 08:50:10.035702+00', 'ada', 'hold.ended', NULL, '{"end": "rollback", "reason": null}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 28, '2026-11-24 08:50:10.827242+00', 'a1', 'step.completed', 'hold', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 29, '2026-11-24 08:50:10.834345+00', 'controller', 'step.dropped', 'drop_old', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 30, '2026-11-24 08:50:10.840905+00', 'a1', 'step.dispatched', 'rollback', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 34, '2026-11-24 08:50:11.485127+00', 'a1', 'step.completed', 'rollback', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 31, '2026-11-24 08:50:11.342551+00', 'controller', 'ownership.fence_back', NULL, '{"attempt": 2, "map_version": 3}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 35, '2026-11-24 08:50:11.495816+00', 'a1', 'step.dispatched', 'hold_back', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 11, '2026-11-24 08:50:15.451178+00', 'a1', 'step.dispatched', 'catch_up', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 5, '2026-11-24 08:50:20.760761+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 13, '2026-11-24 08:50:21.697334+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 26, '2026-11-24 08:50:23.292453+00', 'controller', 'migration.completed', NULL, '{}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 3, '2026-11-24 08:50:24.541759+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 14, '2026-11-24 08:50:26.655828+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 17, '2026-11-24 08:50:27.056911+00', 'a1', 'step.dispatched', 'open_reverse', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 20, '2026-11-24 08:50:27.525054+00', 'ada', 'migration.approved', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 5, '2026-11-24 08:50:32.976596+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 7, '2026-11-24 08:50:33.085038+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 19, '2026-11-24 08:50:34.779325+00', 'controller', 'migration.held', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 5, '2026-11-24 08:50:36.272794+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 8, '2026-11-24 08:50:37.024609+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 11, '2026-11-24 08:50:38.934473+00', 'a1', 'step.interrupted', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 13, '2026-11-24 08:50:39.471482+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 32, '2026-11-24 08:50:11.450522+00', 'controller', 'ownership.flip_back', NULL, '{"attempt": 2, "map_version": 4}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 33, '2026-11-24 08:50:11.450522+00', 'controller', 'migration.rolled_back', NULL, '{"attempt": 2, "map_version": 4}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 17, '2026-11-24 08:50:22.336089+00', 'controller', 'ownership.flip', NULL, '{"attempt": 1, "map_version": 5}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 18, '2026-11-24 08:50:22.336089+00', 'controller', 'migration.flipped', NULL, '{"attempt": 1, "map_version": 5}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 36, '2026-11-24 08:50:11.73389+00', 'ada', 'hold.ended', NULL, '{"end": "finish", "reason": null}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 4, '2026-11-24 08:50:13.948653+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 9, '2026-11-24 08:50:14.632766+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 12, '2026-11-24 08:50:15.753994+00', 'a1', 'step.completed', 'catch_up', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 15, '2026-11-24 08:50:16.196384+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 16, '2026-11-24 08:50:16.626436+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 37, '2026-11-24 08:50:11.842547+00', 'a1', 'step.completed', 'hold_back', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 40, '2026-11-24 08:50:12.158612+00', 'controller', 'migration.completed', NULL, '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 2, '2026-11-24 08:50:13.322482+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 6, '2026-11-24 08:50:14.154915+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 19, '2026-11-24 08:50:16.947796+00', 'controller', 'migration.held', NULL, '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 20, '2026-11-24 08:50:17.386697+00', 'ada', 'ownership.abort', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 21, '2026-11-24 08:50:17.386697+00', 'ada', 'migration.aborted', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 2, '2026-11-24 08:50:19.935934+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 8, '2026-11-24 08:50:21.014551+00', 'a1', 'step.completed', 'set_read_only', '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 12, '2026-11-24 08:50:21.686217+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 14, '2026-11-24 08:50:21.990542+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 20, '2026-11-24 08:50:22.413903+00', 'a1', 'step.dispatched', 'hold', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 8, '2026-11-24 08:50:25.778506+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 38, '2026-11-24 08:50:11.851624+00', 'a1', 'step.dispatched', 'drop_new', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mhtu54kzcl', 39, '2026-11-24 08:50:12.125691+00', 'a1', 'step.completed', 'drop_new', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 1, '2026-11-24 08:50:13.268862+00', 'ada', 'migration.submitted', NULL, '{"operation": "m0lc1tvr91", "plan_hash": "d37d95cfac3ac6e185f5e8e8b74b1a47cebe6c6b870e3f8c15a3cc134e9b373e", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 3, '2026-11-24 08:50:13.359162+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 7, '2026-11-24 08:50:14.169379+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 10, '2026-11-24 08:50:15.413077+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 14, '2026-11-24 08:50:16.157027+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 17, '2026-11-24 08:50:16.656713+00', 'a1', 'step.dispatched', 'open_reverse', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 18, '2026-11-24 08:50:16.928737+00', 'a1', 'step.completed', 'open_reverse', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 22, '2026-11-24 08:50:17.394393+00', 'a1', 'step.dispatched', 'unwind', '{"agent": "a1", "epoch": 2}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 23, '2026-11-24 08:50:18.195965+00', 'a1', 'step.completed', 'unwind', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 24, '2026-11-24 08:50:18.224445+00', 'controller', 'step.dropped', 'cutover', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 25, '2026-11-24 08:50:18.224445+00', 'controller', 'step.dropped', 'hold', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 26, '2026-11-24 08:50:18.224445+00', 'controller', 'step.dropped', 'drop_old', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 27, '2026-11-24 08:50:18.224445+00', 'controller', 'migration.unwound', NULL, '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 1, '2026-11-24 08:50:19.887481+00', 'ada', 'migration.submitted', NULL, '{"operation": "met7kcx1f2", "plan_hash": "bcabbdfe70a28077ce58243489f8873488bbcbd0e604a6fc569d64f828c65abc", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 6, '2026-11-24 08:50:20.932388+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 11, '2026-11-24 08:50:21.394776+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 16, '2026-11-24 08:50:22.27447+00', 'controller', 'ownership.fence', NULL, '{"attempt": 1, "map_version": 4}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 19, '2026-11-24 08:50:22.406973+00', 'a1', 'step.completed', 'cutover', '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 21, '2026-11-24 08:50:22.705462+00', 'ada', 'hold.ended', NULL, '{"end": "finish", "reason": null}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 24, '2026-11-24 08:50:22.88558+00', 'a1', 'step.dispatched', 'drop_old', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 7, '2026-11-24 08:50:25.428606+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 11, '2026-11-24 08:50:26.212588+00', 'a1', 'step.dispatched', 'catch_up', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 12, '2026-11-24 08:50:26.380974+00', 'a1', 'step.completed', 'catch_up', '{}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 13, '2026-11-24 08:50:26.388813+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 16, '2026-11-24 08:50:27.050359+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 18, '2026-11-24 08:50:27.281967+00', 'a1', 'step.completed', 'open_reverse', '{}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 2, '2026-11-24 08:50:32.542533+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 4, '2026-11-24 08:50:32.96865+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 8, '2026-11-24 08:50:33.375721+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 9, '2026-11-24 08:50:33.388749+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 10, '2026-11-24 08:50:33.786436+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 13, '2026-11-24 08:50:33.954282+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 15, '2026-11-24 08:50:34.186588+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 2, '2026-11-24 08:50:35.555452+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 4, '2026-11-24 08:50:36.250362+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 10, '2026-11-24 08:50:38.029249+00', 'ada', 'migration.paused', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 5, '2026-11-24 08:50:13.961481+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 8, '2026-11-24 08:50:14.592715+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('m0lc1tvr91', 13, '2026-11-24 08:50:15.772223+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 3, '2026-11-24 08:50:19.96939+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 4, '2026-11-24 08:50:20.737314+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 7, '2026-11-24 08:50:20.939614+00', 'a1', 'step.dispatched', 'set_read_only', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 9, '2026-11-24 08:50:21.028732+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 10, '2026-11-24 08:50:21.371848+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 15, '2026-11-24 08:50:22.001128+00', 'a1', 'step.dispatched', 'cutover', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 22, '2026-11-24 08:50:22.852893+00', 'a1', 'step.completed', 'hold', '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 23, '2026-11-24 08:50:22.879818+00', 'controller', 'ownership.complete', NULL, '{}');
INSERT INTO shardwright.event VALUES ('met7kcx1f2', 25, '2026-11-24 08:50:23.255775+00', 'a1', 'step.completed', 'drop_old', '{}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 1, '2026-11-24 08:50:24.504227+00', 'ada', 'migration.submitted', NULL, '{"operation": "m10mavaoyj", "plan_hash": "29c9367991d2a76a41fc31f505188eae235cb355de6cba9e332b774f4214bc55", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 2, '2026-11-24 08:50:24.536483+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 4, '2026-11-24 08:50:25.201449+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 5, '2026-11-24 08:50:25.208452+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 6, '2026-11-24 08:50:25.406891+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 9, '2026-11-24 08:50:25.789882+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 10, '2026-11-24 08:50:26.206392+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 15, '2026-11-24 08:50:26.680854+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 19, '2026-11-24 08:50:27.290871+00', 'controller', 'migration.held', NULL, '{}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 21, '2026-11-24 08:50:27.53779+00', 'a1', 'step.dispatched', 'cutover', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 22, '2026-11-24 08:50:27.842927+00', 'a1', 'step.gave_up', 'cutover', '{"attempt": 1, "failure": {"code": "schema.drift", "hint": "make both sides equal, then `resume`; or abort the migration", "retry": "none", "message": "the moving tables differ:\npublic.items, column later: on shard shard-a place 4 integer; on shard shard-b missing"}}');
INSERT INTO shardwright.event VALUES ('m10mavaoyj', 23, '2026-11-24 08:50:27.842927+00', 'a1', 'migration.failed', NULL, '{"failure": {"code": "schema.drift", "hint": "make both sides equal, then `resume`; or abort the migration", "retry": "none", "message": "the moving tables differ:\npublic.items, column later: on shard shard-a place 4 integer; on shard shard-b missing"}}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 1, '2026-11-24 08:50:32.519947+00', 'ada', 'migration.submitted', NULL, '{"operation": "m7gcg6j7iq", "plan_hash": "0c2d56514b6dd6b1c77a69dc4c7202b14e5b416bdbcfdcac671edb99be6d4845", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 3, '2026-11-24 08:50:32.547254+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 6, '2026-11-24 08:50:33.072508+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 11, '2026-11-24 08:50:33.801069+00', 'a1', 'step.dispatched', 'catch_up', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 12, '2026-11-24 08:50:33.939485+00', 'a1', 'step.completed', 'catch_up', '{}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 14, '2026-11-24 08:50:34.178+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 16, '2026-11-24 08:50:34.437729+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 17, '2026-11-24 08:50:34.477347+00', 'a1', 'step.dispatched', 'open_reverse', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m7gcg6j7iq', 18, '2026-11-24 08:50:34.744544+00', 'a1', 'step.completed', 'open_reverse', '{}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 1, '2026-11-24 08:50:35.539645+00', 'ada', 'migration.submitted', NULL, '{"operation": "mp3yj7lhtu", "plan_hash": "926086ca721fad6cdc034db5997be1fa56701c763fdd750d3f2d2fdd29d4f561", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 3, '2026-11-24 08:50:35.564091+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 6, '2026-11-24 08:50:36.512303+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 7, '2026-11-24 08:50:36.535936+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 9, '2026-11-24 08:50:37.055261+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mp3yj7lhtu', 12, '2026-11-24 08:50:39.45691+00', 'ada', 'migration.resumed', NULL, '{"reason": null}');


--
-- Data for Name: hook; Type: TABLE DATA; Schema: shardwright; Owner: -
--



--
-- Data for Name: hook_cursor; Type: TABLE DATA; Schema: shardwright; Owner: -
--



--
-- Data for Name: keyed_order; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.keyed_order VALUES ('\x2f8a7e0136f9e416de99bfb73a462294c7d323ce6abc46a8a097bfdf79071a36', '\x72647c2587839d357adc526f58e5fc6ad60191d57372ace890ab83e5d5724809', '2026-11-24 08:49:57.395137+00', 200, 'application/json', '\x7b226964223a2230316132306362662d356266652d373333362d613834612d363338633164336431633965222c226e616d65223a22676f6e65222c22726f6c65223a226f70657261746f72222c226c6162656c73223a7b7d2c22637265617465645f6174223a22323032362d31312d32345430383a34393a35372e3234363837365a222c22637265617465645f6279223a22616461222c227265766f6b65645f6174223a22323032362d31312d32345430383a34393a35372e3339373531355a222c227265766f6b65645f6279223a22616461227d');
INSERT INTO shardwright.keyed_order VALUES ('\xe33191d93d2847532440d72e550d8938e4b3d886fb0ac2f41ad813af6e35f8f3', '\x41e8a46343ad2b934f33d66a9b79aa7f9a3e24dd16fb99f54ec575bd5df600de', '2026-11-24 08:49:57.519198+00', 201, 'application/json', '\x7b226e616d65223a2273686172642d61222c226e756d626572223a312c2264736e223a22686f73743d3132372e302e302e3120706f72743d313932303620757365723d6d6f7665722064626e616d653d73686f702070617373776f72643d247b656e763a53484152445f50415353574f52447d222c226c6162656c73223a7b7d2c226361706163697479223a3130302c22637265617465645f6174223a22323032362d31312d32345430383a34393a35372e3532313038385a227d');
INSERT INTO shardwright.keyed_order VALUES ('\x9e33704e981ed43e521011a4d87ae1a7745a95d59e9dd0fddc8ae20bdb6487a0', '\x1b5eb0f83abc88652019e0226b496453435d764b6b0aad813eaf331bf3c2d5ef', '2026-11-24 08:49:57.658873+00', 201, 'application/json', '\x7b226e616d65223a2273686172642d62222c226e756d626572223a322c2264736e223a22686f73743d3132372e302e302e3120706f72743d333132383820757365723d6d6f7665722064626e616d653d73686f702070617373776f72643d247b656e763a53484152445f50415353574f52447d222c226c6162656c73223a7b7d2c226361706163697479223a3130302c22637265617465645f6174223a22323032362d31312d32345430383a34393a35372e3636313436325a227d');
INSERT INTO shardwright.keyed_order VALUES ('\x8a1ef098a6cdce8178047ad16fe4e2bfa63664375ed53bfa76e002fcd4867d35', '\xae729f1cad0bcf6719e8ba541f0c7a401728329e854a8874a3ece47416744c86', '2026-11-24 08:49:57.827631+00', 201, 'application/json', '\x7b226e616d65223a2274656e616e7473222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c226275636b657473223a302c2276657273696f6e223a312c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c2273657474696e6773223a7b2273657175656e636573223a22737472696465227d2c226d617070696e6773223a5b7b226b657973223a7b2272616e6765223a5b7b7d5d7d2c227368617264223a2273686172642d61222c227374617465223a22616374697665227d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x7e918105660a5890809099bcb6bdf214ef7e517a81501945b86aa8bd38dc2394', '\x79fa4af5dcbae61dea34d46e4f519690daec81fff3888d0167ed98f7e46ea624', '2026-11-24 08:49:57.992301+00', 201, 'application/json', '\x7b226e616d65223a226974656d73222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c226275636b657473223a302c2276657273696f6e223a312c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c2273657474696e6773223a7b2273657175656e636573223a22737472696465227d2c226d617070696e6773223a5b7b226b657973223a7b2272616e6765223a5b7b7d5d7d2c227368617264223a2273686172642d61222c227374617465223a22616374697665227d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x0ac31c290c6d637573626c881422fbe88e6d31d8b5ff5820e421f01efc731e6d', '\x9a10053dd7defc0b20487fc7b0a58344ea5f974a2e8fc14417b58e674c64e90a', '2026-11-24 08:49:59.107372+00', 201, 'application/json', '\x7b226964223a226d61787278777972346c222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a312c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2266643932343864363463643132633962613030336364383438656430313135633636666538353666633934643064656337666232303635333430303132326131222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3733372c226279746573223a34373234372c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a34393a35392e3434343737315a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3733372c226279746573223a34373234372c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d61787278777972346c222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d61787278777972346c222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a312c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a34393a35392e3434343737315a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x6152f18cec8ec3aef032e6b69ebf4b8d9c787f675d853753efcde0e6dfb2bc40', '\xe02445cbf23886ebb5b863ac49060ff3a4864f0fea491f661fafe69dab28e44e', '2026-11-24 08:50:03.240963+00', 200, 'application/json', '\x7b226964223a226d61787278777972346c222c227374617465223a2272756e6e696e67222c226f7065726174696f6e5f6964223a226d61787278777972346c222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a312c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a34393a35392e3434343737315a222c22737461727465645f6174223a22323032362d31312d32345430383a34393a35392e3530303531315a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32302c22706c616e5f68617368223a2266643932343864363463643132633962613030336364383438656430313135633636666538353666633934643064656337666232303635333430303132326131222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2239396233313665312d326433322d343163642d623965312d626235313630346564313861222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a34393a35392e3530393435375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30302e3133393430335a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363537353630363435323132303437222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363537353630363439383536393134222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30302e3135303439345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30302e3830303939305a222c226f7574707574223a7b2263726561746564223a747275652c226f626a65637473223a31327d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207461626c65732c20726567697374657220616e6420677561726473206f6e2074686520746172676574222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30302e3831323338315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30312e3139373538375a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31464245393230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30312e3230363432315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30312e3830383332365a222c226f7574707574223a7b226279746573223a32333731352c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31353836312c22726f7773223a3639332c227365636f6e6473223a302e3137333433303834382c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e6720434f4e53545241494e54207075626c69632074656e616e74732074656e616e74735f706b6579222c227461626c6573223a5b7b227461626c65223a22434f4e53545241494e54207075626c69632074656e616e74732074656e616e74735f706b6579222c22726f77735f646f6e65223a302c22726f77735f746f74616c223a302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a226275696c64696e67227d5d2c22726f77735f7065725f7365636f6e64223a393630382e3239323738303233373239382c2262797465735f7065725f7365636f6e64223a3332383830332e323635393231313037352c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30312e3832333432315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30322e3031353736325a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30322e3032383432335a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30322e3331383436305a222c226f7574707574223a7b226f626a65637473223a327d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a22464b20434f4e53545241494e54207075626c6963206f7264657273206f72646572735f74656e616e745f69645f666b6579222c22726f77735f646f6e65223a302c22726f77735f746f74616c223a302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a226275696c64696e67227d5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30322e3333383533325a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30322e3539393038365a222c226f7574707574223a7b226174223a22302f31464245444130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3639332c227461626c6573223a5b7b22646967657374223a223031306437393562623139316262373632656436626563383964623162336339222c22726f7773223a3139382c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a226263336439303136323131383530316164333331366634653030373133636231222c22726f7773223a3339362c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226337626566373031343532393661383039656237316131346361653330616433222c22726f7773223a39392c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3139382c22726f77735f746f74616c223a3139382c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3339362c22726f77735f746f74616c223a3339362c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a39392c22726f77735f746f74616c223a39392c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a38323937382e30303236383731343632332c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30322e3630373235395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30322e3833363830315a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31454532433630227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a313033322c227065616b5f6279746573223a313033322c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333238373830302c226170706c6965645f6174223a33333238373830302c226c61675f6d73223a302c227472616e73616374696f6e73223a362c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a312c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226e6577222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3733372c226279746573223a34373234372c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2266643932343864363463643132633962613030336364383438656430313135633636666538353666633934643064656337666232303635333430303132326131227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x1488cb5703767e41513d45509a81917901eecafc7cdff27fcf0bbe0038662694', '\xd1241b39be1f1a36a1f62cf5aa40c6f0825318afaca398efd63a2b1ad57e170b', '2026-11-24 08:50:04.022975+00', 200, 'application/json', '\x7b226964223a226d61787278777972346c222c227374617465223a22666c6970706564222c226f7065726174696f6e5f6964223a226d61787278777972346c222c226d6f7665223a226d31222c226f776e657273686970223a22666c6970706564222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a312c226166746572223a322c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a34393a35392e3434343737315a222c22737461727465645f6174223a22323032362d31312d32345430383a34393a35392e3530303531315a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32362c22706c616e5f68617368223a2266643932343864363463643132633962613030336364383438656430313135633636666538353666633934643064656337666232303635333430303132326131222c22617474656d7074223a312c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2239396233313665312d326433322d343163642d623965312d626235313630346564313861222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a2266696e697368222c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a34393a35392e3530393435375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30302e3133393430335a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363537353630363435323132303437222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363537353630363439383536393134222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30302e3135303439345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30302e3830303939305a222c226f7574707574223a7b2263726561746564223a747275652c226f626a65637473223a31327d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207461626c65732c20726567697374657220616e6420677561726473206f6e2074686520746172676574222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30302e3831323338315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30312e3139373538375a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31464245393230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30312e3230363432315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30312e3830383332365a222c226f7574707574223a7b226279746573223a32333731352c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31353836312c22726f7773223a3639332c227365636f6e6473223a302e3137333433303834382c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e6720434f4e53545241494e54207075626c69632074656e616e74732074656e616e74735f706b6579222c227461626c6573223a5b7b227461626c65223a22434f4e53545241494e54207075626c69632074656e616e74732074656e616e74735f706b6579222c22726f77735f646f6e65223a302c22726f77735f746f74616c223a302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a226275696c64696e67227d5d2c22726f77735f7065725f7365636f6e64223a393630382e3239323738303233373239382c2262797465735f7065725f7365636f6e64223a3332383830332e323635393231313037352c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30312e3832333432315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30322e3031353736325a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30322e3032383432335a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30322e3331383436305a222c226f7574707574223a7b226f626a65637473223a327d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a22464b20434f4e53545241494e54207075626c6963206f7264657273206f72646572735f74656e616e745f69645f666b6579222c22726f77735f646f6e65223a302c22726f77735f746f74616c223a302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a226275696c64696e67227d5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30322e3333383533325a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30322e3539393038365a222c226f7574707574223a7b226174223a22302f31464245444130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3639332c227461626c6573223a5b7b22646967657374223a223031306437393562623139316262373632656436626563383964623162336339222c22726f7773223a3139382c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a226263336439303136323131383530316164333331366634653030373133636231222c22726f7773223a3339362c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226337626566373031343532393661383039656237316131346361653330616433222c22726f7773223a39392c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3139382c22726f77735f746f74616c223a3139382c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3339362c22726f77735f746f74616c223a3339362c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a39392c22726f77735f746f74616c223a39392c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a38323937382e30303236383731343632332c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30322e3630373235395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30322e3833363830315a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31454532433630227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30332e3235313533315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30332e3739313530355a222c226f7574707574223a7b22617474656d7074223a312c2264697274795f6b657973223a302c226d61705f76657273696f6e223a322c2272656675736564223a302c2273746f72616765223a7b225c227075626c69635c222e5c226163636f756e74735c22223a22313639323020312074656e616e745f69642c32206964222c225c227075626c69635c222e5c226f72646572735c22223a22313639323820312074656e616e745f69642c322069642c3320616d6f756e74222c225c227075626c69635c222e5c2274656e616e74735c22223a22313639333820312069642c32206e616d65227d2c2277696e646f77223a7b22636865636b223a302e3333343235362c22647261696e223a322e3331303736362c22666c6970223a322e333633353533393939393939393939372c226f70656e223a312e3833313638362c227365616c223a392e3035363335362c22746f74616c223a32352e3531383437382c22776169745f6f7574223a302e3030333633357d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2273686172642073686172642d62206f776e7320746865206b6579733b206d61702076657273696f6e2032222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2272756e6e696e67222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30332e3830333333325a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a2272657665727365222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a302c227065616b5f6279746573223a302c2277616c5f737461747573223a22222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a302c226170706c6965645f6174223a302c226c61675f6d73223a302c227472616e73616374696f6e73223a302c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a312c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226e6577222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3733372c226279746573223a34373234372c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2266643932343864363463643132633962613030336364383438656430313135633636666538353666633934643064656337666232303635333430303132326131227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xa6ef37fba73bc25cdc4f57c2feca4bab24146bf69e24c3d804708a4c25b235a2', '\xb45f764bfe3fa5aeb89c517e26d5544626b1e5c5406e883cde5e6faadd910b52', '2026-11-24 08:50:05.959411+00', 201, 'application/json', '\x7b226964223a226d68747535346b7a636c222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a322c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2239336130666162616635633231343836366431336361306237623831613435303263383836623565323435646633313466386534653266643761666435356566222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a30362e3233353436305a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d68747535346b7a636c222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d68747535346b7a636c222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a322c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a30362e3233353436305a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x6423e45437fde5b67ef241b23bf7ecf2105e4cd588baaa2ac54e3f21136f5b78', '\x35e0a268264895b510f64b26f48b661d456d6dda00f230dc7bae3b8752e00f54', '2026-11-24 08:50:08.944988+00', 200, 'application/json', '\x7b226964223a226d68747535346b7a636c222c227374617465223a2272756e6e696e67222c226f7065726174696f6e5f6964223a226d68747535346b7a636c222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a322c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a30362e3233353436305a222c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3235313931345a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32302c22706c616e5f68617368223a2239336130666162616635633231343836366431336361306237623831613435303263383836623565323435646633313466386534653266643761666435356566222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2239396233313665312d326433322d343163642d623965312d626235313630346564313861222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3235373831355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30362e3633363430355a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363537353630363435323132303437222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363537353630363439383536393134222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3635383637345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30362e3834343531385a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3836373731315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30372e3134383033325a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31464543374230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30372e3136363533355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30372e3536373038315a222c226f7574707574223a7b226279746573223a32343036332c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31363032312c22726f7773223a3730302c227365636f6e6473223a302e31313437323137382c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a323832312c2262797465735f746f74616c223a393031312c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a353232312c2262797465735f746f74616c223a31313436382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a31363032312c2262797465735f746f74616c223a32343537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a31323937342e3838343233383534363231342c2262797465735f7065725f7365636f6e64223a3434363032302e393133343734343832322c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30372e3538363935395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30372e3734323236355a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30372e3736373137325a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30382e3132373735345a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30382e3135333033375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30382e3533383438345a222c226f7574707574223a7b226174223a22302f31464543433130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3730302c227461626c6573223a5b7b22646967657374223a223533636563346331666236396234336665386439613961383136646634376264222c22726f7773223a3230302c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a223466353436383964323530326332356332323764326465313536656366383338222c22726f7773223a3430302c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226363366435326436363661373635633539623335306239613034646364623333222c22726f7773223a3130302c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a32383030362e3932333331313434323538382c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30382e3536333036355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30382e3738313430365a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31463846323230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a313132302c227065616b5f6279746573223a313132302c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333437363130342c226170706c6965645f6174223a33333437363130342c226c61675f6d73223a302c227472616e73616374696f6e73223a362c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a322c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2239336130666162616635633231343836366431336361306237623831613435303263383836623565323435646633313466386534653266643761666435356566227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x8b2229392873f77f31bbbdc1599b5befc97c7b02b7254eb48c516583dba0fae9', '\xbaf16bd64eb8be97c73ed4d1ebd7cded097d90bdadc0752aa4a2439bb43b5571', '2026-11-24 08:50:10.02962+00', 200, 'application/json', '\x7b226964223a226d68747535346b7a636c222c227374617465223a22666c6970706564222c226f7065726174696f6e5f6964223a226d68747535346b7a636c222c226d6f7665223a226d31222c226f776e657273686970223a22666c6970706564222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a322c226166746572223a332c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a30362e3233353436305a222c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3235313931345a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32362c22706c616e5f68617368223a2239336130666162616635633231343836366431336361306237623831613435303263383836623565323435646633313466386534653266643761666435356566222c22617474656d7074223a312c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2239396233313665312d326433322d343163642d623965312d626235313630346564313861222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a22726f6c6c6261636b222c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3235373831355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30362e3633363430355a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363537353630363435323132303437222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363537353630363439383536393134222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3635383637345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30362e3834343531385a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3836373731315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30372e3134383033325a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31464543374230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30372e3136363533355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30372e3536373038315a222c226f7574707574223a7b226279746573223a32343036332c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31363032312c22726f7773223a3730302c227365636f6e6473223a302e31313437323137382c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a323832312c2262797465735f746f74616c223a393031312c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a353232312c2262797465735f746f74616c223a31313436382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a31363032312c2262797465735f746f74616c223a32343537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a31323937342e3838343233383534363231342c2262797465735f7065725f7365636f6e64223a3434363032302e393133343734343832322c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30372e3538363935395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30372e3734323236355a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30372e3736373137325a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30382e3132373735345a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30382e3135333033375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30382e3533383438345a222c226f7574707574223a7b226174223a22302f31464543433130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3730302c227461626c6573223a5b7b22646967657374223a223533636563346331666236396234336665386439613961383136646634376264222c22726f7773223a3230302c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a223466353436383964323530326332356332323764326465313536656366383338222c22726f7773223a3430302c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226363366435326436363661373635633539623335306239613034646364623333222c22726f7773223a3130302c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a32383030362e3932333331313434323538382c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30382e3536333036355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30382e3738313430365a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31463846323230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30382e3936303939305a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30392e3637343130315a222c226f7574707574223a7b22617474656d7074223a312c2264697274795f6b657973223a302c226d61705f76657273696f6e223a332c2272656675736564223a302c2273746f72616765223a7b225c227075626c69635c222e5c226163636f756e74735c22223a22313639323020312074656e616e745f69642c32206964222c225c227075626c69635c222e5c226f72646572735c22223a22313639323820312074656e616e745f69642c322069642c3320616d6f756e74222c225c227075626c69635c222e5c2274656e616e74735c22223a22313639333820312069642c32206e616d65227d2c2277696e646f77223a7b22636865636b223a302e3235323233342c22647261696e223a332e3031313435342c22666c6970223a332e313032313238393939393939393939372c226f70656e223a312e333335303739303030303030303030312c227365616c223a322e393632333939393939393939393939372c22746f74616c223a31332e3135333437383939393939393939392c22776169745f6f7574223a302e3030343632387d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2273686172642073686172642d62206f776e7320746865206b6579733b206d61702076657273696f6e2033222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2272756e6e696e67222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30392e3638303832345a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a2272657665727365222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a32373533362c227065616b5f6279746573223a32373533362c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333131393630382c226170706c6965645f6174223a302c226c61675f6d73223a302c227472616e73616374696f6e73223a302c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a322c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2239336130666162616635633231343836366431336361306237623831613435303263383836623565323435646633313466386534653266643761666435356566227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xb080af94cc62d83ee53de2a19432a2ca050e85b7d144cbe79dce91b5512982ea', '\x9789952c9cc26d36c92b885d6cc0f3c846a9ebe15b482711e9b4f9a9a27ba414', '2026-11-24 08:50:11.731089+00', 200, 'application/json', '\x7b226964223a226d68747535346b7a636c222c227374617465223a22726f6c6c65645f6261636b222c226f7065726174696f6e5f6964223a226d68747535346b7a636c222c226d6f7665223a226d31222c226f776e657273686970223a22726f6c6c65645f6261636b222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a322c226166746572223a332c226261636b223a347d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a30362e3233353436305a222c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3235313931345a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a33342c22706c616e5f68617368223a2239336130666162616635633231343836366431336361306237623831613435303263383836623565323435646633313466386534653266643761666435356566222c22617474656d7074223a322c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2239396233313665312d326433322d343163642d623965312d626235313630346564313861222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a2266696e697368222c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3235373831355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30362e3633363430355a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363537353630363435323132303437222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363537353630363439383536393134222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3635383637345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30362e3834343531385a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30362e3836373731315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30372e3134383033325a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31464543374230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30372e3136363533355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30372e3536373038315a222c226f7574707574223a7b226279746573223a32343036332c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31363032312c22726f7773223a3730302c227365636f6e6473223a302e31313437323137382c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a323832312c2262797465735f746f74616c223a393031312c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a353232312c2262797465735f746f74616c223a31313436382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a31363032312c2262797465735f746f74616c223a32343537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a31323937342e3838343233383534363231342c2262797465735f7065725f7365636f6e64223a3434363032302e393133343734343832322c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30372e3538363935395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30372e3734323236355a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30372e3736373137325a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30382e3132373735345a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30382e3135333033375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30382e3533383438345a222c226f7574707574223a7b226174223a22302f31464543433130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3730302c227461626c6573223a5b7b22646967657374223a223533636563346331666236396234336665386439613961383136646634376264222c22726f7773223a3230302c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a223466353436383964323530326332356332323764326465313536656366383338222c22726f7773223a3430302c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226363366435326436363661373635633539623335306239613034646364623333222c22726f7773223a3130302c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a32383030362e3932333331313434323538382c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30382e3536333036355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30382e3738313430365a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31463846323230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30382e3936303939305a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a30392e3637343130315a222c226f7574707574223a7b22617474656d7074223a312c2264697274795f6b657973223a302c226d61705f76657273696f6e223a332c2272656675736564223a302c2273746f72616765223a7b225c227075626c69635c222e5c226163636f756e74735c22223a22313639323020312074656e616e745f69642c32206964222c225c227075626c69635c222e5c226f72646572735c22223a22313639323820312074656e616e745f69642c322069642c3320616d6f756e74222c225c227075626c69635c222e5c2274656e616e74735c22223a22313639333820312069642c32206e616d65227d2c2277696e646f77223a7b22636865636b223a302e3235323233342c22647261696e223a332e3031313435342c22666c6970223a332e313032313238393939393939393939372c226f70656e223a312e333335303739303030303030303030312c227365616c223a322e393632333939393939393939393939372c22746f74616c223a31332e3135333437383939393939393939392c22776169745f6f7574223a302e3030343632387d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2273686172642073686172642d62206f776e7320746865206b6579733b206d61702076657273696f6e2033222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a30392e3638303832345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a31302e3832373234325a222c226f7574707574223a7b7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22746865206f6c6420636f7079206973206b65707420696e20737465703b206066696e6973686020656e647320746869732c2060726f6c6c6261636b6020676976657320746865206b657973206261636b222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a22736b6970706564222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22726f6c6c6261636b222c226b696e64223a22726f6c6c6261636b222c2273756d6d617279223a226769766520746865206b657973206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31302e3834303930355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a31312e3438353132375a222c226f7574707574223a7b22617474656d7074223a322c2264697274795f6b657973223a302c226d61705f76657273696f6e223a342c2272656675736564223a302c2273746f72616765223a7b225c227075626c69635c222e5c226163636f756e74735c22223a22313633393420312074656e616e745f69642c32206964222c225c227075626c69635c222e5c226f72646572735c22223a22313634303420312074656e616e745f69642c322069642c3320616d6f756e74222c225c227075626c69635c222e5c2274656e616e74735c22223a22313633383720312069642c32206e616d65227d2c2277696e646f77223a7b22636865636b223a312e38303132312c22647261696e223a312e3533383734312c22666c6970223a332e343037323331303030303030303030332c226f70656e223a312e3137313437362c227365616c223a342e3734313031382c22746f74616c223a31352e3339393034373030303030303030312c22776169745f6f7574223a302e3030343835377d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2273686172642073686172642d61206f776e7320746865206b6579733b206d61702076657273696f6e2034222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22686f6c645f6261636b222c226b696e64223a22686f6c645f6261636b222c2273756d6d617279223a226b6565702074686520746172676574277320636f707920696e20737465703b20616e6f74686572206375746f76657220697320706f737369626c65222c227374617465223a2272756e6e696e67222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31312e3439353831365a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6e6577222c226b696e64223a2264726f705f6e6577222c2273756d6d617279223a2264726f702074686520746172676574277320636f7079222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a2272657665727365222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a33353735322c227065616b5f6279746573223a33353735322c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a343938342c227772697474656e5f6174223a33333132383038382c226170706c6965645f6174223a33333132383038382c226c61675f6d73223a302c227472616e73616374696f6e73223a312c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a322c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2239336130666162616635633231343836366431336361306237623831613435303263383836623565323435646633313466386534653266643761666435356566227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x1373711a46881976aeccdc5826803a8ee3e6b29e468600b94efb3c72bfbd7a6e', '\x65b0513779b214bc0412d31a38ac507b0bddc3bc8a7618b6b497b344072ccdd6', '2026-11-24 08:50:13.022666+00', 201, 'application/json', '\x7b226964223a226d306c63317476723931222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a342c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2264333764393563666163336163366531383566356538653862373462316134376365626536633662383730653366386331356133636331333465396233373365222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a31332e3236383836325a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d306c63317476723931222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d306c63317476723931222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3230302c22746f223a3330307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a342c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a31332e3236383836325a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xd497fe0947763f4994ac54138ab247f274ffb2912a0116213d1e67139d9a4cb4', '\x8030373c9ccfa0cc43de2bbc04ca569d7d1e991238af609a5036f18636000629', '2026-11-24 08:50:17.371614+00', 200, 'application/json', '\x7b226964223a226d306c63317476723931222c227374617465223a22756e77696e64696e67222c226f7065726174696f6e5f6964223a226d306c63317476723931222c226d6f7665223a226d31222c226f776e657273686970223a2261626f72746564222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3230302c22746f223a3330307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a342c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a31332e3236383836325a222c22737461727465645f6174223a22323032362d31312d32345430383a35303a31332e3332323438325a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32302c22706c616e5f68617368223a2264333764393563666163336163366531383566356538653862373462316134376365626536633662383730653366386331356133636331333465396233373365222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2239396233313665312d326433322d343163642d623965312d626235313630346564313861222c226c697665223a747275657d2c22617070726f766564223a66616c73652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31332e3335393136325a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a31332e3934383635335a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363537353630363435323132303437222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363537353630363439383536393134222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31332e3936313438315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a31342e3135343931355a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31342e3136393337395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a31342e3539323731355a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32303038413430227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31342e3633323736365a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a31352e3431333037375a222c226f7574707574223a7b226279746573223a32343036332c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31363032312c22726f7773223a3730302c227365636f6e6473223a302e3230343535343431362c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a323832312c2262797465735f746f74616c223a393031312c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a353232312c2262797465735f746f74616c223a31313436382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a31363032312c2262797465735f746f74616c223a32343537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a343833372e3834343834303139373936392c2262797465735f7065725f7365636f6e64223a3136363330342e33373139383532363234332c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31352e3435313137385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a31352e3735333939345a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31352e3737323232335a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a31362e3135373032375a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31362e3139363338345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a31362e3632363433365a222c226f7574707574223a7b226174223a22302f32303038444130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3730302c227461626c6573223a5b7b22646967657374223a226634653163633730613939663232663630666663643331313466656233376433222c22726f7773223a3230302c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a226435656263343166313762353837303138656261323139366438623837613566222c22726f7773223a3430302c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a223565336632663734613633386332653036646335643964656263636634363037222c22726f7773223a3130302c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a3131343733352e35393031393333313936332c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31362e3635363731335a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a31362e3932383733375a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32303532314638227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22756e77696e64222c226b696e64223a22756e77696e64222c2273756d6d617279223a2274616b65206261636b2065766572797468696e672074686174207761732063726561746564222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a3632342c227065616b5f6279746573223a3632342c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333539303930342c226170706c6965645f6174223a33333539303930342c226c61675f6d73223a302c227472616e73616374696f6e73223a362c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a342c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3230302c22746f223a3330307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2264333764393563666163336163366531383566356538653862373462316134376365626536633662383730653366386331356133636331333465396233373365227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x1ced0810d9024861dd43c355f6dd2db444de4a19daa6399ba94fe6ab641b2022', '\xf4ce21f43dd4e1d06a69d7c442a55f03af81d619b1ac05a877291c802d5e7aa0', '2026-11-24 08:50:27.522231+00', 200, 'application/json', '\x7b226964223a226d31306d6176616f796a222c227374617465223a2272756e6e696e67222c226f7065726174696f6e5f6964223a226d31306d6176616f796a222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a226974656d73222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a312c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a32342e3530343232375a222c22737461727465645f6174223a22323032362d31312d32345430383a35303a32342e3533363438335a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32302c22706c616e5f68617368223a2232396339333637393931643261373661343166633331663530353138386561653233356362333535646536636261396533333262373734663432313462633535222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2239396233313665312d326433322d343163642d623965312d626235313630346564313861222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32342e3534313735395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32352e3230313434395a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363537353630363435323132303437222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363537353630363439383536393134222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32352e3230383435325a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32352e3430363839315a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32352e3432383630365a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32352e3737383530365a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32303430303738227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32352e3738393838325a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32362e3230363339325a222c226f7574707574223a7b226279746573223a373533382c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a373533382c22726f7773223a3139382c227365636f6e6473223a302e3131333435343037312c22736e617073686f7473223a312c22756e697473223a317d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e6974656d73222c22726f77735f646f6e65223a3139382c22726f77735f746f74616c223a3231332c2262797465735f646f6e65223a373533382c2262797465735f746f74616c223a31363537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a333538332e3734313437373134333330342c2262797465735f7065725f7365636f6e64223a3133363433352e35373139393334363537372c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32362e3231323538385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32362e3338303937345a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32362e3338383831335a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32362e3635353832385a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6974656d73222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32362e3638303835345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32372e3035303335395a222c226f7574707574223a7b226174223a22302f32303430343230222c226368756e6b73223a312c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3139382c227461626c6573223a5b7b22646967657374223a223466336663336165393435366535303632353936306630643933653536636138222c22726f7773223a3139382c227461626c65223a227075626c69632e6974656d73227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6974656d73222c227461626c6573223a5b7b227461626c65223a227075626c69632e6974656d73222c22726f77735f646f6e65223a3139382c22726f77735f746f74616c223a3139382c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a35313431332e39303834343839363730322c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32372e3035363931315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32372e3238313936375a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32313845364238227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a3437322c227065616b5f6279746573223a3437322c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333831373435362c226170706c6965645f6174223a33333831373435362c226c61675f6d73223a302c227472616e73616374696f6e73223a342c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a226974656d73222c226d61705f76657273696f6e223a312c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c2274656e616e7473222c226163636f756e7473222c226f7264657273225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a312c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223330656637353063343131613032343932393763316130373963653661613738222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226974656d73227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e6f7465222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3135353634382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3231332c226279746573223a31363537362c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2232396339333637393931643261373661343166633331663530353138386561653233356362333535646536636261396533333262373734663432313462633535227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x685e8f4c067a1eb82b66fe617d377f4a1c57497434e00e829c36d38d0f219f55', '\x1323763dd07ebb2dd555c087bc678a444c6a05a25a20ea9af24da707036f1c03', '2026-11-24 08:50:38.019479+00', 200, 'application/json', '\x7b226964223a226d7033796a376c687475222c227374617465223a22706175736564222c226f7065726174696f6e5f6964223a226d7033796a376c687475222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3530307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a352c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a33352e3533393634355a222c22737461727465645f6174223a22323032362d31312d32345430383a35303a33352e3535353435325a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a31302c22706c616e5f68617368223a2239323630383663613732316661643663646330333464623539393762653166613536373031633736336664643735306433663264326664643239643466353631222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2239396233313665312d326433322d343163642d623965312d626235313630346564313861222c226c697665223a747275657d2c22617070726f766564223a66616c73652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b22726174655f62797465735f73223a313032347d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a33352e3536343039315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a33362e3235303336325a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363537353630363435323132303437222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363537353630363439383536393134222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a33362e3237323739345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a33362e3531323330335a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a33362e3533353933365a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a33372e3032343630395a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32303633444430227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a2272756e6e696e67222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a33372e3035353236315a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f7079696e67222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a302c22726f77735f746f74616c223a3530312c2262797465735f646f6e65223a302c2262797465735f746f74616c223a34353134362c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a313030322c22726f77735f746f74616c223a313030322c2262797465735f646f6e65223a32363037332c2262797465735f746f74616c223a35373435382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a313633382c22726f77735f746f74616c223a323030342c2262797465735f646f6e65223a36353533392c2262797465735f746f74616c223a3132333132352c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a32313230322e3739303435313036333130352c2262797465735f7065725f7365636f6e64223a3733353736382e393534303931393637312c226574615f7365636f6e6473223a6e756c6c2c22736c6f776564223a7b227368617265223a312e302c22726561736f6e223a2272617465206c696d6974656420746f20312e30204b69422f732062792068616e64227d2c2273746174656d656e7473223a5b7b227368617264223a2273686172642d62222c22726f6c65223a22636f7079222c2274657874223a22636f7079205c227075626c69635c222e5c226f72646572735c2220285c2274656e616e745f69645c222c205c2269645c222c205c22616d6f756e745c22292066726f6d20737464696e2028666f726d61742062696e61727929222c226d73223a3234327d5d7d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a2273706f6f6c696e67222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a3430302c227065616b5f6279746573223a3430302c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333936333831362c226170706c6965645f6174223a302c226c61675f6d73223a302c227472616e73616374696f6e73223a302c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b7b226b696e64223a22706175736564222c2277686174223a22736f6d65626f64792077686f206c65747320697420676f206f6e3a2069742077617320706175736564222c2273696e6365223a22323032362d31312d32345430383a35303a33352e3535353435325a222c2272656d656479223a22736861726477726967687420726573756d65206d7033796a376c687475227d5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a352c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039362c227468726f74746c65223a7b22726174655f62797465735f73223a313032347d7d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3530307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a333530372c226279746573223a3232353732392c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2239323630383663613732316661643663646330333464623539393762653166613536373031633736336664643735306433663264326664643239643466353631227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x8e08698f935952e0278783602670d15e1f899f13fe4ae1058b400a1ccb9ada82', '\xa986efcfa35f8cbc5d3d392d925f19a175bdf5a32c9eba58b3bd0f3975aac049', '2026-11-24 08:50:39.454354+00', 200, 'application/json', '\x7b226964223a226d7033796a376c687475222c227374617465223a2272756e6e696e67222c226f7065726174696f6e5f6964223a226d7033796a376c687475222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3530307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a352c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a33352e3533393634355a222c22737461727465645f6174223a22323032362d31312d32345430383a35303a33352e3535353435325a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a31322c22706c616e5f68617368223a2239323630383663613732316661643663646330333464623539393762653166613536373031633736336664643735306433663264326664643239643466353631222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2239396233313665312d326433322d343163642d623965312d626235313630346564313861222c226c697665223a747275657d2c22617070726f766564223a66616c73652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b22726174655f62797465735f73223a313032347d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a33352e3536343039315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a33362e3235303336325a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363537353630363435323132303437222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363537353630363439383536393134222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a33362e3237323739345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a33362e3531323330335a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a33362e3533353933365a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a33372e3032343630395a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32303633444430227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a33372e3035353236315a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f7079696e67222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a302c22726f77735f746f74616c223a3530312c2262797465735f646f6e65223a302c2262797465735f746f74616c223a34353134362c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a313030322c22726f77735f746f74616c223a313030322c2262797465735f646f6e65223a32363037332c2262797465735f746f74616c223a35373435382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a313633382c22726f77735f746f74616c223a323030342c2262797465735f646f6e65223a36353533392c2262797465735f746f74616c223a3132333132352c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a32313230322e3739303435313036333130352c2262797465735f7065725f7365636f6e64223a3733353736382e393534303931393637312c226574615f7365636f6e6473223a6e756c6c2c22736c6f776564223a7b227368617265223a312e302c22726561736f6e223a2272617465206c696d6974656420746f20312e30204b69422f732062792068616e64227d2c2273746174656d656e7473223a5b7b227368617264223a2273686172642d62222c22726f6c65223a22636f7079222c2274657874223a22636f7079205c227075626c69635c222e5c226f72646572735c2220285c2274656e616e745f69645c222c205c2269645c222c205c22616d6f756e745c22292066726f6d20737464696e2028666f726d61742062696e61727929222c226d73223a313234357d5d7d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a2273706f6f6c696e67222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a3737362c227065616b5f6279746573223a3737362c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333936343139322c226170706c6965645f6174223a302c226c61675f6d73223a302c227472616e73616374696f6e73223a302c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a352c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039362c227468726f74746c65223a7b22726174655f62797465735f73223a313032347d7d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3530307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a333530372c226279746573223a3232353732392c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2239323630383663613732316661643663646330333464623539393762653166613536373031633736336664643735306433663264326664643239643466353631227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x124ae7022a7ad9b0560a671a97d82cab691d207dea66e92948cebcd23ad4d87a', '\x84eb6ca80693b158498aa7a587309ce7f357c2c04950c7178f400a1867a20af5', '2026-11-24 08:50:19.323354+00', 201, 'application/json', '\x7b226964223a226d6574376b6378316632222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a342c227374726174656779223a2272616e6765222c226d6f6465223a226f66666c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2262636162626466653730613238303737636535383234333438396638383733343838626263626430653630346136666335363964363466383238633635616263222c226f7074696f6e73223a7b226d6f6465223a226f66666c696e65222c226375746f766572223a226175746f6d61746963222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a31392e3838373438315a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d6574376b6378316632222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d6574376b6378316632222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f66666c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a342c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a31392e3838373438315a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xaafef706d8db56065e4c507dd4e05d0ab177d178bfddbe150afc585342a87123', '\xef4f8108b8371feb954b13f514a11c18203a258b1ea8167cbd544cc72c1b7890', '2026-11-24 08:50:22.700204+00', 200, 'application/json', '\x7b226964223a226d6574376b6378316632222c227374617465223a22666c6970706564222c226f7065726174696f6e5f6964223a226d6574376b6378316632222c226d6f7665223a226d31222c226f776e657273686970223a22666c6970706564222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f66666c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a342c226166746572223a352c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a31392e3838373438315a222c22737461727465645f6174223a22323032362d31312d32345430383a35303a31392e3933353933345a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32302c22706c616e5f68617368223a2262636162626466653730613238303737636535383234333438396638383733343838626263626430653630346136666335363964363466383238633635616263222c22617474656d7074223a312c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2239396233313665312d326433322d343163642d623965312d626235313630346564313861222c226c697665223a747275657d2c22617070726f766564223a66616c73652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a2266696e697368222c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a31392e3936393339305a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32302e3733373331345a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363537353630363435323132303437222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363537353630363439383536393134222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32302e3736303736315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32302e3933323338385a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a227365745f726561645f6f6e6c79222c226b696e64223a227365745f726561645f6f6e6c79222c2273756d6d617279223a226d616b6520746865206d6f76696e67206b65797320726561642d6f6e6c79206f6e2074686520736f757263652c207761697420666f72207772697465727320746f20656e64222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32302e3933393631345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32312e3031343535315a222c226f7574707574223a7b227761697465645f6d73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e2074686520736f757263652773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32312e3032383733325a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32312e3337313834385a222c226f7574707574223a7b226279746573223a32343036332c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31363032312c22726f7773223a3730302c227365636f6e6473223a302e3039333438383538352c22736e617073686f7473223a302c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a323832312c2262797465735f746f74616c223a393031312c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a353232312c2262797465735f746f74616c223a31313436382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a31363032312c2262797465735f746f74616c223a32343537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a31323239312e3038313436343836363534322c2262797465735f7065725f7365636f6e64223a3432323531342e37303436393836393038352c226574615f7365636f6e6473223a302e307d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32312e3339343737365a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32312e3638363231375a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32312e3639373333345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32312e3939303534325a222c226f7574707574223a7b226174223a22302f30222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3730302c227461626c6573223a5b7b22646967657374223a223533636563346331666236396234336665386439613961383136646634376264222c22726f7773223a3230302c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a223466353436383964323530326332356332323764326465313536656366383338222c22726f7773223a3430302c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226363366435326436363661373635633539623335306239613034646364623333222c22726f7773223a3130302c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a35383037372e37303931333633373836352c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32322e3030313132385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a35303a32322e3430363937335a222c226f7574707574223a7b22617474656d7074223a312c2264697274795f6b657973223a302c226d61705f76657273696f6e223a352c2272656675736564223a302c2273746f72616765223a7b225c227075626c69635c222e5c226163636f756e74735c22223a22313639323020312074656e616e745f69642c32206964222c225c227075626c69635c222e5c226f72646572735c22223a22313639323820312074656e616e745f69642c322069642c3320616d6f756e74222c225c227075626c69635c222e5c2274656e616e74735c22223a22313639333820312069642c32206e616d65227d2c2277696e646f77223a7b22636865636b223a302e302c22647261696e223a302e302c22666c6970223a31302e3537333434342c226f70656e223a312e3837383834352c227365616c223a33382e3236353031332c22746f74616c223a36372e3030353438372c22776169745f6f7574223a302e307d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2273686172642073686172642d62206f776e7320746865206b6579733b206d61702076657273696f6e2035222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2272756e6e696e67222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a35303a32322e3431333930335a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a6e756c6c2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a342c22696e6361726e6174696f6e223a2230396463333232362d303336342d343635372d623562312d653333626634376132306235222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f66666c696e65222c226375746f766572223a226175746f6d61746963222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f66666c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a22697473206d6f76696e6720726f777320646f206e6f74206368616e6765206d65616e7768696c65222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a22697473206d6f76696e6720726f777320646f206e6f74206368616e6765206d65616e7768696c65222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a22697473206d6f76696e6720726f777320646f206e6f74206368616e6765206d65616e7768696c65222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a227365745f726561645f6f6e6c79222c226b696e64223a227365745f726561645f6f6e6c79222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b227365745f726561645f6f6e6c79225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b22636f7079225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b22766572696679225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2262636162626466653730613238303737636535383234333438396638383733343838626263626430653630346136666335363964363466383238633635616263227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x398207a92a94757ff943c714215319dee13a6a5c0eb8c6e6af4d238165c51df4', '\xc41cc72c74cfc76c5641beed351b1e8802bbd056486f9d30adb3a2855dff5aeb', '2026-11-24 08:50:32.271123+00', 201, 'application/json', '\x7b226964223a226d37676367366a376971222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a352c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2230633264353635313462366464366231633737613639646334633732303262313465356234313662646263666463616336373165646239396265366434383435222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a33322e3531393934375a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d37676367366a376971222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d37676367366a376971222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3430302c22746f223a3530307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a352c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a33322e3531393934375a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x59f733de8d59e47443d4605bc77bc0750d3652986b3e6d6fe2e7287641a09232', '\x5af59332a963e9d07e11db70a16b9e535c7aeb123774f33831e114230cc67907', '2026-11-24 08:50:24.099303+00', 201, 'application/json', '\x7b226964223a226d31306d6176616f796a222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a226974656d73222c226d61705f76657273696f6e223a312c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2232396339333637393931643261373661343166633331663530353138386561653233356362333535646536636261396533333262373734663432313462633535222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a312c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3231332c226279746573223a31363537362c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a32342e3530343232375a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3231332c226279746573223a31363537362c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d31306d6176616f796a222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d31306d6176616f796a222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a226974656d73222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a312c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a32342e3530343232375a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xa9860dc2d285ea46fd69be41e172f1250a2f664088f981c8c0dd9ca0c9148b8d', '\x2d532519a837c4830cd91d90f92cc084f046817605c73d2a7b019663c5cbc49b', '2026-11-24 08:50:35.19823+00', 201, 'application/json', '\x7b226964223a226d7033796a376c687475222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a352c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2239323630383663613732316661643663646330333464623539393762653166613536373031633736336664643735306433663264326664643239643466353631222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039362c227468726f74746c65223a7b22726174655f62797465735f73223a313032347d7d2c22657374696d617465223a7b22726f7773223a333530372c226279746573223a3232353732392c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a33352e3533393634355a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a333530372c226279746573223a3232353732392c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d7033796a376c687475222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d7033796a376c687475222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3530307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a352c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a35303a33352e3533393634355a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xd216551e206b308debf13be7184fe95299fa85c36d8c8091f54ade3784836acd', '\x38bdc254796646b8197c4a486092c62c847d0032d422e40169a0c270abfc244f', '2026-11-24 08:50:40.109101+00', 200, 'application/json', '\x7b22736861726473223a5b7b227368617264223a2273686172642d61222c227365656e5f6174223a22323032362d31312d32345430383a35303a34302e3237303134305a222c226661696c757265223a6e756c6c7d2c7b227368617264223a2273686172642d62222c227365656e5f6174223a22323032362d31312d32345430383a35303a34302e3231303336365a222c226661696c757265223a6e756c6c7d5d2c2266696e64696e6773223a5b5d2c22646f6e65223a5b5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xaafa63f655aa4002725190caf15cd94d023844f09ef0ba002274ef664a4b714b', '\x2a3f14e7e0eb3370b56baf90003edb9eb0612777001e3e7036430034aca2de2b', '2026-11-24 08:50:40.363333+00', 200, 'application/json', '\x7b226c6566746f76657273223a5b7b227368617264223a2273686172642d61222c226f626a656374223a22736c6f742073686172647772696768745f6d31306d6176616f796a5f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22736c6f742073686172647772696768745f6d37676367366a3769715f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22736c6f742073686172647772696768745f6d7033796a376c6874755f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227075626c69636174696f6e2073686172647772696768745f6d31306d6176616f796a5f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227075626c69636174696f6e2073686172647772696768745f6d37676367366a3769715f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227075626c69636174696f6e2073686172647772696768745f6d7033796a376c6874755f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f64656c657465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20323030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f696e73657274206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20323030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f757064617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20323030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f64656c657465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f696e73657274206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f7472756e63617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f757064617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f64656c657465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f696e73657274206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f7472756e63617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f757064617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d31306d6176616f796a5f64656c657465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d31306d6176616f796a5f696e73657274206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d31306d6176616f796a5f7472756e63617465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d31306d6176616f796a5f757064617465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f64656c657465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20323030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f696e73657274206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20323030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f757064617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20323030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f64656c657465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f696e73657274206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f7472756e63617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f757064617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f64656c657465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f696e73657274206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f7472756e63617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f757064617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f64656c657465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20323030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f696e73657274206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20323030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f757064617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20323030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f64656c657465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f696e73657274206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f7472756e63617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f757064617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f64656c657465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f696e73657274206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f7472756e63617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f757064617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22736368656d61207368617264777269676874222c2276657264696374223a226b656570222c22776879223a22676f6573207769746820746865206c617374207468696e672074686174206e65656473206974227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f617761795f303536653232623666373133222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20323030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f6d31306d6176616f796a222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f6d37676367366a376971222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f6d7033796a376c687475222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d31306d6176616f796a222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d37676367366a376971222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d7033796a376c687475222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22726f7773206d31306d6176616f796a222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22726f7773206d37676367366a376971222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22726f7773206d7033796a376c687475222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265676973746572206f776e5f6d31306d6176616f796a222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265676973746572206f776e5f6d37676367366a376971222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265676973746572206f776e5f6d7033796a376c687475222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265667573616c7320726566757365645f6d31306d6176616f796a222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265667573616c7320726566757365645f6d37676367366a376971222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265667573616c7320726566757365645f6d7033796a376c687475222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d31306d6176616f796a2f636170747572652f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d31306d6176616f796a2f77617463682f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d37676367366a3769712f636170747572652f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d37676367366a3769712f73776565702f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d37676367366a3769712f77617463682f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f636170747572652f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f636f70792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f636f70792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f686f6c6465722f30303030303030432d30303030303032422d31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f686f6c6465722f30303030303030442d30303030303030392d31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f70726f62652f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f7369676e616c732f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f77616974732f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f77617463682f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657175656e63652073686172647772696768742e64697274795f69645f736571222c2276657264696374223a226b656570222c22776879223a226e6f74206d6164652062792053686172647772696768743a206e6f7420746865206e616d65206f6620616e797468696e672074686174205368617264777269676874206d616b65732074686572653b2074686520736368656d61207374617973207768696c6520697420697320696e206974227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22736c6f742073686172647772696768745f6d31306d6176616f796a5f726576222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22736c6f742073686172647772696768745f6d37676367366a3769715f726576222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227075626c69636174696f6e2073686172647772696768745f6d31306d6176616f796a5f726576222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227075626c69636174696f6e2073686172647772696768745f6d37676367366a3769715f726576222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f64656c657465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f696e73657274206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f7472756e63617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f757064617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f64656c657465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f696e73657274206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f7472756e63617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f757064617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d31306d6176616f796a5f64656c657465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d31306d6176616f796a5f696e73657274206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d31306d6176616f796a5f7472756e63617465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d31306d6176616f796a5f757064617465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f64656c657465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f696e73657274206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f7472756e63617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f757064617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f64656c657465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f696e73657274206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f7472756e63617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f757064617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f64656c657465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f696e73657274206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f7472756e63617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d37676367366a3769715f757064617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f64656c657465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f696e73657274206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f7472756e63617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7033796a376c6874755f757064617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22736368656d61207368617264777269676874222c2276657264696374223a226b656570222c22776879223a22676f6573207769746820746865206c617374207468696e672074686174206e65656473206974227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f6d31306d6176616f796a222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f6d37676367366a376971222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f6d7033796a376c687475222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d31306d6176616f796a222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d37676367366a376971222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d7033796a376c687475222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22726f7773206d31306d6176616f796a222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22726f7773206d37676367366a376971222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22726f7773206d7033796a376c687475222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265676973746572206f776e5f6d31306d6176616f796a222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265676973746572206f776e5f6d37676367366a376971222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265676973746572206f776e5f6d7033796a376c687475222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265667573616c7320726566757365645f6d31306d6176616f796a222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265667573616c7320726566757365645f6d37676367366a376971222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265667573616c7320726566757365645f6d7033796a376c687475222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d37676367366a3769712f6170706c792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d37676367366a3769712f73776565702f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f636f70792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f636f70792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f636f70792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f7369676e616c732f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7033796a376c6874752f77616974732f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657175656e63652073686172647772696768742e64697274795f69645f736571222c2276657264696374223a226b656570222c22776879223a226e6f74206d6164652062792053686172647772696768743a206e6f7420746865206e616d65206f6620616e797468696e672074686174205368617264777269676874206d616b65732074686572653b2074686520736368656d61207374617973207768696c6520697420697320696e206974227d5d2c22646f6e65223a5b5d2c226661696c6564223a5b5d7d');


--
-- Data for Name: leader; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.leader VALUES (true, 1, '1b8e3aac-4bc9-4f3d-be98-85df72bf5f8c', 'http://127.0.0.1:44853', '2026-11-24 08:50:43.10259+00');


--
-- Data for Name: lease; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.lease VALUES ('mp3yj7lhtu', '99b316e1-2d32-41cd-b9e1-bb51604ed18a', '2026-11-24 08:50:44.848126+00');
INSERT INTO shardwright.lease VALUES ('m10mavaoyj', '99b316e1-2d32-41cd-b9e1-bb51604ed18a', '2026-11-24 08:50:44.848126+00');
INSERT INTO shardwright.lease VALUES ('m7gcg6j7iq', '99b316e1-2d32-41cd-b9e1-bb51604ed18a', '2026-11-24 08:50:44.848126+00');


--
-- Data for Name: map; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.map VALUES ('tenants', 'range', '{bigint}', 0);
INSERT INTO shardwright.map VALUES ('items', 'range', '{bigint}', 0);


--
-- Data for Name: map_settings; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.map_settings VALUES ('tenants', 1, '{"sequences": "stride"}', 'ada', '2026-11-24 08:49:57.8325+00');
INSERT INTO shardwright.map_settings VALUES ('items', 1, '{"sequences": "stride"}', 'ada', '2026-11-24 08:49:58.000977+00');


--
-- Data for Name: map_version; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.map_version VALUES ('tenants', 1, NULL, 'ada', '2026-11-24 08:49:57.830532+00', 1, 1, 0);
INSERT INTO shardwright.map_version VALUES ('items', 1, NULL, 'ada', '2026-11-24 08:49:57.999827+00', 1, 1, 0);
INSERT INTO shardwright.map_version VALUES ('tenants', 2, 'maxrxwyr4l', 'maxrxwyr4l', '2026-11-24 08:50:03.757901+00', 2, 2, 1);
INSERT INTO shardwright.map_version VALUES ('tenants', 3, 'mhtu54kzcl', 'mhtu54kzcl', '2026-11-24 08:50:09.654001+00', 2, 2, 2);
INSERT INTO shardwright.map_version VALUES ('tenants', 4, 'mhtu54kzcl', 'mhtu54kzcl', '2026-11-24 08:50:11.449542+00', 2, 2, 2);
INSERT INTO shardwright.map_version VALUES ('tenants', 5, 'met7kcx1f2', 'met7kcx1f2', '2026-11-24 08:50:22.335347+00', 2, 2, 2);


--
-- Data for Name: mapping; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.mapping VALUES ('items', 1, NULL, '(,)', '{"range": [{}]}', 1);
INSERT INTO shardwright.mapping VALUES ('tenants', 1, 2, '(,)', '{"range": [{}]}', 1);
INSERT INTO shardwright.mapping VALUES ('tenants', 2, 3, '(,"\\x8000000000000064")', '{"range": [{"to": 100}]}', 2);
INSERT INTO shardwright.mapping VALUES ('tenants', 2, 3, '["\\x8000000000000064",)', '{"range": [{"from": 100}]}', 1);
INSERT INTO shardwright.mapping VALUES ('tenants', 3, 4, '(,"\\x80000000000000c8")', '{"range": [{"to": 200}]}', 2);
INSERT INTO shardwright.mapping VALUES ('tenants', 3, 4, '["\\x80000000000000c8",)', '{"range": [{"from": 200}]}', 1);
INSERT INTO shardwright.mapping VALUES ('tenants', 4, 5, '(,"\\x8000000000000064")', '{"range": [{"to": 100}]}', 2);
INSERT INTO shardwright.mapping VALUES ('tenants', 4, 5, '["\\x8000000000000064",)', '{"range": [{"from": 100}]}', 1);
INSERT INTO shardwright.mapping VALUES ('tenants', 5, NULL, '(,"\\x80000000000000c8")', '{"range": [{"to": 200}]}', 2);
INSERT INTO shardwright.mapping VALUES ('tenants', 5, NULL, '["\\x80000000000000c8",)', '{"range": [{"from": 200}]}', 1);


--
-- Data for Name: migration; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.migration VALUES ('m10mavaoyj', 'm10mavaoyj', 'm1', 0, 'items', 'shard-a', 'shard-b', '{(,"\\x8000000000000064")}', '{"id": "m1", "key": ["bigint"], "map": "items", "why": "as the request says", "hash": "29c9367991d2a76a41fc31f505188eae235cb355de6cba9e332b774f4214bc55", "mode": "online", "move": {"keys": {"range": [{"to": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 155648, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "items", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "note", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "tenants", "accounts", "orders"], "target": "live", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 1, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 213, "bytes": 16576, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 1, "schema_fingerprint": "30ef750c411a0249297c1a079ce6aa78"}', 'failed', 'ready', 0, 1, true, 'a1', '99b316e1-2d32-41cd-b9e1-bb51604ed18a', true, NULL, NULL, '{"code": "schema.drift", "hint": "make both sides equal, then `resume`; or abort the migration", "retry": "none", "message": "the moving tables differ:\npublic.items, column later: on shard shard-a place 4 integer; on shard shard-b missing"}', 1, NULL, NULL, 'ada', '2026-11-24 08:50:24.504227+00', '2026-11-24 08:50:24.536483+00', NULL, 22, NULL, NULL, '2026-11-24 08:50:27.842927+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('met7kcx1f2', 'met7kcx1f2', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{["\\x8000000000000064","\\x80000000000000c8")}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "bcabbdfe70a28077ce58243489f8873488bbcbd0e604a6fc569d64f828c65abc", "mode": "offline", "move": {"keys": {"range": [{"to": 200, "from": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "its moving rows do not change meanwhile", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "its moving rows do not change meanwhile", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "its moving rows do not change meanwhile", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "set_read_only", "kind": "set_read_only", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["set_read_only"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["copy"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "cutover", "kind": "cutover", "after": ["verify"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "live", "options": {"hold": "until_finish", "mode": "offline", "cutover": "automatic", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 4, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'completed', 'completed', 1, 1, false, NULL, NULL, false, 'finish', NULL, NULL, 4, 5, NULL, 'ada', '2026-11-24 08:50:19.887481+00', '2026-11-24 08:50:19.935934+00', '2026-11-24 08:50:23.292453+00', 25, NULL, NULL, '2026-11-24 08:50:23.292453+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('maxrxwyr4l', 'maxrxwyr4l', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{(,"\\x8000000000000064")}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "fd9248d64cd12c9ba003cd848ed0115c66fe856fc94d0dec7fb20653400122a1", "mode": "online", "move": {"keys": {"range": [{"to": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "new", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 737, "bytes": 47247, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 1, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'completed', 'completed', 1, 1, false, NULL, NULL, true, 'finish', NULL, NULL, 1, 2, NULL, 'ada', '2026-11-24 08:49:59.444771+00', '2026-11-24 08:49:59.500511+00', '2026-11-24 08:50:05.226019+00', 31, NULL, NULL, '2026-11-24 08:50:05.226019+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('mp3yj7lhtu', 'mp3yj7lhtu', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{["\\x80000000000001f4",)}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "926086ca721fad6cdc034db5997be1fa56701c763fdd750d3f2d2fdd29d4f561", "mode": "online", "move": {"keys": {"range": [{"from": 500}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "live", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "throttle": {"rate_bytes_s": 1024}, "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 3507, "bytes": 225729, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 5, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'running', 'ready', 0, 1, false, 'a1', '99b316e1-2d32-41cd-b9e1-bb51604ed18a', false, NULL, NULL, NULL, 5, NULL, NULL, 'ada', '2026-11-24 08:50:35.539645+00', '2026-11-24 08:50:35.555452+00', NULL, 13, NULL, NULL, '2026-11-24 08:50:39.45691+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('mhtu54kzcl', 'mhtu54kzcl', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{["\\x8000000000000064","\\x80000000000000c8")}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "93a0fabaf5c214866d13ca0b7b81a4502c886b5e245df314f8e4e2fd7afd55ef", "mode": "online", "move": {"keys": {"range": [{"to": 200, "from": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "live", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 2, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'rolled_back', 'rolled_back', 2, 1, false, NULL, NULL, true, 'finish', NULL, NULL, 2, 3, 4, 'ada', '2026-11-24 08:50:06.23546+00', '2026-11-24 08:50:06.251914+00', '2026-11-24 08:50:12.158612+00', 38, NULL, NULL, '2026-11-24 08:50:11.450522+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('m0lc1tvr91', 'm0lc1tvr91', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{["\\x80000000000000c8","\\x800000000000012c")}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "d37d95cfac3ac6e185f5e8e8b74b1a47cebe6c6b870e3f8c15a3cc134e9b373e", "mode": "online", "move": {"keys": {"range": [{"to": 300, "from": 200}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "live", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 4, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'unwound', 'aborted', 0, 2, false, NULL, NULL, false, NULL, NULL, NULL, 4, NULL, NULL, 'ada', '2026-11-24 08:50:13.268862+00', '2026-11-24 08:50:13.322482+00', '2026-11-24 08:50:18.224445+00', 23, NULL, NULL, '2026-11-24 08:50:18.224445+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('m7gcg6j7iq', 'm7gcg6j7iq', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{["\\x8000000000000190","\\x80000000000001f4")}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "0c2d56514b6dd6b1c77a69dc4c7202b14e5b416bdbcfdcac671edb99be6d4845", "mode": "online", "move": {"keys": {"range": [{"to": 500, "from": 400}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "live", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 5, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'waiting', 'ready', 0, 1, false, 'a1', '99b316e1-2d32-41cd-b9e1-bb51604ed18a', false, NULL, 'approval of the cutover', NULL, 5, NULL, NULL, 'ada', '2026-11-24 08:50:32.519947+00', '2026-11-24 08:50:32.542533+00', NULL, 19, NULL, NULL, '2026-11-24 08:50:34.779325+00', NULL, '[]');


--
-- Data for Name: operation; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.operation VALUES ('maxrxwyr4l', '{"key": ["bigint"], "map": "tenants", "hash": "fd9248d64cd12c9ba003cd848ed0115c66fe856fc94d0dec7fb20653400122a1", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"to": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "new", "estimate": {"rows": 737, "bytes": 47247, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 737, "bytes": 47247, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 1}', 'fd9248d64cd12c9ba003cd848ed0115c66fe856fc94d0dec7fb20653400122a1', false, NULL, 'ada', '2026-11-24 08:49:59.444771+00');
INSERT INTO shardwright.operation VALUES ('mhtu54kzcl', '{"key": ["bigint"], "map": "tenants", "hash": "93a0fabaf5c214866d13ca0b7b81a4502c886b5e245df314f8e4e2fd7afd55ef", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"to": 200, "from": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 2}', '93a0fabaf5c214866d13ca0b7b81a4502c886b5e245df314f8e4e2fd7afd55ef', false, NULL, 'ada', '2026-11-24 08:50:06.23546+00');
INSERT INTO shardwright.operation VALUES ('m0lc1tvr91', '{"key": ["bigint"], "map": "tenants", "hash": "d37d95cfac3ac6e185f5e8e8b74b1a47cebe6c6b870e3f8c15a3cc134e9b373e", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"to": 300, "from": 200}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 4}', 'd37d95cfac3ac6e185f5e8e8b74b1a47cebe6c6b870e3f8c15a3cc134e9b373e', false, NULL, 'ada', '2026-11-24 08:50:13.268862+00');
INSERT INTO shardwright.operation VALUES ('met7kcx1f2', '{"key": ["bigint"], "map": "tenants", "hash": "bcabbdfe70a28077ce58243489f8873488bbcbd0e604a6fc569d64f828c65abc", "moves": [{"id": "m1", "why": "as the request says", "mode": "offline", "move": {"keys": {"range": [{"to": 200, "from": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "its moving rows do not change meanwhile", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "its moving rows do not change meanwhile", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "its moving rows do not change meanwhile", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "set_read_only", "kind": "set_read_only", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["set_read_only"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["copy"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "cutover", "kind": "cutover", "after": ["verify"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "offline", "cutover": "automatic", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 4}', 'bcabbdfe70a28077ce58243489f8873488bbcbd0e604a6fc569d64f828c65abc', false, NULL, 'ada', '2026-11-24 08:50:19.887481+00');
INSERT INTO shardwright.operation VALUES ('m10mavaoyj', '{"key": ["bigint"], "map": "items", "hash": "29c9367991d2a76a41fc31f505188eae235cb355de6cba9e332b774f4214bc55", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"to": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 155648, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "items", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "note", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 213, "bytes": 16576, "write_stop_budget_ms": 2000}, "schema_fingerprint": "30ef750c411a0249297c1a079ce6aa78"}], "ignore": ["schema_migrations", "tenants", "accounts", "orders"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 1, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 213, "bytes": 16576, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 1}', '29c9367991d2a76a41fc31f505188eae235cb355de6cba9e332b774f4214bc55', false, NULL, 'ada', '2026-11-24 08:50:24.504227+00');
INSERT INTO shardwright.operation VALUES ('m7gcg6j7iq', '{"key": ["bigint"], "map": "tenants", "hash": "0c2d56514b6dd6b1c77a69dc4c7202b14e5b416bdbcfdcac671edb99be6d4845", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"to": 500, "from": 400}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 5}', '0c2d56514b6dd6b1c77a69dc4c7202b14e5b416bdbcfdcac671edb99be6d4845', false, NULL, 'ada', '2026-11-24 08:50:32.519947+00');
INSERT INTO shardwright.operation VALUES ('mp3yj7lhtu', '{"key": ["bigint"], "map": "tenants", "hash": "926086ca721fad6cdc034db5997be1fa56701c763fdd750d3f2d2fdd29d4f561", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"from": 500}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 3507, "bytes": 225729, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "throttle": {"rate_bytes_s": 1024}, "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 3507, "bytes": 225729, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "09dc3226-0364-4657-b5b1-e33bf47a20b5", "map_version": 5}', '926086ca721fad6cdc034db5997be1fa56701c763fdd750d3f2d2fdd29d4f561', false, NULL, 'ada', '2026-11-24 08:50:35.539645+00');


--
-- Data for Name: reading; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.reading VALUES ('maxrxwyr4l', '2026-11-24 08:49:59.791191+00', '{"at": "2026-11-24T08:49:59.791191Z", "rows": 0, "step": "preflight", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('maxrxwyr4l', '2026-11-24 08:50:00.795954+00', '{"at": "2026-11-24T08:50:00.795954Z", "rows": 0, "step": "create_target", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('maxrxwyr4l', '2026-11-24 08:50:01.806381+00', '{"at": "2026-11-24T08:50:01.806381Z", "rows": 0, "step": "copy", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33287064, "spooled_bytes": 0, "retained_bytes": 688}, "left_ms": 0, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('maxrxwyr4l', '2026-11-24 08:50:02.794611+00', '{"at": "2026-11-24T08:50:02.794611Z", "rows": 0, "step": "open_reverse", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33287800, "written_at": 33287800, "spooled_bytes": 0, "retained_bytes": 1032}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('maxrxwyr4l', '2026-11-24 08:50:03.801439+00', '{"at": "2026-11-24T08:50:03.801439Z", "rows": 0, "step": "cutover", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "reverse", "lag_bytes": 0, "applied_at": 0, "written_at": 0, "spooled_bytes": 0, "retained_bytes": 0}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('maxrxwyr4l', '2026-11-24 08:50:04.79874+00', '{"at": "2026-11-24T08:50:04.798740Z", "rows": 0, "step": "hold", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "reverse", "lag_bytes": 6176, "applied_at": 32421504, "written_at": 32421504, "spooled_bytes": 0, "retained_bytes": 28144}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mhtu54kzcl', '2026-11-24 08:50:06.807389+00', '{"at": "2026-11-24T08:50:06.807389Z", "rows": 0, "step": "create_target", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mhtu54kzcl', '2026-11-24 08:50:07.81844+00', '{"at": "2026-11-24T08:50:07.818440Z", "rows": 0, "step": "build_indexes", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33475304, "written_at": 33475304, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mhtu54kzcl', '2026-11-24 08:50:08.831536+00', '{"at": "2026-11-24T08:50:08.831536Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33476104, "written_at": 33476104, "spooled_bytes": 0, "retained_bytes": 1120}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mhtu54kzcl', '2026-11-24 08:50:09.847628+00', '{"at": "2026-11-24T08:50:09.847628Z", "rows": 0, "step": "hold", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "reverse", "lag_bytes": 0, "applied_at": 0, "written_at": 33119608, "spooled_bytes": 0, "retained_bytes": 27536}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mhtu54kzcl', '2026-11-24 08:50:10.816595+00', '{"at": "2026-11-24T08:50:10.816595Z", "rows": 0, "step": "hold", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "reverse", "lag_bytes": 4984, "applied_at": 33128088, "written_at": 33128088, "spooled_bytes": 0, "retained_bytes": 35752}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mhtu54kzcl', '2026-11-24 08:50:11.817375+00', '{"at": "2026-11-24T08:50:11.817375Z", "rows": 0, "step": "hold_back", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 1280, "applied_at": 33502008, "written_at": 33502008, "spooled_bytes": 0, "retained_bytes": 6032}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m0lc1tvr91', '2026-11-24 08:50:13.827408+00', '{"at": "2026-11-24T08:50:13.827408Z", "rows": 0, "step": "preflight", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m0lc1tvr91', '2026-11-24 08:50:14.868172+00', '{"at": "2026-11-24T08:50:14.868172Z", "rows": 0, "step": "copy", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m0lc1tvr91', '2026-11-24 08:50:15.843144+00', '{"at": "2026-11-24T08:50:15.843144Z", "rows": 0, "step": "build_indexes", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33590392, "written_at": 33590392, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m0lc1tvr91', '2026-11-24 08:50:16.841633+00', '{"at": "2026-11-24T08:50:16.841633Z", "rows": 0, "step": "open_reverse", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33590904, "written_at": 33590904, "spooled_bytes": 0, "retained_bytes": 624}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m0lc1tvr91', '2026-11-24 08:50:17.845172+00', '{"at": "2026-11-24T08:50:17.845172Z", "rows": 0, "step": "unwind", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('met7kcx1f2', '2026-11-24 08:50:20.837811+00', '{"at": "2026-11-24T08:50:20.837811Z", "rows": 0, "step": "create_target", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('met7kcx1f2', '2026-11-24 08:50:21.852668+00', '{"at": "2026-11-24T08:50:21.852668Z", "rows": 0, "step": "verify", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('met7kcx1f2', '2026-11-24 08:50:22.842423+00', '{"at": "2026-11-24T08:50:22.842423Z", "rows": 0, "step": "hold", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:24.83725+00', '{"at": "2026-11-24T08:50:24.837250Z", "rows": 0, "step": "preflight", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:25.837274+00', '{"at": "2026-11-24T08:50:25.837274Z", "rows": 0, "step": "copy", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:26.845623+00', '{"at": "2026-11-24T08:50:26.845623Z", "rows": 0, "step": "verify", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33817456, "written_at": 33817456, "spooled_bytes": 0, "retained_bytes": 472}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:27.846529+00', '{"at": "2026-11-24T08:50:27.846529Z", "rows": 0, "step": "cutover", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819256, "written_at": 33819256, "spooled_bytes": 0, "retained_bytes": 56}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:28.837564+00', '{"at": "2026-11-24T08:50:28.837564Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33819488, "spooled_bytes": 0, "retained_bytes": 1912}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:38.872244+00', '{"at": "2026-11-24T08:50:38.872244Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33963816, "spooled_bytes": 0, "retained_bytes": 146240}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m7gcg6j7iq', '2026-11-24 08:50:38.872293+00', '{"at": "2026-11-24T08:50:38.872293Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33964192, "written_at": 33964192, "spooled_bytes": 0, "retained_bytes": 776}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mp3yj7lhtu', '2026-11-24 08:50:38.8723+00', '{"at": "2026-11-24T08:50:38.872300Z", "rows": 2640, "step": "copy", "bytes": 91612, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33964192, "spooled_bytes": 0, "retained_bytes": 776}, "left_ms": null, "rows_total": 3507}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:39.850907+00', '{"at": "2026-11-24T08:50:39.850907Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33964192, "spooled_bytes": 0, "retained_bytes": 146616}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m7gcg6j7iq', '2026-11-24 08:50:39.850954+00', '{"at": "2026-11-24T08:50:39.850954Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33964312, "written_at": 33964312, "spooled_bytes": 0, "retained_bytes": 776}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mp3yj7lhtu', '2026-11-24 08:50:39.850961+00', '{"at": "2026-11-24T08:50:39.850961Z", "rows": 0, "step": "copy", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33964192, "spooled_bytes": 0, "retained_bytes": 776}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:29.836378+00', '{"at": "2026-11-24T08:50:29.836378Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33819488, "spooled_bytes": 0, "retained_bytes": 1912}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:30.835744+00', '{"at": "2026-11-24T08:50:30.835744Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33820512, "spooled_bytes": 0, "retained_bytes": 2936}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:33.85639+00', '{"at": "2026-11-24T08:50:33.856390Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33820512, "spooled_bytes": 0, "retained_bytes": 2936}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m7gcg6j7iq', '2026-11-24 08:50:33.856435+00', '{"at": "2026-11-24T08:50:33.856435Z", "rows": 0, "step": "catch_up", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33889064, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:31.845447+00', '{"at": "2026-11-24T08:50:31.845447Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33820512, "spooled_bytes": 0, "retained_bytes": 2936}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:32.837135+00', '{"at": "2026-11-24T08:50:32.837135Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33820512, "spooled_bytes": 0, "retained_bytes": 2936}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m7gcg6j7iq', '2026-11-24 08:50:32.837181+00', '{"at": "2026-11-24T08:50:32.837181Z", "rows": 0, "step": "preflight", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:34.854939+00', '{"at": "2026-11-24T08:50:34.854939Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33889288, "spooled_bytes": 0, "retained_bytes": 71712}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m7gcg6j7iq', '2026-11-24 08:50:34.854995+00', '{"at": "2026-11-24T08:50:34.854995Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33890344, "written_at": 33890344, "spooled_bytes": 0, "retained_bytes": 272}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:35.837155+00', '{"at": "2026-11-24T08:50:35.837155Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33890344, "spooled_bytes": 0, "retained_bytes": 72768}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m7gcg6j7iq', '2026-11-24 08:50:35.837199+00', '{"at": "2026-11-24T08:50:35.837199Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33890544, "written_at": 33890544, "spooled_bytes": 0, "retained_bytes": 1016}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mp3yj7lhtu', '2026-11-24 08:50:35.837205+00', '{"at": "2026-11-24T08:50:35.837205Z", "rows": 0, "step": "preflight", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:36.84669+00', '{"at": "2026-11-24T08:50:36.846690Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33890544, "spooled_bytes": 0, "retained_bytes": 72968}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m7gcg6j7iq', '2026-11-24 08:50:36.846739+00', '{"at": "2026-11-24T08:50:36.846739Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33963696, "written_at": 33963696, "spooled_bytes": 0, "retained_bytes": 1016}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mp3yj7lhtu', '2026-11-24 08:50:36.846747+00', '{"at": "2026-11-24T08:50:36.846747Z", "rows": 0, "step": "open_capture", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:37.849721+00', '{"at": "2026-11-24T08:50:37.849721Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33963696, "spooled_bytes": 0, "retained_bytes": 146120}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m7gcg6j7iq', '2026-11-24 08:50:37.849767+00', '{"at": "2026-11-24T08:50:37.849767Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33963816, "written_at": 33963816, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mp3yj7lhtu', '2026-11-24 08:50:37.849775+00', '{"at": "2026-11-24T08:50:37.849775Z", "rows": 2640, "step": "copy", "bytes": 91612, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33963816, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 3507}');
INSERT INTO shardwright.reading VALUES ('m10mavaoyj', '2026-11-24 08:50:40.848007+00', '{"at": "2026-11-24T08:50:40.848007Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33819488, "written_at": 33964312, "spooled_bytes": 0, "retained_bytes": 146736}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m7gcg6j7iq', '2026-11-24 08:50:40.848054+00', '{"at": "2026-11-24T08:50:40.848054Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33964432, "written_at": 33964432, "spooled_bytes": 0, "retained_bytes": 896}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mp3yj7lhtu', '2026-11-24 08:50:40.84806+00', '{"at": "2026-11-24T08:50:40.848060Z", "rows": 2640, "step": "copy", "bytes": 91612, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33964312, "spooled_bytes": 0, "retained_bytes": 896}, "left_ms": null, "rows_total": 3507}');


--
-- Data for Name: server_seen; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.server_seen VALUES (2, '7711657560649856914', 1, 35901392, '2026-11-24 08:50:40.198212+00', 0);
INSERT INTO shardwright.server_seen VALUES (1, '7711657560645212047', 1, 33964312, '2026-11-24 08:50:40.269186+00', 0);


--
-- Data for Name: session; Type: TABLE DATA; Schema: shardwright; Owner: -
--



--
-- Data for Name: shard; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.shard VALUES (1, 'shard-a', 'host=127.0.0.1 port=19206 user=mover dbname=shop password=${env:SHARD_PASSWORD}', '{}', 100, NULL, '2026-11-24 08:49:57.521088+00', NULL);
INSERT INTO shardwright.shard VALUES (2, 'shard-b', 'host=127.0.0.1 port=31288 user=mover dbname=shop password=${env:SHARD_PASSWORD}', '{}', 100, NULL, '2026-11-24 08:49:57.661462+00', NULL);


--
-- Data for Name: step; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'drop_old', 'drop_old', 10, 'skipped', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'drop_old', 'drop_old', 10, 'done', 1, 1, NULL, '2026-11-24 08:50:04.855749+00', '2026-11-24 08:50:04.855749+00', '2026-11-24 08:50:05.204082+00', '{"rows": 693, "reclaim": ["vacuum (full, analyze) \"public\".\"orders\"", "vacuum (full, analyze) \"public\".\"accounts\"", "vacuum (full, analyze) \"public\".\"tenants\""], "bytes_bloat": 80289, "bytes_freed": 0}', NULL, '{"tables": [{"phase": "deleting", "table": "public.tenants", "rows_done": 99, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "removing what the migration created", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:49:59.509457+00', '2026-11-24 08:49:59.509457+00', '2026-11-24 08:50:00.139403+00', '{"source": {"system": "7711657560645212047", "timeline": 1}, "target": {"system": "7711657560649856914", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'cutover', 'cutover', 8, 'done', 1, 1, NULL, '2026-11-24 08:50:03.251531+00', '2026-11-24 08:50:03.251531+00', '2026-11-24 08:50:03.791505+00', '{"window": {"flip": 2.3635539999999997, "open": 1.831686, "seal": 9.056356, "check": 0.334256, "drain": 2.310766, "total": 25.518478, "wait_out": 0.003635}, "attempt": 1, "refused": 0, "storage": {"\"public\".\"orders\"": "16928 1 tenant_id,2 id,3 amount", "\"public\".\"tenants\"": "16938 1 id,2 name", "\"public\".\"accounts\"": "16920 1 tenant_id,2 id"}, "dirty_keys": 0, "map_version": 2}', NULL, '{"tables": [], "message": "shard shard-b owns the keys; map version 2", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:50:00.150494+00', '2026-11-24 08:50:00.150494+00', '2026-11-24 08:50:00.80099+00', '{"created": true, "objects": 12}', NULL, '{"tables": [], "message": "creating tables, register and guards on the target", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:50:00.812381+00', '2026-11-24 08:50:00.812381+00', '2026-11-24 08:50:01.197587+00', '{"consistent_point": "0/1FBE920"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'hold', 'hold', 9, 'done', 1, 1, NULL, '2026-11-24 08:50:03.803332+00', '2026-11-24 08:50:03.803332+00', '2026-11-24 08:50:04.834509+00', '{}', NULL, '{"tables": [], "message": "the old copy is kept in step; `finish` ends this, `rollback` gives the keys back", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:50:01.206421+00', '2026-11-24 08:50:01.206421+00', '2026-11-24 08:50:01.808326+00', '{"rows": 693, "bytes": 23715, "units": 3, "seconds": 0.173430848, "snapshots": 1, "bytes_twice": 0, "largest_chunk_bytes": 15861}', NULL, '{"tables": [{"phase": "building", "table": "CONSTRAINT public tenants tenants_pkey", "rows_done": 0, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "building CONSTRAINT public tenants tenants_pkey", "eta_seconds": 0.0, "rows_per_second": 9608.292780237298, "bytes_per_second": 328803.2659211075}');
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'catch_up', 'catch_up', 4, 'done', 1, 1, NULL, '2026-11-24 08:50:01.823421+00', '2026-11-24 08:50:01.823421+00', '2026-11-24 08:50:02.015762+00', '{"changes": 0, "transactions": 3}', NULL, '{"tables": [], "message": "applying changes that were captured during the copy", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'build_indexes', 'build_indexes', 5, 'done', 1, 1, NULL, '2026-11-24 08:50:02.028423+00', '2026-11-24 08:50:02.028423+00', '2026-11-24 08:50:02.31846+00', '{"objects": 2}', NULL, '{"tables": [{"phase": "building", "table": "FK CONSTRAINT public orders orders_tenant_id_fkey", "rows_done": 0, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "analyzing public.orders", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'verify', 'verify', 6, 'done', 1, 1, NULL, '2026-11-24 08:50:02.338532+00', '2026-11-24 08:50:02.338532+00', '2026-11-24 08:50:02.599086+00', '{"at": "0/1FBEDA0", "chunks": 3, "tables": [{"rows": 198, "table": "public.accounts", "digest": "010d795bb191bb762ed6bec89db1b3c9"}, {"rows": 396, "table": "public.orders", "digest": "bc3d90162118501ad3316f4e00713cb1"}, {"rows": 99, "table": "public.tenants", "digest": "c7bef70145296a809eb71a14cae30ad3"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 693}', NULL, '{"tables": [{"phase": "compared", "table": "public.accounts", "rows_done": 198, "bytes_done": 0, "rows_total": 198, "bytes_total": 0}, {"phase": "compared", "table": "public.orders", "rows_done": 396, "bytes_done": 0, "rows_total": 396, "bytes_total": 0}, {"phase": "compared", "table": "public.tenants", "rows_done": 99, "bytes_done": 0, "rows_total": 99, "bytes_total": 0}], "message": "comparing public.orders", "eta_seconds": null, "rows_per_second": 82978.00268714623, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('maxrxwyr4l', 'open_reverse', 'open_reverse', 7, 'done', 1, 1, NULL, '2026-11-24 08:50:02.607259+00', '2026-11-24 08:50:02.607259+00', '2026-11-24 08:50:02.836801+00', '{"consistent_point": "0/1EE2C60"}', NULL, '{"tables": [], "message": "creating the stream back to the source", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:50:06.867711+00', '2026-11-24 08:50:06.867711+00', '2026-11-24 08:50:07.148032+00', '{"consistent_point": "0/1FEC7B0"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'catch_up', 'catch_up', 4, 'done', 1, 1, NULL, '2026-11-24 08:50:07.586959+00', '2026-11-24 08:50:07.586959+00', '2026-11-24 08:50:07.742265+00', '{"changes": 0, "transactions": 3}', NULL, '{"tables": [], "message": "applying changes that were captured during the copy", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'open_reverse', 'open_reverse', 7, 'done', 1, 1, NULL, '2026-11-24 08:50:08.563065+00', '2026-11-24 08:50:08.563065+00', '2026-11-24 08:50:08.781406+00', '{"consistent_point": "0/1F8F220"}', NULL, '{"tables": [], "message": "creating the stream back to the source", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'hold', 'hold', 9, 'skipped', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:50:06.257815+00', '2026-11-24 08:50:06.257815+00', '2026-11-24 08:50:06.636405+00', '{"source": {"system": "7711657560645212047", "timeline": 1}, "target": {"system": "7711657560649856914", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:50:06.658674+00', '2026-11-24 08:50:06.658674+00', '2026-11-24 08:50:06.844518+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:50:07.166535+00', '2026-11-24 08:50:07.166535+00', '2026-11-24 08:50:07.567081+00', '{"rows": 700, "bytes": 24063, "units": 3, "seconds": 0.11472178, "snapshots": 1, "bytes_twice": 0, "largest_chunk_bytes": 16021}', NULL, '{"tables": [{"phase": "copying", "table": "public.tenants", "rows_done": 100, "bytes_done": 2821, "rows_total": 100, "bytes_total": 9011}, {"phase": "copying", "table": "public.accounts", "rows_done": 200, "bytes_done": 5221, "rows_total": 200, "bytes_total": 11468}, {"phase": "copying", "table": "public.orders", "rows_done": 400, "bytes_done": 16021, "rows_total": 400, "bytes_total": 24576}], "message": "building primary keys", "eta_seconds": 0.0, "rows_per_second": 12974.884238546214, "bytes_per_second": 446020.9134744822}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'build_indexes', 'build_indexes', 5, 'done', 1, 1, NULL, '2026-11-24 08:50:07.767172+00', '2026-11-24 08:50:07.767172+00', '2026-11-24 08:50:08.127754+00', '{"objects": 0}', NULL, '{"tables": [], "message": "analyzing public.orders", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'verify', 'verify', 6, 'done', 1, 1, NULL, '2026-11-24 08:50:08.153037+00', '2026-11-24 08:50:08.153037+00', '2026-11-24 08:50:08.538484+00', '{"at": "0/1FECC10", "chunks": 3, "tables": [{"rows": 200, "table": "public.accounts", "digest": "53cec4c1fb69b43fe8d9a9a816df47bd"}, {"rows": 400, "table": "public.orders", "digest": "4f54689d2502c25c227d2de156ecf838"}, {"rows": 100, "table": "public.tenants", "digest": "cc6d52d666a765c59b350b9a04dcdb33"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 700}', NULL, '{"tables": [{"phase": "compared", "table": "public.accounts", "rows_done": 200, "bytes_done": 0, "rows_total": 200, "bytes_total": 0}, {"phase": "compared", "table": "public.orders", "rows_done": 400, "bytes_done": 0, "rows_total": 400, "bytes_total": 0}, {"phase": "compared", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 100, "bytes_total": 0}], "message": "comparing public.orders", "eta_seconds": null, "rows_per_second": 28006.923311442588, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'cutover', 'cutover', 8, 'done', 1, 1, NULL, '2026-11-24 08:50:08.96099+00', '2026-11-24 08:50:08.96099+00', '2026-11-24 08:50:09.674101+00', '{"window": {"flip": 3.1021289999999997, "open": 1.3350790000000001, "seal": 2.9623999999999997, "check": 0.252234, "drain": 3.011454, "total": 13.153478999999999, "wait_out": 0.004628}, "attempt": 1, "refused": 0, "storage": {"\"public\".\"orders\"": "16928 1 tenant_id,2 id,3 amount", "\"public\".\"tenants\"": "16938 1 id,2 name", "\"public\".\"accounts\"": "16920 1 tenant_id,2 id"}, "dirty_keys": 0, "map_version": 3}', NULL, '{"tables": [], "message": "shard shard-b owns the keys; map version 3", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'hold', 'hold', 9, 'done', 1, 1, NULL, '2026-11-24 08:50:09.680824+00', '2026-11-24 08:50:09.680824+00', '2026-11-24 08:50:10.827242+00', '{}', NULL, '{"tables": [], "message": "the old copy is kept in step; `finish` ends this, `rollback` gives the keys back", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'rollback', 'rollback', 11, 'done', 1, 1, NULL, '2026-11-24 08:50:10.840905+00', '2026-11-24 08:50:10.840905+00', '2026-11-24 08:50:11.485127+00', '{"window": {"flip": 3.4072310000000003, "open": 1.171476, "seal": 4.741018, "check": 1.80121, "drain": 1.538741, "total": 15.399047000000001, "wait_out": 0.004857}, "attempt": 2, "refused": 0, "storage": {"\"public\".\"orders\"": "16404 1 tenant_id,2 id,3 amount", "\"public\".\"tenants\"": "16387 1 id,2 name", "\"public\".\"accounts\"": "16394 1 tenant_id,2 id"}, "dirty_keys": 0, "map_version": 4}', NULL, '{"tables": [], "message": "shard shard-a owns the keys; map version 4", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:50:13.961481+00', '2026-11-24 08:50:13.961481+00', '2026-11-24 08:50:14.154915+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'hold_back', 'hold_back', 12, 'done', 1, 1, NULL, '2026-11-24 08:50:11.495816+00', '2026-11-24 08:50:11.495816+00', '2026-11-24 08:50:11.842547+00', '{}', NULL, '{"tables": [], "message": "the target''s copy is kept in step; `finish` drops it, `approve` lets the cutover begin again", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:50:14.169379+00', '2026-11-24 08:50:14.169379+00', '2026-11-24 08:50:14.592715+00', '{"consistent_point": "0/2008A40"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mhtu54kzcl', 'drop_new', 'drop_new', 13, 'done', 1, 1, NULL, '2026-11-24 08:50:11.851624+00', '2026-11-24 08:50:11.851624+00', '2026-11-24 08:50:12.125691+00', '{}', NULL, '{"tables": [{"phase": "deleting", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "deleting moved rows of public.tenants", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'catch_up', 'catch_up', 4, 'done', 1, 1, NULL, '2026-11-24 08:50:15.451178+00', '2026-11-24 08:50:15.451178+00', '2026-11-24 08:50:15.753994+00', '{"changes": 0, "transactions": 3}', NULL, '{"tables": [], "message": "applying changes that were captured during the copy", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'cutover', 'cutover', 8, 'skipped', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:50:13.359162+00', '2026-11-24 08:50:13.359162+00', '2026-11-24 08:50:13.948653+00', '{"source": {"system": "7711657560645212047", "timeline": 1}, "target": {"system": "7711657560649856914", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'verify', 'verify', 6, 'done', 1, 1, NULL, '2026-11-24 08:50:16.196384+00', '2026-11-24 08:50:16.196384+00', '2026-11-24 08:50:16.626436+00', '{"at": "0/2008DA0", "chunks": 3, "tables": [{"rows": 200, "table": "public.accounts", "digest": "f4e1cc70a99f22f60ffcd3114feb37d3"}, {"rows": 400, "table": "public.orders", "digest": "d5ebc41f17b587018eba2196d8b87a5f"}, {"rows": 100, "table": "public.tenants", "digest": "5e3f2f74a638c2e06dc5d9debccf4607"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 700}', NULL, '{"tables": [{"phase": "compared", "table": "public.accounts", "rows_done": 200, "bytes_done": 0, "rows_total": 200, "bytes_total": 0}, {"phase": "compared", "table": "public.orders", "rows_done": 400, "bytes_done": 0, "rows_total": 400, "bytes_total": 0}, {"phase": "compared", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 100, "bytes_total": 0}], "message": "comparing public.orders", "eta_seconds": null, "rows_per_second": 114735.59019331963, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:50:14.632766+00', '2026-11-24 08:50:14.632766+00', '2026-11-24 08:50:15.413077+00', '{"rows": 700, "bytes": 24063, "units": 3, "seconds": 0.204554416, "snapshots": 1, "bytes_twice": 0, "largest_chunk_bytes": 16021}', NULL, '{"tables": [{"phase": "copying", "table": "public.tenants", "rows_done": 100, "bytes_done": 2821, "rows_total": 100, "bytes_total": 9011}, {"phase": "copying", "table": "public.accounts", "rows_done": 200, "bytes_done": 5221, "rows_total": 200, "bytes_total": 11468}, {"phase": "copying", "table": "public.orders", "rows_done": 400, "bytes_done": 16021, "rows_total": 400, "bytes_total": 24576}], "message": "building primary keys", "eta_seconds": 0.0, "rows_per_second": 4837.844840197969, "bytes_per_second": 166304.37198526243}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'build_indexes', 'build_indexes', 5, 'done', 1, 1, NULL, '2026-11-24 08:50:15.772223+00', '2026-11-24 08:50:15.772223+00', '2026-11-24 08:50:16.157027+00', '{"objects": 0}', NULL, '{"tables": [], "message": "analyzing public.orders", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'open_reverse', 'open_reverse', 7, 'done', 1, 1, NULL, '2026-11-24 08:50:16.656713+00', '2026-11-24 08:50:16.656713+00', '2026-11-24 08:50:16.928737+00', '{"consistent_point": "0/20521F8"}', NULL, '{"tables": [], "message": "creating the stream back to the source", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'unwind', 'unwind', 11, 'done', 1, 2, NULL, '2026-11-24 08:50:17.394393+00', '2026-11-24 08:50:17.394393+00', '2026-11-24 08:50:18.195965+00', '{}', NULL, '{"tables": [{"phase": "deleting", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "deleting moved rows of public.tenants", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0lc1tvr91', 'drop_old', 'drop_old', 10, 'skipped', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('met7kcx1f2', 'build_indexes', 'build_indexes', 4, 'done', 1, 1, NULL, '2026-11-24 08:50:21.394776+00', '2026-11-24 08:50:21.394776+00', '2026-11-24 08:50:21.686217+00', '{"objects": 0}', NULL, '{"tables": [], "message": "analyzing public.orders", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('met7kcx1f2', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:50:19.96939+00', '2026-11-24 08:50:19.96939+00', '2026-11-24 08:50:20.737314+00', '{"source": {"system": "7711657560645212047", "timeline": 1}, "target": {"system": "7711657560649856914", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('met7kcx1f2', 'hold', 'hold', 7, 'done', 1, 1, NULL, '2026-11-24 08:50:22.413903+00', '2026-11-24 08:50:22.413903+00', '2026-11-24 08:50:22.852893+00', '{}', NULL, '{"tables": [], "message": "the old copy is kept in step; `finish` ends this, `rollback` gives the keys back", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('met7kcx1f2', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:50:20.760761+00', '2026-11-24 08:50:20.760761+00', '2026-11-24 08:50:20.932388+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('met7kcx1f2', 'verify', 'verify', 5, 'done', 1, 1, NULL, '2026-11-24 08:50:21.697334+00', '2026-11-24 08:50:21.697334+00', '2026-11-24 08:50:21.990542+00', '{"at": "0/0", "chunks": 3, "tables": [{"rows": 200, "table": "public.accounts", "digest": "53cec4c1fb69b43fe8d9a9a816df47bd"}, {"rows": 400, "table": "public.orders", "digest": "4f54689d2502c25c227d2de156ecf838"}, {"rows": 100, "table": "public.tenants", "digest": "cc6d52d666a765c59b350b9a04dcdb33"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 700}', NULL, '{"tables": [{"phase": "compared", "table": "public.accounts", "rows_done": 200, "bytes_done": 0, "rows_total": 200, "bytes_total": 0}, {"phase": "compared", "table": "public.orders", "rows_done": 400, "bytes_done": 0, "rows_total": 400, "bytes_total": 0}, {"phase": "compared", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 100, "bytes_total": 0}], "message": "comparing public.orders", "eta_seconds": null, "rows_per_second": 58077.70913637865, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('met7kcx1f2', 'set_read_only', 'set_read_only', 2, 'done', 1, 1, NULL, '2026-11-24 08:50:20.939614+00', '2026-11-24 08:50:20.939614+00', '2026-11-24 08:50:21.014551+00', '{"waited_ms": 3}', NULL, '{"tables": [], "message": "putting guards on the source''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('met7kcx1f2', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:50:21.028732+00', '2026-11-24 08:50:21.028732+00', '2026-11-24 08:50:21.371848+00', '{"rows": 700, "bytes": 24063, "units": 3, "seconds": 0.093488585, "snapshots": 0, "bytes_twice": 0, "largest_chunk_bytes": 16021}', NULL, '{"tables": [{"phase": "copying", "table": "public.tenants", "rows_done": 100, "bytes_done": 2821, "rows_total": 100, "bytes_total": 9011}, {"phase": "copying", "table": "public.accounts", "rows_done": 200, "bytes_done": 5221, "rows_total": 200, "bytes_total": 11468}, {"phase": "copying", "table": "public.orders", "rows_done": 400, "bytes_done": 16021, "rows_total": 400, "bytes_total": 24576}], "message": "building primary keys", "eta_seconds": 0.0, "rows_per_second": 12291.081464866542, "bytes_per_second": 422514.70469869085}');
INSERT INTO shardwright.step VALUES ('met7kcx1f2', 'cutover', 'cutover', 6, 'done', 1, 1, NULL, '2026-11-24 08:50:22.001128+00', '2026-11-24 08:50:22.001128+00', '2026-11-24 08:50:22.406973+00', '{"window": {"flip": 10.573444, "open": 1.878845, "seal": 38.265013, "check": 0.0, "drain": 0.0, "total": 67.005487, "wait_out": 0.0}, "attempt": 1, "refused": 0, "storage": {"\"public\".\"orders\"": "16928 1 tenant_id,2 id,3 amount", "\"public\".\"tenants\"": "16938 1 id,2 name", "\"public\".\"accounts\"": "16920 1 tenant_id,2 id"}, "dirty_keys": 0, "map_version": 5}', NULL, '{"tables": [], "message": "shard shard-b owns the keys; map version 5", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('met7kcx1f2', 'drop_old', 'drop_old', 8, 'done', 1, 1, NULL, '2026-11-24 08:50:22.88558+00', '2026-11-24 08:50:22.88558+00', '2026-11-24 08:50:23.255775+00', '{"rows": 700, "reclaim": ["vacuum (full, analyze) \"public\".\"orders\"", "vacuum (full, analyze) \"public\".\"accounts\"", "vacuum (full, analyze) \"public\".\"tenants\""], "bytes_bloat": 81101, "bytes_freed": 0}', NULL, '{"tables": [{"phase": "deleting", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "removing what the migration created", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'hold', 'hold', 9, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'drop_old', 'drop_old', 10, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'cutover', 'cutover', 8, 'failed', 1, 1, NULL, '2026-11-24 08:50:27.53779+00', '2026-11-24 08:50:27.53779+00', NULL, NULL, '{"code": "schema.drift", "hint": "make both sides equal, then `resume`; or abort the migration", "retry": "none", "message": "the moving tables differ:\npublic.items, column later: on shard shard-a place 4 integer; on shard shard-b missing"}', NULL);
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:50:24.541759+00', '2026-11-24 08:50:24.541759+00', '2026-11-24 08:50:25.201449+00', '{"source": {"system": "7711657560645212047", "timeline": 1}, "target": {"system": "7711657560649856914", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:50:25.208452+00', '2026-11-24 08:50:25.208452+00', '2026-11-24 08:50:25.406891+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:50:25.428606+00', '2026-11-24 08:50:25.428606+00', '2026-11-24 08:50:25.778506+00', '{"consistent_point": "0/2040078"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:50:25.789882+00', '2026-11-24 08:50:25.789882+00', '2026-11-24 08:50:26.206392+00', '{"rows": 198, "bytes": 7538, "units": 1, "seconds": 0.113454071, "snapshots": 1, "bytes_twice": 0, "largest_chunk_bytes": 7538}', NULL, '{"tables": [{"phase": "copying", "table": "public.items", "rows_done": 198, "bytes_done": 7538, "rows_total": 213, "bytes_total": 16576}], "message": "building primary keys", "eta_seconds": 0.0, "rows_per_second": 3583.741477143304, "bytes_per_second": 136435.57199346577}');
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'catch_up', 'catch_up', 4, 'done', 1, 1, NULL, '2026-11-24 08:50:26.212588+00', '2026-11-24 08:50:26.212588+00', '2026-11-24 08:50:26.380974+00', '{"changes": 0, "transactions": 3}', NULL, '{"tables": [], "message": "applying changes that were captured during the copy", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'build_indexes', 'build_indexes', 5, 'done', 1, 1, NULL, '2026-11-24 08:50:26.388813+00', '2026-11-24 08:50:26.388813+00', '2026-11-24 08:50:26.655828+00', '{"objects": 0}', NULL, '{"tables": [], "message": "analyzing public.items", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'cutover', 'cutover', 8, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'verify', 'verify', 6, 'done', 1, 1, NULL, '2026-11-24 08:50:26.680854+00', '2026-11-24 08:50:26.680854+00', '2026-11-24 08:50:27.050359+00', '{"at": "0/2040420", "chunks": 1, "tables": [{"rows": 198, "table": "public.items", "digest": "4f3fc3ae9456e50625960f0d93e56ca8"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 198}', NULL, '{"tables": [{"phase": "compared", "table": "public.items", "rows_done": 198, "bytes_done": 0, "rows_total": 198, "bytes_total": 0}], "message": "comparing public.items", "eta_seconds": null, "rows_per_second": 51413.90844896702, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'hold', 'hold', 9, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('m10mavaoyj', 'open_reverse', 'open_reverse', 7, 'done', 1, 1, NULL, '2026-11-24 08:50:27.056911+00', '2026-11-24 08:50:27.056911+00', '2026-11-24 08:50:27.281967+00', '{"consistent_point": "0/218E6B8"}', NULL, '{"tables": [], "message": "creating the stream back to the source", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'catch_up', 'catch_up', 4, 'done', 1, 1, NULL, '2026-11-24 08:50:33.801069+00', '2026-11-24 08:50:33.801069+00', '2026-11-24 08:50:33.939485+00', '{"changes": 0, "transactions": 3}', NULL, '{"tables": [], "message": "applying changes that were captured during the copy", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'drop_old', 'drop_old', 10, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:50:32.976596+00', '2026-11-24 08:50:32.976596+00', '2026-11-24 08:50:33.072508+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:50:33.085038+00', '2026-11-24 08:50:33.085038+00', '2026-11-24 08:50:33.375721+00', '{"consistent_point": "0/20519D0"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:50:32.547254+00', '2026-11-24 08:50:32.547254+00', '2026-11-24 08:50:32.96865+00', '{"source": {"system": "7711657560645212047", "timeline": 1}, "target": {"system": "7711657560649856914", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'open_reverse', 'open_reverse', 7, 'done', 1, 1, NULL, '2026-11-24 08:50:34.477347+00', '2026-11-24 08:50:34.477347+00', '2026-11-24 08:50:34.744544+00', '{"consistent_point": "0/21C6CE0"}', NULL, '{"tables": [], "message": "creating the stream back to the source", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:50:33.388749+00', '2026-11-24 08:50:33.388749+00', '2026-11-24 08:50:33.786436+00', '{"rows": 700, "bytes": 24063, "units": 3, "seconds": 0.105660918, "snapshots": 1, "bytes_twice": 0, "largest_chunk_bytes": 16021}', NULL, '{"tables": [{"phase": "copying", "table": "public.tenants", "rows_done": 100, "bytes_done": 2821, "rows_total": 100, "bytes_total": 9011}, {"phase": "copying", "table": "public.accounts", "rows_done": 200, "bytes_done": 5221, "rows_total": 200, "bytes_total": 11468}, {"phase": "copying", "table": "public.orders", "rows_done": 400, "bytes_done": 16021, "rows_total": 400, "bytes_total": 24576}], "message": "building primary keys", "eta_seconds": 0.0, "rows_per_second": 11017.984829777408, "bytes_per_second": 378751.0985127625}');
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'build_indexes', 'build_indexes', 5, 'done', 1, 1, NULL, '2026-11-24 08:50:33.954282+00', '2026-11-24 08:50:33.954282+00', '2026-11-24 08:50:34.178+00', '{"objects": 0}', NULL, '{"tables": [], "message": "analyzing public.orders", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m7gcg6j7iq', 'verify', 'verify', 6, 'done', 1, 1, NULL, '2026-11-24 08:50:34.186588+00', '2026-11-24 08:50:34.186588+00', '2026-11-24 08:50:34.437729+00', '{"at": "0/2051D30", "chunks": 3, "tables": [{"rows": 200, "table": "public.accounts", "digest": "526d4ee00a51d3bd08f84ca3f418b11a"}, {"rows": 400, "table": "public.orders", "digest": "50eebd8a5e25012e0b04540986627b6c"}, {"rows": 100, "table": "public.tenants", "digest": "dce803ed3896bd4ab6fc1c66e5a806df"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 700}', NULL, '{"tables": [{"phase": "compared", "table": "public.accounts", "rows_done": 200, "bytes_done": 0, "rows_total": 200, "bytes_total": 0}, {"phase": "compared", "table": "public.orders", "rows_done": 400, "bytes_done": 0, "rows_total": 400, "bytes_total": 0}, {"phase": "compared", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 100, "bytes_total": 0}], "message": "comparing public.orders", "eta_seconds": null, "rows_per_second": 58582.881763927224, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'catch_up', 'catch_up', 4, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'build_indexes', 'build_indexes', 5, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'verify', 'verify', 6, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'open_reverse', 'open_reverse', 7, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'cutover', 'cutover', 8, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'hold', 'hold', 9, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'drop_old', 'drop_old', 10, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:50:35.564091+00', '2026-11-24 08:50:35.564091+00', '2026-11-24 08:50:36.250362+00', '{"source": {"system": "7711657560645212047", "timeline": 1}, "target": {"system": "7711657560649856914", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'copy', 'copy', 3, 'running', 1, 1, NULL, '2026-11-24 08:50:37.055261+00', '2026-11-24 08:50:39.471482+00', NULL, NULL, NULL, '{"slowed": {"share": 1.0, "reason": "rate limited to 1.0 KiB/s by hand"}, "tables": [{"phase": "copying", "table": "public.tenants", "rows_done": 0, "bytes_done": 0, "rows_total": 501, "bytes_total": 45146}, {"phase": "copying", "table": "public.accounts", "rows_done": 1002, "bytes_done": 26073, "rows_total": 1002, "bytes_total": 57458}, {"phase": "copying", "table": "public.orders", "rows_done": 1638, "bytes_done": 65539, "rows_total": 2004, "bytes_total": 123125}], "message": "copying", "statements": [{"ms": 663, "role": "copy", "text": "copy \"public\".\"orders\" (\"tenant_id\", \"id\", \"amount\") from stdin (format binary)", "shard": "shard-b"}], "eta_seconds": null, "rows_per_second": 20449.53943686709, "bytes_per_second": 709630.00260995}');
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:50:36.272794+00', '2026-11-24 08:50:36.272794+00', '2026-11-24 08:50:36.512303+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mp3yj7lhtu', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:50:36.535936+00', '2026-11-24 08:50:36.535936+00', '2026-11-24 08:50:37.024609+00', '{"consistent_point": "0/2063DD0"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');


--
-- Data for Name: store_identity; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.store_identity VALUES (true, '09dc3226-0364-4657-b5b1-e33bf47a20b5', '2026-11-24 08:49:56.386553+00');


--
-- Data for Name: token; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.token VALUES ('01a20cbf-5b20-75ee-a353-77504af551f3', 'reader', 'viewer', '{}', '\x85e9544bcf8ee4dbc267d0e4e143970451e66cac81efc72002afd1bcc1dabf9c', '2026-11-24 08:49:57.024137+00', 'ada', NULL, NULL, NULL);
INSERT INTO shardwright.token VALUES ('01a20cbf-5b8b-7094-b443-b0c152ca3b7d', 'a1', 'agent', '{}', '\xeb17b5c2d0fd8c7bbd22c1412eb8b348da9c6cab1bd8df31d66f18c7c2b10405', '2026-11-24 08:49:57.131478+00', 'ada', NULL, NULL, NULL);
INSERT INTO shardwright.token VALUES ('01a20cbf-5bfe-7336-a84a-638c1d3d1c9e', 'gone', 'operator', '{}', '\xe71c6da1ddcf01b6eddce7bf4f5e265b99b8a69e3a75898d256e7bd642f8fc14', '2026-11-24 08:49:57.246876+00', 'ada', NULL, '2026-11-24 08:49:57.397515+00', 'ada');


--
-- Name: audit_id_seq; Type: SEQUENCE SET; Schema: shardwright; Owner: -
--

SELECT pg_catalog.setval('shardwright.audit_id_seq', 51, true);


--
-- Name: _sqlx_migrations _sqlx_migrations_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);


--
-- Name: agent agent_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.agent
    ADD CONSTRAINT agent_pkey PRIMARY KEY (name);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);


--
-- Name: cleanup_record cleanup_record_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.cleanup_record
    ADD CONSTRAINT cleanup_record_pkey PRIMARY KEY (migration, shard, kind, name);


--
-- Name: event event_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (migration, seq);


--
-- Name: hook_cursor hook_cursor_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.hook_cursor
    ADD CONSTRAINT hook_cursor_pkey PRIMARY KEY (hook, migration);


--
-- Name: hook hook_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.hook
    ADD CONSTRAINT hook_pkey PRIMARY KEY (name);


--
-- Name: mapping key_has_one_owner; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.mapping
    ADD CONSTRAINT key_has_one_owner EXCLUDE USING gist (span WITH &&, shardwright.name_range(map, map, '[]'::text) WITH &&, int8range(since, until) WITH &&) WHERE ((NOT (keys ? 'list'::text)));


--
-- Name: keyed_order keyed_order_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.keyed_order
    ADD CONSTRAINT keyed_order_pkey PRIMARY KEY (key);


--
-- Name: migration keys_move_once; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.migration
    ADD CONSTRAINT keys_move_once EXCLUDE USING gist (shardwright.name_range(map, map, '[]'::text) WITH &&, spans WITH &&) WHERE (((started_at IS NOT NULL) AND (finished_at IS NULL)));


--
-- Name: leader leader_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.leader
    ADD CONSTRAINT leader_pkey PRIMARY KEY (only_row);


--
-- Name: lease lease_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (migration);


--
-- Name: map map_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.map
    ADD CONSTRAINT map_pkey PRIMARY KEY (name);


--
-- Name: map_settings map_settings_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.map_settings
    ADD CONSTRAINT map_settings_pkey PRIMARY KEY (map, revision);


--
-- Name: map_version map_version_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.map_version
    ADD CONSTRAINT map_version_pkey PRIMARY KEY (map, version);


--
-- Name: migration migration_operation_ordinal_key; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.migration
    ADD CONSTRAINT migration_operation_ordinal_key UNIQUE (operation, ordinal);


--
-- Name: migration migration_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (id);


--
-- Name: operation operation_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.operation
    ADD CONSTRAINT operation_pkey PRIMARY KEY (id);


--
-- Name: reading reading_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.reading
    ADD CONSTRAINT reading_pkey PRIMARY KEY (migration, at);


--
-- Name: server_seen server_seen_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.server_seen
    ADD CONSTRAINT server_seen_pkey PRIMARY KEY (number);


--
-- Name: session session_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (digest);


--
-- Name: shard shard_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.shard
    ADD CONSTRAINT shard_pkey PRIMARY KEY (number);


--
-- Name: step step_migration_ordinal_key; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.step
    ADD CONSTRAINT step_migration_ordinal_key UNIQUE (migration, ordinal);


--
-- Name: step step_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.step
    ADD CONSTRAINT step_pkey PRIMARY KEY (migration, id);


--
-- Name: store_identity store_identity_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.store_identity
    ADD CONSTRAINT store_identity_pkey PRIMARY KEY (only_row);


--
-- Name: token token_digest_key; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.token
    ADD CONSTRAINT token_digest_key UNIQUE (digest);


--
-- Name: token token_pkey; Type: CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (id);


--
-- Name: key_is_listed_once; Type: INDEX; Schema: shardwright; Owner: -
--

CREATE UNIQUE INDEX key_is_listed_once ON shardwright.mapping USING btree (map, span) WHERE (until IS NULL);


--
-- Name: keyed_order_begun; Type: INDEX; Schema: shardwright; Owner: -
--

CREATE INDEX keyed_order_begun ON shardwright.keyed_order USING btree (begun_at);


--
-- Name: migration_by_time; Type: INDEX; Schema: shardwright; Owner: -
--

CREATE INDEX migration_by_time ON shardwright.migration USING btree (created_at DESC);


--
-- Name: migration_unfinished; Type: INDEX; Schema: shardwright; Owner: -
--

CREATE INDEX migration_unfinished ON shardwright.migration USING btree (map) WHERE (finished_at IS NULL);


--
-- Name: operation_by_time; Type: INDEX; Schema: shardwright; Owner: -
--

CREATE INDEX operation_by_time ON shardwright.operation USING btree (created_at DESC);


--
-- Name: shard_by_name; Type: INDEX; Schema: shardwright; Owner: -
--

CREATE UNIQUE INDEX shard_by_name ON shardwright.shard USING btree (name) WHERE (removed_at IS NULL);


--
-- Name: token_name; Type: INDEX; Schema: shardwright; Owner: -
--

CREATE UNIQUE INDEX token_name ON shardwright.token USING btree (name) WHERE (revoked_at IS NULL);


--
-- Name: event announce; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER announce AFTER INSERT ON shardwright.event FOR EACH ROW EXECUTE FUNCTION shardwright.announce_event();


--
-- Name: map_settings announce; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER announce AFTER INSERT ON shardwright.map_settings FOR EACH ROW EXECUTE FUNCTION shardwright.announce_settings();


--
-- Name: map_version announce; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER announce AFTER INSERT ON shardwright.map_version FOR EACH ROW EXECUTE FUNCTION shardwright.announce_map_version();


--
-- Name: audit append_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON shardwright.audit FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_change();


--
-- Name: event append_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON shardwright.event FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_change();


--
-- Name: map_settings append_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON shardwright.map_settings FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_change();


--
-- Name: map_version append_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON shardwright.map_version FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_change();


--
-- Name: mapping append_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON shardwright.mapping FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_change();


--
-- Name: operation append_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON shardwright.operation FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_change();


--
-- Name: mapping closed_once; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER closed_once BEFORE UPDATE ON shardwright.mapping FOR EACH ROW WHEN (((old.until IS NOT NULL) OR (new.until IS NULL) OR (((((new.map IS DISTINCT FROM old.map) OR (new.since IS DISTINCT FROM old.since)) OR (new.span IS DISTINCT FROM old.span)) OR (new.keys IS DISTINCT FROM old.keys)) OR (new.shard IS DISTINCT FROM old.shard)))) EXECUTE FUNCTION shardwright.refuse_change();


--
-- Name: mapping enters_newest_version; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER enters_newest_version AFTER INSERT ON shardwright.mapping REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_other_version();


--
-- Name: mapping leaves_by_newest_version; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER leaves_by_newest_version AFTER UPDATE ON shardwright.mapping REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_other_version();


--
-- Name: agent led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.agent FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: audit led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.audit FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: cleanup_record led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.cleanup_record FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: event led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.event FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: hook led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.hook FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: hook_cursor led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.hook_cursor FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: keyed_order led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.keyed_order FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: lease led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.lease FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: map led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.map FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: map_settings led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.map_settings FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: map_version led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.map_version FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: mapping led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.mapping FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: migration led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.migration FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: operation led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.operation FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: reading led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.reading FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: server_seen led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.server_seen FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: session led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.session FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: shard led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.shard FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: step led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.step FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: token led_only; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER led_only BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON shardwright.token FOR EACH STATEMENT EXECUTE FUNCTION shardwright.refuse_without_term();


--
-- Name: leader terms_grow; Type: TRIGGER; Schema: shardwright; Owner: -
--

CREATE TRIGGER terms_grow BEFORE DELETE OR UPDATE ON shardwright.leader FOR EACH ROW EXECUTE FUNCTION shardwright.refuse_older_term();


--
-- Name: cleanup_record cleanup_record_migration_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.cleanup_record
    ADD CONSTRAINT cleanup_record_migration_fkey FOREIGN KEY (migration) REFERENCES shardwright.migration(id);


--
-- Name: event event_migration_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.event
    ADD CONSTRAINT event_migration_fkey FOREIGN KEY (migration) REFERENCES shardwright.migration(id);


--
-- Name: hook_cursor hook_cursor_hook_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.hook_cursor
    ADD CONSTRAINT hook_cursor_hook_fkey FOREIGN KEY (hook) REFERENCES shardwright.hook(name);


--
-- Name: lease lease_migration_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.lease
    ADD CONSTRAINT lease_migration_fkey FOREIGN KEY (migration) REFERENCES shardwright.migration(id);


--
-- Name: map_settings map_settings_map_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.map_settings
    ADD CONSTRAINT map_settings_map_fkey FOREIGN KEY (map) REFERENCES shardwright.map(name);


--
-- Name: map_version map_version_map_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.map_version
    ADD CONSTRAINT map_version_map_fkey FOREIGN KEY (map) REFERENCES shardwright.map(name);


--
-- Name: mapping mapping_shard_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.mapping
    ADD CONSTRAINT mapping_shard_fkey FOREIGN KEY (shard) REFERENCES shardwright.shard(number);


--
-- Name: migration migration_map_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.migration
    ADD CONSTRAINT migration_map_fkey FOREIGN KEY (map) REFERENCES shardwright.map(name);


--
-- Name: migration migration_map_map_version_after_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.migration
    ADD CONSTRAINT migration_map_map_version_after_fkey FOREIGN KEY (map, map_version_after) REFERENCES shardwright.map_version(map, version);


--
-- Name: migration migration_map_map_version_back_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.migration
    ADD CONSTRAINT migration_map_map_version_back_fkey FOREIGN KEY (map, map_version_back) REFERENCES shardwright.map_version(map, version);


--
-- Name: migration migration_operation_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.migration
    ADD CONSTRAINT migration_operation_fkey FOREIGN KEY (operation) REFERENCES shardwright.operation(id);


--
-- Name: server_seen server_seen_number_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.server_seen
    ADD CONSTRAINT server_seen_number_fkey FOREIGN KEY (number) REFERENCES shardwright.shard(number);


--
-- Name: step step_migration_fkey; Type: FK CONSTRAINT; Schema: shardwright; Owner: -
--

ALTER TABLE ONLY shardwright.step
    ADD CONSTRAINT step_migration_fkey FOREIGN KEY (migration) REFERENCES shardwright.migration(id);


--
-- PostgreSQL database dump complete
--


