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

INSERT INTO shardwright._sqlx_migrations VALUES (1, 'create identity', '2026-11-24 08:31:21.211932+00', true, '\x7553195e81562544e13230608ecf192bbdf5849eee3be988691a2ad212ba6f2f34f8b3fab5ea57ddfe59d0d0f79ce92a', 5414386);
INSERT INTO shardwright._sqlx_migrations VALUES (2, 'create map', '2026-11-24 08:31:21.217746+00', true, '\x9bb5a144a47102a220fae5f044b54f41d9f53717982d800de2454450b0c754a8f21482913d312a86c358e6b851814321', 10534567);
INSERT INTO shardwright._sqlx_migrations VALUES (3, 'create migration', '2026-11-24 08:31:21.228514+00', true, '\xb55eace281cb5bb79ac37ea7b481a9ed57947ee7f3f8aae4509a2f3df85e95bef5ce132904509c6bc5205aac5f2a89f4', 12127958);
INSERT INTO shardwright._sqlx_migrations VALUES (4, 'create views', '2026-11-24 08:31:21.240872+00', true, '\x77323958ad38da7a3ca5628f127bb6e2d847478193dbbc8695e0b8269fc798d13d7da0ee5f278484a0ffcd604bcae864', 5547414);
INSERT INTO shardwright._sqlx_migrations VALUES (5, 'create leader', '2026-11-24 08:31:21.246628+00', true, '\x959672c0554a68cebad49960b95176d7a6a61d08195baac57b8433ca0da3a079429dad49447cdfba267c15f01d280a77', 5877062);
INSERT INTO shardwright._sqlx_migrations VALUES (6, 'create server seen', '2026-11-24 08:31:21.252686+00', true, '\xbbd4aba92938ad51fd7f6186bca10ccc1c8f142e70ce7625939e0be688b250db9946efcb1e2adacd465dc6cc1d045c79', 12374614);
INSERT INTO shardwright._sqlx_migrations VALUES (7, 'let migrations go again', '2026-11-24 08:31:21.265284+00', true, '\xd8115b83e69659318a25fbbc4931f539cf0dfbd22bf31e25ed6840c52481278e086be31ff3d93ea8f61d818a932b142d', 1016006);
INSERT INTO shardwright._sqlx_migrations VALUES (8, 'keep that a server went back', '2026-11-24 08:31:21.266457+00', true, '\xe452f11a7c307a691986b4de196d9f5a7878aa27a670ad6d0b2307e5a65598af4f2b74e3e10c7ab512842c969a076a7d', 567281);
INSERT INTO shardwright._sqlx_migrations VALUES (9, 'keep limits', '2026-11-24 08:31:21.267153+00', true, '\xfc4d139b03614c4f3796905959e56753a1f3ff0931d43349133ae0db8333bd727f5c9621e4836e6ec786de8404b222aa', 500642);
INSERT INTO shardwright._sqlx_migrations VALUES (10, 'hold a migration', '2026-11-24 08:31:21.267796+00', true, '\x47b1e40896415705799919945890c676c4f21f5f6bd642d8193d942bbb3d4647f17adadd93d3ff75cd65696b15122f37', 574041);
INSERT INTO shardwright._sqlx_migrations VALUES (11, 'create token', '2026-11-24 08:31:21.268519+00', true, '\xa258d0bb5b53df5da4b85efe6da3d4309591c4210b50ed945da39761132deb6a236fc21dd2d25078aad8095cabbabd29', 6466105);
INSERT INTO shardwright._sqlx_migrations VALUES (12, 'say since when', '2026-11-24 08:31:21.275168+00', true, '\x6e0d0236485eb0e394e7aed07c0e250e300a659cfb6ad3c35f8e4f654bbe7bbd45d2de69744d45c28ae6e6bfa7d306e8', 560250);
INSERT INTO shardwright._sqlx_migrations VALUES (13, 'keep readings', '2026-11-24 08:31:21.275874+00', true, '\x0ae512d882edd4bcc7a89edda3fad9cda95bee1a6d0fb412fd847337f4e0a696cdaf166b4ed182862d95c01925fbe4e2', 1016046);
INSERT INTO shardwright._sqlx_migrations VALUES (14, 'keep answers', '2026-11-24 08:31:21.277031+00', true, '\x9123781d743732c566e6f12bcd730e9a29a57f8840fe9633578b920e0c7a35467967570a8727324d91bdcc3d0ac05080', 1290353);
INSERT INTO shardwright._sqlx_migrations VALUES (15, 'show status', '2026-11-24 08:31:21.278469+00', true, '\xd2e99796e7e59eac39a8a4251bb2cdf6eaffb9c5b820b531fe943dff0c4f79ce2fc556fa05038c35a5feea66a02d03c2', 12085415);
INSERT INTO shardwright._sqlx_migrations VALUES (16, 'keep hooks', '2026-11-24 08:31:21.2908+00', true, '\x157d979e9a955770ac707b10b0df6210a902f4f0cc2206f23939cac331210ecc4ef918dedc07d72d9802d3f53a137c09', 11725512);
INSERT INTO shardwright._sqlx_migrations VALUES (17, 'count approvals', '2026-11-24 08:31:21.306083+00', true, '\x0cc254bbeb6f3efae1cf308c82d64ac0ed69c4fb7079374e49be943da8122c38a34a46d3ed1986e12cd8b11de609be91', 4205174);
INSERT INTO shardwright._sqlx_migrations VALUES (18, 'route by sql', '2026-11-24 08:31:21.307166+00', true, '\xf19986ffd603eb0593fe71d4005e6d9100f3158758ba4a4f406bd77a234f67122368f3798dbebd189e3230d8b2756a87', 1099690);


--
-- Data for Name: agent; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.agent VALUES ('a1', '8f87f2af-0602-4812-8403-2c17e3584ae4', 3, '2026-11-24 08:32:00.072213+00');


--
-- Data for Name: audit; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (1, '2026-11-24 08:31:21.662393+00', 'ada', 'token.created', 'token reader', '{"role": "viewer", "labels": {}, "ends_at": null}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (2, '2026-11-24 08:31:21.665632+00', 'ada', 'order', 'POST /api/v1/tokens', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (3, '2026-11-24 08:31:21.745385+00', 'ada', 'token.created', 'token a1', '{"role": "agent", "labels": {}, "ends_at": null}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (4, '2026-11-24 08:31:21.747581+00', 'ada', 'order', 'POST /api/v1/tokens', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (5, '2026-11-24 08:31:21.81883+00', 'ada', 'token.created', 'token gone', '{"role": "operator", "labels": {}, "ends_at": null}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (6, '2026-11-24 08:31:21.822992+00', 'ada', 'order', 'POST /api/v1/tokens', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (7, '2026-11-24 08:31:21.906457+00', 'ada', 'token.revoked', 'token gone', '{"role": "operator", "reason": null}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (8, '2026-11-24 08:31:21.909168+00', 'ada', 'order', 'DELETE /api/v1/tokens/gone', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (9, '2026-11-24 08:31:21.984256+00', 'ada', 'shard.added', 'shard shard-a', '{}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (10, '2026-11-24 08:31:21.991766+00', 'ada', 'order', 'POST /api/v1/shards', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (11, '2026-11-24 08:31:22.117339+00', 'ada', 'shard.added', 'shard shard-b', '{}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (12, '2026-11-24 08:31:22.120231+00', 'ada', 'order', 'POST /api/v1/shards', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (13, '2026-11-24 08:31:22.201191+00', 'ada', 'map.created', 'map tenants', '{"mappings": 1, "strategy": "range"}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (14, '2026-11-24 08:31:22.204248+00', 'ada', 'order', 'POST /api/v1/maps', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (15, '2026-11-24 08:31:22.340405+00', 'ada', 'map.created', 'map items', '{"mappings": 1, "strategy": "range"}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (16, '2026-11-24 08:31:22.343566+00', 'ada', 'order', 'POST /api/v1/maps', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (17, '2026-11-24 08:31:22.614807+00', 'ada', 'order', 'POST /api/v1/doctor', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (18, '2026-11-24 08:31:22.93583+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (19, '2026-11-24 08:31:23.305888+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (20, '2026-11-24 08:31:25.879155+00', 'ada', 'order', 'POST /api/v1/migrations/m0qgxijasq/approve', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (21, '2026-11-24 08:31:26.556166+00', 'ada', 'order', 'POST /api/v1/migrations/m0qgxijasq/finish', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (22, '2026-11-24 08:31:28.725391+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (23, '2026-11-24 08:31:29.188289+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (24, '2026-11-24 08:31:32.162295+00', 'ada', 'order', 'POST /api/v1/migrations/mzyztsicfv/approve', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (25, '2026-11-24 08:31:32.748581+00', 'ada', 'order', 'POST /api/v1/migrations/mzyztsicfv/rollback', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (26, '2026-11-24 08:31:34.734254+00', 'ada', 'order', 'POST /api/v1/migrations/mzyztsicfv/finish', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (27, '2026-11-24 08:31:36.691433+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (28, '2026-11-24 08:31:37.111945+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (29, '2026-11-24 08:31:39.91468+00', 'ada', 'order', 'POST /api/v1/migrations/mxigro122s/abort', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (30, '2026-11-24 08:31:40.977549+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (31, '2026-11-24 08:31:41.589299+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (32, '2026-11-24 08:31:45.188628+00', 'ada', 'order', 'POST /api/v1/migrations/mq3qre0xqi/approve', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (33, '2026-11-24 08:31:46.572631+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (34, '2026-11-24 08:31:47.313661+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (35, '2026-11-24 08:31:48.033339+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (36, '2026-11-24 08:31:48.58703+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (37, '2026-11-24 08:31:49.225803+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (38, '2026-11-24 08:31:50.163097+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (39, '2026-11-24 08:31:50.855842+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (40, '2026-11-24 08:31:51.522349+00', 'ada', 'order', 'POST /api/v1/plans', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (41, '2026-11-24 08:31:52.351069+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (42, '2026-11-24 08:31:56.806755+00', 'ada', 'order', 'POST /api/v1/operations', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 201}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (43, '2026-11-24 08:31:58.341337+00', 'ada', 'order', 'POST /api/v1/migrations/mow79i53e3/pause', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (44, '2026-11-24 08:31:58.91434+00', 'ada', 'order', 'POST /api/v1/migrations/mow79i53e3/resume', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (45, '2026-11-24 08:31:59.492501+00', 'ada', 'order', 'POST /api/v1/maps/tenants/check', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (46, '2026-11-24 08:31:59.662612+00', 'ada', 'order', 'POST /api/v1/maps/tenants/load', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 422}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (47, '2026-11-24 08:31:59.872017+00', 'ada', 'order', 'POST /api/v1/fleet/reconcile', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');
INSERT INTO shardwright.audit OVERRIDING SYSTEM VALUE VALUES (48, '2026-11-24 08:32:00.12367+00', 'ada', 'order', 'POST /api/v1/fleet/cleanup', '{"why": null, "from": "127.0.0.1", "role": "admin", "outcome": 200}');


--
-- Data for Name: cleanup_record; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-b', 'guard', 'guard_m0qgxijasq', 'always', '2026-11-24 08:31:23.805284+00', '2026-11-24 08:31:32.867642+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:31:23.805284+00', '2026-11-24 08:31:32.867642+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:31:23.805284+00', '2026-11-24 08:31:32.867642+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:31:23.805284+00', '2026-11-24 08:31:32.867642+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:31:23.805284+00', '2026-11-24 08:31:32.867642+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-b', 'publication', 'shardwright_m0qgxijasq_rev', 'always', '2026-11-24 08:31:25.606541+00', '2026-11-24 08:31:32.867642+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-b', 'slot', 'shardwright_m0qgxijasq_rev', 'always', '2026-11-24 08:31:25.606541+00', '2026-11-24 08:31:32.867642+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-a', 'guard', 'guard_m0qgxijasq', 'always', '2026-11-24 08:31:24.216169+00', '2026-11-24 08:31:32.911657+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-a', 'publication', 'shardwright_m0qgxijasq_fwd', 'always', '2026-11-24 08:31:24.216169+00', '2026-11-24 08:31:32.911657+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:31:24.216169+00', '2026-11-24 08:31:32.911657+00');
INSERT INTO shardwright.cleanup_record VALUES ('m0qgxijasq', 'shard-a', 'slot', 'shardwright_m0qgxijasq_fwd', 'always', '2026-11-24 08:31:24.216169+00', '2026-11-24 08:31:32.911657+00');
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-b', 'slot', 'shardwright_mxigro122s_rev', 'always', '2026-11-24 08:31:39.663047+00', '2026-11-24 08:31:43.170571+00');
INSERT INTO shardwright.cleanup_record VALUES ('mq3qre0xqi', 'shard-b', 'publication', 'shardwright_mq3qre0xqi_rev', 'always', '2026-11-24 08:31:44.503887+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mq3qre0xqi', 'shard-b', 'slot', 'shardwright_mq3qre0xqi_rev', 'always', '2026-11-24 08:31:44.503887+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:31:53.136554+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-b', 'guard', 'guard_mzyztsicfv', 'always', '2026-11-24 08:31:29.974385+00', '2026-11-24 08:31:37.978223+00');
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:31:29.974385+00', '2026-11-24 08:31:37.978223+00');
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:31:29.974385+00', '2026-11-24 08:31:37.978223+00');
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:31:29.974385+00', '2026-11-24 08:31:37.978223+00');
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:31:29.974385+00', '2026-11-24 08:31:37.978223+00');
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-b', 'publication', 'shardwright_mzyztsicfv_rev', 'always', '2026-11-24 08:31:31.905836+00', '2026-11-24 08:31:37.978223+00');
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-b', 'slot', 'shardwright_mzyztsicfv_rev', 'always', '2026-11-24 08:31:31.905836+00', '2026-11-24 08:31:37.978223+00');
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-a', 'guard', 'guard_mzyztsicfv', 'always', '2026-11-24 08:31:30.227262+00', '2026-11-24 08:31:37.982283+00');
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-a', 'publication', 'shardwright_mzyztsicfv_fwd', 'always', '2026-11-24 08:31:30.227262+00', '2026-11-24 08:31:37.982283+00');
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:31:30.227262+00', '2026-11-24 08:31:37.982283+00');
INSERT INTO shardwright.cleanup_record VALUES ('mzyztsicfv', 'shard-a', 'slot', 'shardwright_mzyztsicfv_fwd', 'always', '2026-11-24 08:31:30.227262+00', '2026-11-24 08:31:37.982283+00');
INSERT INTO shardwright.cleanup_record VALUES ('mq3qre0xqi', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:31:42.283281+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mq3qre0xqi', 'shard-b', 'guard', 'guard_mq3qre0xqi', 'always', '2026-11-24 08:31:42.283281+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mq3qre0xqi', 'shard-b', 'table', 'public.items', 'on_failure', '2026-11-24 08:31:42.283281+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mq3qre0xqi', 'shard-a', 'publication', 'shardwright_mq3qre0xqi_fwd', 'always', '2026-11-24 08:31:42.53184+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mq3qre0xqi', 'shard-a', 'slot', 'shardwright_mq3qre0xqi_fwd', 'always', '2026-11-24 08:31:42.53184+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mq3qre0xqi', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:31:42.53184+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mq3qre0xqi', 'shard-a', 'guard', 'guard_mq3qre0xqi', 'always', '2026-11-24 08:31:42.53184+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-a', 'guard', 'guard_mxigro122s', 'always', '2026-11-24 08:31:38.189613+00', '2026-11-24 08:31:43.070418+00');
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-a', 'publication', 'shardwright_mxigro122s_fwd', 'always', '2026-11-24 08:31:38.189613+00', '2026-11-24 08:31:43.070418+00');
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:31:38.189613+00', '2026-11-24 08:31:43.070418+00');
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-a', 'slot', 'shardwright_mxigro122s_fwd', 'always', '2026-11-24 08:31:38.189613+00', '2026-11-24 08:31:43.070418+00');
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-b', 'guard', 'guard_mxigro122s', 'always', '2026-11-24 08:31:37.870436+00', '2026-11-24 08:31:43.170571+00');
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:31:37.870436+00', '2026-11-24 08:31:43.170571+00');
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:31:37.870436+00', '2026-11-24 08:31:43.170571+00');
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:31:37.870436+00', '2026-11-24 08:31:43.170571+00');
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:31:37.870436+00', '2026-11-24 08:31:43.170571+00');
INSERT INTO shardwright.cleanup_record VALUES ('mxigro122s', 'shard-b', 'publication', 'shardwright_mxigro122s_rev', 'always', '2026-11-24 08:31:39.663047+00', '2026-11-24 08:31:43.170571+00');
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-b', 'guard', 'guard_mag8q49utx', 'always', '2026-11-24 08:31:53.136554+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:31:53.136554+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:31:53.136554+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:31:53.136554+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-a', 'publication', 'shardwright_mag8q49utx_fwd', 'always', '2026-11-24 08:31:53.458319+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-a', 'slot', 'shardwright_mag8q49utx_fwd', 'always', '2026-11-24 08:31:53.458319+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:31:53.458319+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-a', 'guard', 'guard_mag8q49utx', 'always', '2026-11-24 08:31:53.458319+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-b', 'publication', 'shardwright_mag8q49utx_rev', 'always', '2026-11-24 08:31:55.788562+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mag8q49utx', 'shard-b', 'slot', 'shardwright_mag8q49utx_rev', 'always', '2026-11-24 08:31:55.788562+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mow79i53e3', 'shard-b', 'schema', 'shardwright', 'always', '2026-11-24 08:31:57.54702+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mow79i53e3', 'shard-b', 'guard', 'guard_mow79i53e3', 'always', '2026-11-24 08:31:57.54702+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mow79i53e3', 'shard-b', 'table', 'public.tenants', 'on_failure', '2026-11-24 08:31:57.54702+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mow79i53e3', 'shard-b', 'table', 'public.accounts', 'on_failure', '2026-11-24 08:31:57.54702+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mow79i53e3', 'shard-b', 'table', 'public.orders', 'on_failure', '2026-11-24 08:31:57.54702+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mow79i53e3', 'shard-a', 'publication', 'shardwright_mow79i53e3_fwd', 'always', '2026-11-24 08:31:57.799046+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mow79i53e3', 'shard-a', 'slot', 'shardwright_mow79i53e3_fwd', 'always', '2026-11-24 08:31:57.799046+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mow79i53e3', 'shard-a', 'schema', 'shardwright', 'always', '2026-11-24 08:31:57.799046+00', NULL);
INSERT INTO shardwright.cleanup_record VALUES ('mow79i53e3', 'shard-a', 'guard', 'guard_mow79i53e3', 'always', '2026-11-24 08:31:57.799046+00', NULL);


--
-- Data for Name: event; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.event VALUES ('m0qgxijasq', 1, '2026-11-24 08:31:23.270511+00', 'ada', 'migration.submitted', NULL, '{"operation": "m0qgxijasq", "plan_hash": "16bba6ab9d56e34b4b71071d5573c14c4901386710be2d6c829b8f1830ae701a", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 2, '2026-11-24 08:31:23.327057+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 3, '2026-11-24 08:31:23.35353+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 4, '2026-11-24 08:31:23.761315+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 5, '2026-11-24 08:31:23.779717+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 6, '2026-11-24 08:31:24.168332+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 7, '2026-11-24 08:31:24.175979+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 8, '2026-11-24 08:31:24.425407+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 9, '2026-11-24 08:31:24.437015+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 10, '2026-11-24 08:31:24.787608+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 11, '2026-11-24 08:31:24.803707+00', 'a1', 'step.dispatched', 'catch_up', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 12, '2026-11-24 08:31:24.971042+00', 'a1', 'step.completed', 'catch_up', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 13, '2026-11-24 08:31:25.003799+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 14, '2026-11-24 08:31:25.213799+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 15, '2026-11-24 08:31:25.23212+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 16, '2026-11-24 08:31:25.490857+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 17, '2026-11-24 08:31:25.499857+00', 'a1', 'step.dispatched', 'open_reverse', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 18, '2026-11-24 08:31:25.660895+00', 'a1', 'step.completed', 'open_reverse', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 19, '2026-11-24 08:31:25.673657+00', 'controller', 'migration.held', NULL, '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 20, '2026-11-24 08:31:25.874102+00', 'ada', 'migration.approved', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 21, '2026-11-24 08:31:25.890593+00', 'a1', 'step.dispatched', 'cutover', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 22, '2026-11-24 08:31:26.151393+00', 'controller', 'ownership.fence', NULL, '{"attempt": 1, "map_version": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 23, '2026-11-24 08:31:26.268785+00', 'controller', 'ownership.flip', NULL, '{"attempt": 1, "map_version": 2}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 24, '2026-11-24 08:31:26.268785+00', 'controller', 'migration.flipped', NULL, '{"attempt": 1, "map_version": 2}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 25, '2026-11-24 08:31:26.294622+00', 'a1', 'step.completed', 'cutover', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 26, '2026-11-24 08:31:26.320726+00', 'a1', 'step.dispatched', 'hold', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 27, '2026-11-24 08:31:26.545351+00', 'ada', 'hold.ended', NULL, '{"end": "finish", "reason": null}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 28, '2026-11-24 08:31:27.549366+00', 'a1', 'step.completed', 'hold', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 29, '2026-11-24 08:31:27.55915+00', 'controller', 'ownership.complete', NULL, '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 30, '2026-11-24 08:31:27.575535+00', 'a1', 'step.dispatched', 'drop_old', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 31, '2026-11-24 08:31:28.03242+00', 'a1', 'step.completed', 'drop_old', '{}');
INSERT INTO shardwright.event VALUES ('m0qgxijasq', 32, '2026-11-24 08:31:28.053901+00', 'controller', 'migration.completed', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 1, '2026-11-24 08:31:29.167954+00', 'ada', 'migration.submitted', NULL, '{"operation": "mzyztsicfv", "plan_hash": "aa7019cd290ef918f945264ad883fa15dfebf136fa558e92893fed8ca8560800", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 2, '2026-11-24 08:31:29.192651+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 3, '2026-11-24 08:31:29.222584+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 4, '2026-11-24 08:31:29.93102+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 5, '2026-11-24 08:31:29.9401+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 6, '2026-11-24 08:31:30.162695+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 7, '2026-11-24 08:31:30.186495+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 8, '2026-11-24 08:31:30.449815+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 9, '2026-11-24 08:31:30.457321+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 10, '2026-11-24 08:31:30.898551+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 11, '2026-11-24 08:31:30.910697+00', 'a1', 'step.dispatched', 'catch_up', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 12, '2026-11-24 08:31:31.108492+00', 'a1', 'step.completed', 'catch_up', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 13, '2026-11-24 08:31:31.116554+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 14, '2026-11-24 08:31:31.35384+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 15, '2026-11-24 08:31:31.368338+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 16, '2026-11-24 08:31:31.763482+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 17, '2026-11-24 08:31:31.774209+00', 'a1', 'step.dispatched', 'open_reverse', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 18, '2026-11-24 08:31:31.988237+00', 'a1', 'step.completed', 'open_reverse', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 19, '2026-11-24 08:31:31.99672+00', 'controller', 'migration.held', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 20, '2026-11-24 08:31:32.151112+00', 'ada', 'migration.approved', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 21, '2026-11-24 08:31:32.163559+00', 'a1', 'step.dispatched', 'cutover', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 22, '2026-11-24 08:31:32.354399+00', 'controller', 'ownership.fence', NULL, '{"attempt": 1, "map_version": 2}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 23, '2026-11-24 08:31:32.474577+00', 'controller', 'ownership.flip', NULL, '{"attempt": 1, "map_version": 3}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 24, '2026-11-24 08:31:32.474577+00', 'controller', 'migration.flipped', NULL, '{"attempt": 1, "map_version": 3}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 25, '2026-11-24 08:31:32.500012+00', 'a1', 'step.completed', 'cutover', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 26, '2026-11-24 08:31:32.515998+00', 'a1', 'step.dispatched', 'hold', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 27, '2026-11-24 08:31:32.741545+00', 'ada', 'hold.ended', NULL, '{"end": "rollback", "reason": null}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 28, '2026-11-24 08:31:33.559615+00', 'a1', 'step.completed', 'hold', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 29, '2026-11-24 08:31:33.573773+00', 'controller', 'step.dropped', 'drop_old', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 30, '2026-11-24 08:31:33.580603+00', 'a1', 'step.dispatched', 'rollback', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 34, '2026-11-24 08:31:34.431846+00', 'a1', 'step.completed', 'rollback', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 31, '2026-11-24 08:31:34.201398+00', 'controller', 'ownership.fence_back', NULL, '{"attempt": 2, "map_version": 3}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 1, '2026-11-24 08:31:37.074127+00', 'ada', 'migration.submitted', NULL, '{"operation": "mxigro122s", "plan_hash": "af6a1e4308d0fdbbdbcc8bb9f1cdb9f2a6cf1743870df0c96f8fa63bd30afe62", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 5, '2026-11-24 08:31:37.771978+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 11, '2026-11-24 08:31:38.829546+00', 'a1', 'step.dispatched', 'catch_up', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 24, '2026-11-24 08:31:40.335301+00', 'controller', 'step.dropped', 'cutover', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 25, '2026-11-24 08:31:40.335301+00', 'controller', 'step.dropped', 'hold', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 26, '2026-11-24 08:31:40.335301+00', 'controller', 'step.dropped', 'drop_old', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 27, '2026-11-24 08:31:40.335301+00', 'controller', 'migration.unwound', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 2, '2026-11-24 08:31:41.591369+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 19, '2026-11-24 08:31:44.619387+00', 'controller', 'migration.held', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 6, '2026-11-24 08:31:53.350648+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 12, '2026-11-24 08:31:54.774578+00', 'a1', 'step.completed', 'catch_up', '{}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 18, '2026-11-24 08:31:55.878194+00', 'a1', 'step.completed', 'open_reverse', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 32, '2026-11-24 08:31:34.358542+00', 'controller', 'ownership.flip_back', NULL, '{"attempt": 2, "map_version": 4}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 33, '2026-11-24 08:31:34.358542+00', 'controller', 'migration.rolled_back', NULL, '{"attempt": 2, "map_version": 4}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 35, '2026-11-24 08:31:34.450527+00', 'a1', 'step.dispatched', 'hold_back', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 7, '2026-11-24 08:31:38.124901+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 10, '2026-11-24 08:31:38.821824+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 22, '2026-11-24 08:31:39.917992+00', 'a1', 'step.dispatched', 'unwind', '{"agent": "a1", "epoch": 2}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 1, '2026-11-24 08:31:41.575836+00', 'ada', 'migration.submitted', NULL, '{"operation": "mq3qre0xqi", "plan_hash": "293e7f2a5d824cf8fde70e7fc94113b400334f758fb38abb4a420186c40eec75", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 3, '2026-11-24 08:31:41.596361+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 4, '2026-11-24 08:31:42.261277+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 20, '2026-11-24 08:31:45.182535+00', 'ada', 'migration.approved', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 4, '2026-11-24 08:31:57.520168+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 8, '2026-11-24 08:31:58.0624+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 11, '2026-11-24 08:31:58.813373+00', 'a1', 'step.interrupted', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 12, '2026-11-24 08:31:58.900968+00', 'ada', 'migration.resumed', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 36, '2026-11-24 08:31:34.71462+00', 'ada', 'hold.ended', NULL, '{"end": "finish", "reason": null}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 38, '2026-11-24 08:31:35.59143+00', 'a1', 'step.dispatched', 'drop_new', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 17, '2026-11-24 08:31:39.530709+00', 'a1', 'step.dispatched', 'open_reverse', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 37, '2026-11-24 08:31:35.583322+00', 'a1', 'step.completed', 'hold_back', '{}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 40, '2026-11-24 08:31:35.990609+00', 'controller', 'migration.completed', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 2, '2026-11-24 08:31:37.113349+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 14, '2026-11-24 08:31:39.214191+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 8, '2026-11-24 08:31:42.792979+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 10, '2026-11-24 08:31:43.428238+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 13, '2026-11-24 08:31:43.656338+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 15, '2026-11-24 08:31:43.952888+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 18, '2026-11-24 08:31:44.596427+00', 'a1', 'step.completed', 'open_reverse', '{}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 13, '2026-11-24 08:31:54.813179+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 5, '2026-11-24 08:31:57.533403+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 9, '2026-11-24 08:31:58.070866+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 10, '2026-11-24 08:31:58.335905+00', 'ada', 'migration.paused', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('mzyztsicfv', 39, '2026-11-24 08:31:35.961101+00', 'a1', 'step.completed', 'drop_new', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 3, '2026-11-24 08:31:37.136296+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 8, '2026-11-24 08:31:38.45779+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 19, '2026-11-24 08:31:39.755229+00', 'controller', 'migration.held', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 7, '2026-11-24 08:31:42.466099+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 1, '2026-11-24 08:31:52.267386+00', 'ada', 'migration.submitted', NULL, '{"operation": "mag8q49utx", "plan_hash": "c122c83c066da19fbcb8a9494100b6b15568420ae9d492aaf0007348f99e74bb", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 14, '2026-11-24 08:31:55.0735+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 3, '2026-11-24 08:31:56.833917+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 4, '2026-11-24 08:31:37.761365+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 13, '2026-11-24 08:31:38.970194+00', 'a1', 'step.dispatched', 'build_indexes', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 16, '2026-11-24 08:31:39.518325+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 18, '2026-11-24 08:31:39.73328+00', 'a1', 'step.completed', 'open_reverse', '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 9, '2026-11-24 08:31:42.814404+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 14, '2026-11-24 08:31:43.939307+00', 'a1', 'step.completed', 'build_indexes', '{}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 7, '2026-11-24 08:31:53.367663+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 19, '2026-11-24 08:31:55.908097+00', 'controller', 'migration.held', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 6, '2026-11-24 08:31:57.747605+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 6, '2026-11-24 08:31:38.100858+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 9, '2026-11-24 08:31:38.480197+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 12, '2026-11-24 08:31:38.961611+00', 'a1', 'step.completed', 'catch_up', '{}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 15, '2026-11-24 08:31:39.230681+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 20, '2026-11-24 08:31:39.910145+00', 'ada', 'ownership.abort', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 21, '2026-11-24 08:31:39.910145+00', 'ada', 'migration.aborted', NULL, '{"reason": null}');
INSERT INTO shardwright.event VALUES ('mxigro122s', 23, '2026-11-24 08:31:40.31282+00', 'a1', 'step.completed', 'unwind', '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 5, '2026-11-24 08:31:42.269054+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 6, '2026-11-24 08:31:42.443882+00', 'a1', 'step.completed', 'create_target', '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 11, '2026-11-24 08:31:43.447562+00', 'a1', 'step.dispatched', 'catch_up', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 12, '2026-11-24 08:31:43.644996+00', 'a1', 'step.completed', 'catch_up', '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 16, '2026-11-24 08:31:44.304232+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 17, '2026-11-24 08:31:44.314849+00', 'a1', 'step.dispatched', 'open_reverse', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 21, '2026-11-24 08:31:45.190097+00', 'a1', 'step.dispatched', 'cutover', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 22, '2026-11-24 08:31:45.491803+00', 'a1', 'step.gave_up', 'cutover', '{"attempt": 1, "failure": {"code": "schema.drift", "hint": "make both sides equal, then `resume`; or abort the migration", "retry": "none", "message": "the moving tables differ:\npublic.items, column later: on shard shard-a place 4 integer; on shard shard-b missing"}}');
INSERT INTO shardwright.event VALUES ('mq3qre0xqi', 23, '2026-11-24 08:31:45.491803+00', 'a1', 'migration.failed', NULL, '{"failure": {"code": "schema.drift", "hint": "make both sides equal, then `resume`; or abort the migration", "retry": "none", "message": "the moving tables differ:\npublic.items, column later: on shard shard-a place 4 integer; on shard shard-b missing"}}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 2, '2026-11-24 08:31:52.354007+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 3, '2026-11-24 08:31:52.362361+00', 'a1', 'step.dispatched', 'preflight', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 4, '2026-11-24 08:31:53.084604+00', 'a1', 'step.completed', 'preflight', '{}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 5, '2026-11-24 08:31:53.121036+00', 'a1', 'step.dispatched', 'create_target', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 8, '2026-11-24 08:31:53.911953+00', 'a1', 'step.completed', 'open_capture', '{}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 9, '2026-11-24 08:31:53.929705+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 10, '2026-11-24 08:31:54.534628+00', 'a1', 'step.completed', 'copy', '{}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 11, '2026-11-24 08:31:54.547746+00', 'a1', 'step.dispatched', 'catch_up', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 15, '2026-11-24 08:31:55.100668+00', 'a1', 'step.dispatched', 'verify', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 16, '2026-11-24 08:31:55.471808+00', 'a1', 'step.completed', 'verify', '{}');
INSERT INTO shardwright.event VALUES ('mag8q49utx', 17, '2026-11-24 08:31:55.479099+00', 'a1', 'step.dispatched', 'open_reverse', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 1, '2026-11-24 08:31:56.779782+00', 'ada', 'migration.submitted', NULL, '{"operation": "mow79i53e3", "plan_hash": "de16d71cd8533107095eb63c6ddaa0082f6918c91b7242e7e744d6253e51c8b2", "override_reason": null}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 2, '2026-11-24 08:31:56.808783+00', 'controller', 'migration.started', NULL, '{}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 7, '2026-11-24 08:31:57.756738+00', 'a1', 'step.dispatched', 'open_capture', '{"agent": "a1", "epoch": 1}');
INSERT INTO shardwright.event VALUES ('mow79i53e3', 13, '2026-11-24 08:31:58.940636+00', 'a1', 'step.dispatched', 'copy', '{"agent": "a1", "epoch": 1}');


--
-- Data for Name: hook; Type: TABLE DATA; Schema: shardwright; Owner: -
--



--
-- Data for Name: hook_cursor; Type: TABLE DATA; Schema: shardwright; Owner: -
--



--
-- Data for Name: keyed_order; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.keyed_order VALUES ('\xcf41f9980e54f0da41a93b60f78b2417ed64e8264ecde06ddda32b701d32a90c', '\x72647c2587839d357adc526f58e5fc6ad60191d57372ace890ab83e5d5724809', '2026-11-24 08:31:21.896077+00', 200, 'application/json', '\x7b226964223a2230316132306361652d353664392d373335622d613761652d316566383438643230636532222c226e616d65223a22676f6e65222c22726f6c65223a226f70657261746f72222c226c6162656c73223a7b7d2c22637265617465645f6174223a22323032362d31312d32345430383a33313a32312e3831373035365a222c22637265617465645f6279223a22616461222c227265766f6b65645f6174223a22323032362d31312d32345430383a33313a32312e3930323832395a222c227265766f6b65645f6279223a22616461227d');
INSERT INTO shardwright.keyed_order VALUES ('\x41ef9d4f26ebc09e99d525945ba4b3d42a011883ddffbad0ff4c820328b2e7cd', '\x2945eaebbfbaa9ac3469f208c6c535cf49fa341d785736d6c04c3a36c265f73d', '2026-11-24 08:31:21.977311+00', 201, 'application/json', '\x7b226e616d65223a2273686172642d61222c226e756d626572223a312c2264736e223a22686f73743d3132372e302e302e3120706f72743d333133323420757365723d6d6f7665722064626e616d653d73686f702070617373776f72643d247b656e763a53484152445f50415353574f52447d222c226c6162656c73223a7b7d2c226361706163697479223a3130302c22637265617465645f6174223a22323032362d31312d32345430383a33313a32312e3938323039375a227d');
INSERT INTO shardwright.keyed_order VALUES ('\xe8b5a339e20e7b1f8162b1c9d399ad071e8e9f7e6ecc283ff9295259f356af38', '\xccd00dd030f3b1749ec63ae8247ad04760b788c4325f019fb7b81ddaea75aac3', '2026-11-24 08:31:22.10685+00', 201, 'application/json', '\x7b226e616d65223a2273686172642d62222c226e756d626572223a322c2264736e223a22686f73743d3132372e302e302e3120706f72743d323635323120757365723d6d6f7665722064626e616d653d73686f702070617373776f72643d247b656e763a53484152445f50415353574f52447d222c226c6162656c73223a7b7d2c226361706163697479223a3130302c22637265617465645f6174223a22323032362d31312d32345430383a33313a32322e3131353439315a227d');
INSERT INTO shardwright.keyed_order VALUES ('\xe8326c732c6f31a17bef6c504a89901d591ecbabd4b9b5a0e56ab605de6fa738', '\xae729f1cad0bcf6719e8ba541f0c7a401728329e854a8874a3ece47416744c86', '2026-11-24 08:31:22.185047+00', 201, 'application/json', '\x7b226e616d65223a2274656e616e7473222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c226275636b657473223a302c2276657273696f6e223a312c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c2273657474696e6773223a7b2273657175656e636573223a22737472696465227d2c226d617070696e6773223a5b7b226b657973223a7b2272616e6765223a5b7b7d5d7d2c227368617264223a2273686172642d61222c227374617465223a22616374697665227d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x28fc56732177af3aee46c4771c96c2bef30a3c059b3ef8ec66e0940a1a5744e3', '\x79fa4af5dcbae61dea34d46e4f519690daec81fff3888d0167ed98f7e46ea624', '2026-11-24 08:31:22.335052+00', 201, 'application/json', '\x7b226e616d65223a226974656d73222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c226275636b657473223a302c2276657273696f6e223a312c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c2273657474696e6773223a7b2273657175656e636573223a22737472696465227d2c226d617070696e6773223a5b7b226b657973223a7b2272616e6765223a5b7b7d5d7d2c227368617264223a2273686172642d61222c227374617465223a22616374697665227d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xc10172ab5ee480e43885d56249db29728138d18e088a99e0f602dc38e0571672', '\x7c55f097cb101845df41c996a01e1510459dde271093c883b77e9a6dd8963334', '2026-11-24 08:31:23.035326+00', 201, 'application/json', '\x7b226964223a226d30716778696a617371222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a312c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2231366262613661623964353665333462346237313037316435353733633134633439303133383637313062653264366338323962386631383330616537303161222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3733372c226279746573223a34373234372c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a32332e3237303531315a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3733372c226279746573223a34373234372c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d30716778696a617371222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d30716778696a617371222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a312c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a32332e3237303531315a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x918e77cbd2c8651c81d7a0d47093b4ae7a827a010b4c3631287ae083c1ff2823', '\x81c3093ef02431731407ba9824691344a406504411847890eaa86c81b76169b2', '2026-11-24 08:31:25.870499+00', 200, 'application/json', '\x7b226964223a226d30716778696a617371222c227374617465223a2272756e6e696e67222c226f7065726174696f6e5f6964223a226d30716778696a617371222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a312c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a32332e3237303531315a222c22737461727465645f6174223a22323032362d31312d32345430383a33313a32332e3332373035375a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32302c22706c616e5f68617368223a2231366262613661623964353665333462346237313037316435353733633134633439303133383637313062653264366338323962386631383330616537303161222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2238663837663261662d303630322d343831322d383430332d326331376533353834616534222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32332e3335333533305a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32332e3736313331355a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363532373736323430303833323339222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363532373736303835323538353333222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32332e3737393731375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32342e3136383333325a222c226f7574707574223a7b2263726561746564223a747275652c226f626a65637473223a31327d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207461626c65732c20726567697374657220616e6420677561726473206f6e2074686520746172676574222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32342e3137353937395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32342e3432353430375a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31464245393230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32342e3433373031355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32342e3738373630385a222c226f7574707574223a7b226279746573223a32333731352c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31353836312c22726f7773223a3639332c227365636f6e6473223a302e3130363937313531322c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e6720434f4e53545241494e54207075626c69632074656e616e74732074656e616e74735f706b6579222c227461626c6573223a5b7b227461626c65223a22434f4e53545241494e54207075626c69632074656e616e74732074656e616e74735f706b6579222c22726f77735f646f6e65223a302c22726f77735f746f74616c223a302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a226275696c64696e67227d5d2c22726f77735f7065725f7365636f6e64223a31323030392e3538393136333034353833392c2262797465735f7065725f7365636f6e64223a3431303937372e34393932383038353433362c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32342e3830333730375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32342e3937313034325a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32352e3030333739395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32352e3231333739395a222c226f7574707574223a7b226f626a65637473223a327d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a22464b20434f4e53545241494e54207075626c6963206f7264657273206f72646572735f74656e616e745f69645f666b6579222c22726f77735f646f6e65223a302c22726f77735f746f74616c223a302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a226275696c64696e67227d5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32352e3233323132305a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32352e3439303835375a222c226f7574707574223a7b226174223a22302f31464245444130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3639332c227461626c6573223a5b7b22646967657374223a223031306437393562623139316262373632656436626563383964623162336339222c22726f7773223a3139382c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a226263336439303136323131383530316164333331366634653030373133636231222c22726f7773223a3339362c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226337626566373031343532393661383039656237316131346361653330616433222c22726f7773223a39392c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3139382c22726f77735f746f74616c223a3139382c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3339362c22726f77735f746f74616c223a3339362c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a39392c22726f77735f746f74616c223a39392c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a3130313633382e3238323939303630362c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32352e3439393835375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32352e3636303839355a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31454532313030227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a3638382c227065616b5f6279746573223a3638382c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333238373830302c226170706c6965645f6174223a33333238373830302c226c61675f6d73223a302c227472616e73616374696f6e73223a362c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a312c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226e6577222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3733372c226279746573223a34373234372c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2231366262613661623964353665333462346237313037316435353733633134633439303133383637313062653264366338323962386631383330616537303161227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xe22c08590bde44398086ec487f791e63426badcf5a9e640d1dfeae7e9c0bf559', '\x4e983420fcdaeb87d3f68fc4d940a4cb82c3d81f35bc3d4a35a0cef7cbd544d8', '2026-11-24 08:31:26.54181+00', 200, 'application/json', '\x7b226964223a226d30716778696a617371222c227374617465223a22666c6970706564222c226f7065726174696f6e5f6964223a226d30716778696a617371222c226d6f7665223a226d31222c226f776e657273686970223a22666c6970706564222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a312c226166746572223a322c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a32332e3237303531315a222c22737461727465645f6174223a22323032362d31312d32345430383a33313a32332e3332373035375a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32362c22706c616e5f68617368223a2231366262613661623964353665333462346237313037316435353733633134633439303133383637313062653264366338323962386631383330616537303161222c22617474656d7074223a312c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2238663837663261662d303630322d343831322d383430332d326331376533353834616534222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a2266696e697368222c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32332e3335333533305a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32332e3736313331355a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363532373736323430303833323339222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363532373736303835323538353333222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32332e3737393731375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32342e3136383333325a222c226f7574707574223a7b2263726561746564223a747275652c226f626a65637473223a31327d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207461626c65732c20726567697374657220616e6420677561726473206f6e2074686520746172676574222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32342e3137353937395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32342e3432353430375a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31464245393230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32342e3433373031355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32342e3738373630385a222c226f7574707574223a7b226279746573223a32333731352c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31353836312c22726f7773223a3639332c227365636f6e6473223a302e3130363937313531322c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e6720434f4e53545241494e54207075626c69632074656e616e74732074656e616e74735f706b6579222c227461626c6573223a5b7b227461626c65223a22434f4e53545241494e54207075626c69632074656e616e74732074656e616e74735f706b6579222c22726f77735f646f6e65223a302c22726f77735f746f74616c223a302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a226275696c64696e67227d5d2c22726f77735f7065725f7365636f6e64223a31323030392e3538393136333034353833392c2262797465735f7065725f7365636f6e64223a3431303937372e34393932383038353433362c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32342e3830333730375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32342e3937313034325a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32352e3030333739395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32352e3231333739395a222c226f7574707574223a7b226f626a65637473223a327d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a22464b20434f4e53545241494e54207075626c6963206f7264657273206f72646572735f74656e616e745f69645f666b6579222c22726f77735f646f6e65223a302c22726f77735f746f74616c223a302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a226275696c64696e67227d5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32352e3233323132305a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32352e3439303835375a222c226f7574707574223a7b226174223a22302f31464245444130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3639332c227461626c6573223a5b7b22646967657374223a223031306437393562623139316262373632656436626563383964623162336339222c22726f7773223a3139382c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a226263336439303136323131383530316164333331366634653030373133636231222c22726f7773223a3339362c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226337626566373031343532393661383039656237316131346361653330616433222c22726f7773223a39392c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3139382c22726f77735f746f74616c223a3139382c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3339362c22726f77735f746f74616c223a3339362c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a39392c22726f77735f746f74616c223a39392c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a3130313633382e3238323939303630362c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32352e3439393835375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32352e3636303839355a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31454532313030227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32352e3839303539335a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32362e3239343632325a222c226f7574707574223a7b22617474656d7074223a312c2264697274795f6b657973223a302c226d61705f76657273696f6e223a322c2272656675736564223a302c2273746f72616765223a7b225c227075626c69635c222e5c226163636f756e74735c22223a22313639323020312074656e616e745f69642c32206964222c225c227075626c69635c222e5c226f72646572735c22223a22313639323820312074656e616e745f69642c322069642c3320616d6f756e74222c225c227075626c69635c222e5c2274656e616e74735c22223a22313639333820312069642c32206e616d65227d2c2277696e646f77223a7b22636865636b223a302e3238363637352c22647261696e223a352e3433313836322c22666c6970223a322e373932333438393939393939393939372c226f70656e223a312e3233323035362c227365616c223a342e3032323933323939393939393939392c22746f74616c223a31342e3334303736382c22776169745f6f7574223a302e3030333839357d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2273686172642073686172642d62206f776e7320746865206b6579733b206d61702076657273696f6e2032222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2272756e6e696e67222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32362e3332303732365a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c2c2273746174656d656e7473223a5b7b227368617264223a2273686172642d61222c22726f6c65223a22686f6c64222c2274657874223a2273656c6563742070675f636174616c6f672e70675f7465726d696e6174655f6261636b656e642824312c203130303029222c226d73223a32357d5d7d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a2272657665727365222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a32343432342c227065616b5f6279746573223a32343432342c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a333231362c227772697474656e5f6174223a33323430393139322c226170706c6965645f6174223a33323430393139322c226c61675f6d73223a302c227472616e73616374696f6e73223a312c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a312c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226e6577222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3733372c226279746573223a34373234372c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2231366262613661623964353665333462346237313037316435353733633134633439303133383637313062653264366338323962386631383330616537303161227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xf623d7c2d1073e4d7ba1c063fef22b5135a3b14c6811487d45cb5804038f287e', '\xf702af93033f88119462b2f50221f23ef7bb7f7c6d3681501dcbc521039ef531', '2026-11-24 08:31:28.830439+00', 201, 'application/json', '\x7b226964223a226d7a797a747369636676222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a322c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2261613730313963643239306566393138663934353236346164383833666131356466656266313336666135353865393238393366656438636138353630383030222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a32392e3136373935345a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d7a797a747369636676222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d7a797a747369636676222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a322c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a32392e3136373935345a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x5c45451eb1cc00ab9a26a00d3f77d363ebd2c38ab3d7961d58dd149512b647f3', '\x0d8b4e91ca7d662be45543af59f33459bbae893f74d6b1069dd6d4449f3f45c5', '2026-11-24 08:31:32.146551+00', 200, 'application/json', '\x7b226964223a226d7a797a747369636676222c227374617465223a2272756e6e696e67222c226f7065726174696f6e5f6964223a226d7a797a747369636676222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a322c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a32392e3136373935345a222c22737461727465645f6174223a22323032362d31312d32345430383a33313a32392e3139323635315a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32302c22706c616e5f68617368223a2261613730313963643239306566393138663934353236346164383833666131356466656266313336666135353865393238393366656438636138353630383030222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2238663837663261662d303630322d343831322d383430332d326331376533353834616534222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32392e3232323538345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32392e3933313032305a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363532373736323430303833323339222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363532373736303835323538353333222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32392e3934303130305a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33302e3136323639355a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33302e3138363439355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33302e3434393831355a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31464543374230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33302e3435373332315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33302e3839383535315a222c226f7574707574223a7b226279746573223a32343036332c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31363032312c22726f7773223a3730302c227365636f6e6473223a302e3039383431333032352c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a323832312c2262797465735f746f74616c223a393031312c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a353232312c2262797465735f746f74616c223a31313436382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a31363032312c2262797465735f746f74616c223a32343537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a31343431302e33353236363038353531352c2262797465735f7065725f7365636f6e64223a3439353336362e313635383235393339332c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33302e3931303639375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3130383439325a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33312e3131363535345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3335333834305a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33312e3336383333385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3736333438325a222c226f7574707574223a7b226174223a22302f31464543433130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3730302c227461626c6573223a5b7b22646967657374223a223533636563346331666236396234336665386439613961383136646634376264222c22726f7773223a3230302c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a223466353436383964323530326332356332323764326465313536656366383338222c22726f7773223a3430302c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226363366435326436363661373635633539623335306239613034646364623333222c22726f7773223a3130302c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a34323137312e3535353537343934313038352c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33312e3737343230395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3938383233375a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31463845313538227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a3430302c227065616b5f6279746573223a3430302c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333437353432342c226170706c6965645f6174223a33333437353432342c226c61675f6d73223a302c227472616e73616374696f6e73223a342c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a322c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2261613730313963643239306566393138663934353236346164383833666131356466656266313336666135353865393238393366656438636138353630383030227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xbd59852de778fda758f832a1d15313ce74d49007d850256b62a09167fb628e8b', '\xf031d63c22078615c31b93795bef3af78a53e6fd3620c36f351c3078705603ad', '2026-11-24 08:31:32.736437+00', 200, 'application/json', '\x7b226964223a226d7a797a747369636676222c227374617465223a22666c6970706564222c226f7065726174696f6e5f6964223a226d7a797a747369636676222c226d6f7665223a226d31222c226f776e657273686970223a22666c6970706564222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a322c226166746572223a332c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a32392e3136373935345a222c22737461727465645f6174223a22323032362d31312d32345430383a33313a32392e3139323635315a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32362c22706c616e5f68617368223a2261613730313963643239306566393138663934353236346164383833666131356466656266313336666135353865393238393366656438636138353630383030222c22617474656d7074223a312c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2238663837663261662d303630322d343831322d383430332d326331376533353834616534222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a22726f6c6c6261636b222c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32392e3232323538345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32392e3933313032305a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363532373736323430303833323339222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363532373736303835323538353333222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32392e3934303130305a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33302e3136323639355a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33302e3138363439355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33302e3434393831355a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31464543374230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33302e3435373332315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33302e3839383535315a222c226f7574707574223a7b226279746573223a32343036332c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31363032312c22726f7773223a3730302c227365636f6e6473223a302e3039383431333032352c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a323832312c2262797465735f746f74616c223a393031312c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a353232312c2262797465735f746f74616c223a31313436382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a31363032312c2262797465735f746f74616c223a32343537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a31343431302e33353236363038353531352c2262797465735f7065725f7365636f6e64223a3439353336362e313635383235393339332c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33302e3931303639375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3130383439325a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33312e3131363535345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3335333834305a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33312e3336383333385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3736333438325a222c226f7574707574223a7b226174223a22302f31464543433130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3730302c227461626c6573223a5b7b22646967657374223a223533636563346331666236396234336665386439613961383136646634376264222c22726f7773223a3230302c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a223466353436383964323530326332356332323764326465313536656366383338222c22726f7773223a3430302c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226363366435326436363661373635633539623335306239613034646364623333222c22726f7773223a3130302c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a34323137312e3535353537343934313038352c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33312e3737343230395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3938383233375a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31463845313538227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33322e3136333535395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33322e3530303031325a222c226f7574707574223a7b22617474656d7074223a312c2264697274795f6b657973223a302c226d61705f76657273696f6e223a332c2272656675736564223a302c2273746f72616765223a7b225c227075626c69635c222e5c226163636f756e74735c22223a22313639323020312074656e616e745f69642c32206964222c225c227075626c69635c222e5c226f72646572735c22223a22313639323820312074656e616e745f69642c322069642c3320616d6f756e74222c225c227075626c69635c222e5c2274656e616e74735c22223a22313639333820312069642c32206e616d65227d2c2277696e646f77223a7b22636865636b223a302e3632383130312c22647261696e223a342e3334323734372c22666c6970223a322e3834343838372c226f70656e223a312e3433343431362c227365616c223a342e3034393234333030303030303030312c22746f74616c223a31352e3532333432322c22776169745f6f7574223a302e3030343333377d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2273686172642073686172642d62206f776e7320746865206b6579733b206d61702076657273696f6e2033222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2272756e6e696e67222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33322e3531353939385a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2273686172642073686172642d62206f776e7320746865206b6579733b206d61702076657273696f6e2033222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a2272657665727365222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a32353634302c227065616b5f6279746573223a32353634302c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333131333431362c226170706c6965645f6174223a302c226c61675f6d73223a302c227472616e73616374696f6e73223a302c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a322c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2261613730313963643239306566393138663934353236346164383833666131356466656266313336666135353865393238393366656438636138353630383030227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x69bfe0b7a1e0fbabb0befc6ad4f5ce8052f62f47bf8f805614ec2d7a8542ad56', '\x759e2c0459946fccea235f6ad9b9f5219b66dbb445816b6150e0c25c20488100', '2026-11-24 08:31:34.702587+00', 200, 'application/json', '\x7b226964223a226d7a797a747369636676222c227374617465223a22726f6c6c65645f6261636b222c226f7065726174696f6e5f6964223a226d7a797a747369636676222c226d6f7665223a226d31222c226f776e657273686970223a22726f6c6c65645f6261636b222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a322c226166746572223a332c226261636b223a347d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a32392e3136373935345a222c22737461727465645f6174223a22323032362d31312d32345430383a33313a32392e3139323635315a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a33342c22706c616e5f68617368223a2261613730313963643239306566393138663934353236346164383833666131356466656266313336666135353865393238393366656438636138353630383030222c22617474656d7074223a322c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2238663837663261662d303630322d343831322d383430332d326331376533353834616534222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a2266696e697368222c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32392e3232323538345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a32392e3933313032305a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363532373736323430303833323339222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363532373736303835323538353333222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a32392e3934303130305a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33302e3136323639355a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33302e3138363439355a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33302e3434393831355a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31464543374230227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33302e3435373332315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33302e3839383535315a222c226f7574707574223a7b226279746573223a32343036332c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31363032312c22726f7773223a3730302c227365636f6e6473223a302e3039383431333032352c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a323832312c2262797465735f746f74616c223a393031312c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a353232312c2262797465735f746f74616c223a31313436382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a31363032312c2262797465735f746f74616c223a32343537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a31343431302e33353236363038353531352c2262797465735f7065725f7365636f6e64223a3439353336362e313635383235393339332c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33302e3931303639375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3130383439325a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33312e3131363535345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3335333834305a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33312e3336383333385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3736333438325a222c226f7574707574223a7b226174223a22302f31464543433130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3730302c227461626c6573223a5b7b22646967657374223a223533636563346331666236396234336665386439613961383136646634376264222c22726f7773223a3230302c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a223466353436383964323530326332356332323764326465313536656366383338222c22726f7773223a3430302c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a226363366435326436363661373635633539623335306239613034646364623333222c22726f7773223a3130302c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a34323137312e3535353537343934313038352c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33312e3737343230395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33312e3938383233375a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f31463845313538227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33322e3136333535395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33322e3530303031325a222c226f7574707574223a7b22617474656d7074223a312c2264697274795f6b657973223a302c226d61705f76657273696f6e223a332c2272656675736564223a302c2273746f72616765223a7b225c227075626c69635c222e5c226163636f756e74735c22223a22313639323020312074656e616e745f69642c32206964222c225c227075626c69635c222e5c226f72646572735c22223a22313639323820312074656e616e745f69642c322069642c3320616d6f756e74222c225c227075626c69635c222e5c2274656e616e74735c22223a22313639333820312069642c32206e616d65227d2c2277696e646f77223a7b22636865636b223a302e3632383130312c22647261696e223a342e3334323734372c22666c6970223a322e3834343838372c226f70656e223a312e3433343431362c227365616c223a342e3034393234333030303030303030312c22746f74616c223a31352e3532333432322c22776169745f6f7574223a302e3030343333377d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2273686172642073686172642d62206f776e7320746865206b6579733b206d61702076657273696f6e2033222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33322e3531353939385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33332e3535393631355a222c226f7574707574223a7b7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22746865206f6c6420636f7079206973206b65707420696e20737465703b206066696e6973686020656e647320746869732c2060726f6c6c6261636b6020676976657320746865206b657973206261636b222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a22736b6970706564222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22726f6c6c6261636b222c226b696e64223a22726f6c6c6261636b222c2273756d6d617279223a226769766520746865206b657973206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33332e3538303630335a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33342e3433313834365a222c226f7574707574223a7b22617474656d7074223a322c2264697274795f6b657973223a302c226d61705f76657273696f6e223a342c2272656675736564223a302c2273746f72616765223a7b225c227075626c69635c222e5c226163636f756e74735c22223a22313633393420312074656e616e745f69642c32206964222c225c227075626c69635c222e5c226f72646572735c22223a22313634303420312074656e616e745f69642c322069642c3320616d6f756e74222c225c227075626c69635c222e5c2274656e616e74735c22223a22313633383720312069642c32206e616d65227d2c2277696e646f77223a7b22636865636b223a342e3135303536332c22647261696e223a31312e3437303531342c22666c6970223a32322e3135343233312c226f70656e223a312e3735333132332c227365616c223a31352e3630303138362c22746f74616c223a36302e3032333238313939393939393939352c22776169745f6f7574223a302e3030353633383030303030303030303030317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2273686172642073686172642d61206f776e7320746865206b6579733b206d61702076657273696f6e2034222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22686f6c645f6261636b222c226b696e64223a22686f6c645f6261636b222c2273756d6d617279223a226b6565702074686520746172676574277320636f707920696e20737465703b20616e6f74686572206375746f76657220697320706f737369626c65222c227374617465223a2272756e6e696e67222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33342e3435303532375a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a2264726f705f6e6577222c226b696e64223a2264726f705f6e6577222c2273756d6d617279223a2264726f702074686520746172676574277320636f7079222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a363033322c227065616b5f6279746573223a363033322c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333530323030382c226170706c6965645f6174223a302c226c61675f6d73223a302c227472616e73616374696f6e73223a302c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a322c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3130302c22746f223a3230307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2261613730313963643239306566393138663934353236346164383833666131356466656266313336666135353865393238393366656438636138353630383030227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x623620cec5f58527795d7bbe3af2fcbfffb03be358ca3ff0695cb89587555acd', '\xf0859bdf34e23101e748e1376f6775def1419443ea4d57a17a752ff091d1161e', '2026-11-24 08:31:36.783249+00', 201, 'application/json', '\x7b226964223a226d786967726f31323273222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a342c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2261663661316534333038643066646262646263633862623966316364623966326136636631373433383730646630633936663866613633626433306166653632222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a33372e3037343132375a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d786967726f31323273222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d786967726f31323273222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3230302c22746f223a3330307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a342c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a33372e3037343132375a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x4647aa2532be4217f2f57cf176f6267cba619d9e40537453ee35deae1f7270b1', '\x889e9f7db5e6d9e3d66c62f37941129cbae7fc46a4e04f6e43d7b57c6730d2ad', '2026-11-24 08:31:39.907314+00', 200, 'application/json', '\x7b226964223a226d786967726f31323273222c227374617465223a22756e77696e64696e67222c226f7065726174696f6e5f6964223a226d786967726f31323273222c226d6f7665223a226d31222c226f776e657273686970223a2261626f72746564222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3230302c22746f223a3330307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a342c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a33372e3037343132375a222c22737461727465645f6174223a22323032362d31312d32345430383a33313a33372e3131333334395a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32302c22706c616e5f68617368223a2261663661316534333038643066646262646263633862623966316364623966326136636631373433383730646630633936663866613633626433306166653632222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2238663837663261662d303630322d343831322d383430332d326331376533353834616534222c226c697665223a747275657d2c22617070726f766564223a66616c73652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33372e3133363239365a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33372e3736313336355a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363532373736323430303833323339222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363532373736303835323538353333222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33372e3737313937385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33382e3130303835385a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33382e3132343930315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33382e3435373739305a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32303038413430227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33382e3438303139375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33382e3832313832345a222c226f7574707574223a7b226279746573223a32343036332c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a31363032312c22726f7773223a3730302c227365636f6e6473223a302e3130393134343533322c22736e617073686f7473223a312c22756e697473223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a323832312c2262797465735f746f74616c223a393031312c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a353232312c2262797465735f746f74616c223a31313436382c227068617365223a22636f7079696e67227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a31363032312c2262797465735f746f74616c223a32343537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a31333937342e3638323632363437323932342c2262797465735f7065725f7365636f6e64223a3438303338392e363937323031313638352c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33382e3832393534365a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33382e3936313631315a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33382e3937303139345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33392e3231343139315a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6f7264657273222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33392e3233303638315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33392e3531383332355a222c226f7574707574223a7b226174223a22302f32303038444130222c226368756e6b73223a332c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3730302c227461626c6573223a5b7b22646967657374223a226634653163633730613939663232663630666663643331313466656233376433222c22726f7773223a3230302c227461626c65223a227075626c69632e6163636f756e7473227d2c7b22646967657374223a226435656263343166313762353837303138656261323139366438623837613566222c22726f7773223a3430302c227461626c65223a227075626c69632e6f7264657273227d2c7b22646967657374223a223565336632663734613633386332653036646335643964656263636634363037222c22726f7773223a3130302c227461626c65223a227075626c69632e74656e616e7473227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6f7264657273222c227461626c6573223a5b7b227461626c65223a227075626c69632e6163636f756e7473222c22726f77735f646f6e65223a3230302c22726f77735f746f74616c223a3230302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e6f7264657273222c22726f77735f646f6e65223a3430302c22726f77735f746f74616c223a3430302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d2c7b227461626c65223a227075626c69632e74656e616e7473222c22726f77735f646f6e65223a3130302c22726f77735f746f74616c223a3130302c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a3131323731352e38363239353432353730312c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a33392e3533303730395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a33392e3733333238305a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32303531393830227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22756e77696e64222c226b696e64223a22756e77696e64222c2273756d6d617279223a2274616b65206261636b2065766572797468696e672074686174207761732063726561746564222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a3430302c227065616b5f6279746573223a3430302c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333539303930342c226170706c6965645f6174223a33333539303930342c226c61675f6d73223a302c227472616e73616374696f6e73223a362c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a342c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3230302c22746f223a3330307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2261663661316534333038643066646262646263633862623966316364623966326136636631373433383730646630633936663866613633626433306166653632227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xede97dacef836167680ad4bc3ce1f9144e75b98c3b9561380ab3d11a26c7c26a', '\x0a1dc654350be476c2d805e36e679bff11a645b4730f784d22a0823366468646', '2026-11-24 08:31:45.179521+00', 200, 'application/json', '\x7b226964223a226d713371726530787169222c227374617465223a2272756e6e696e67222c226f7065726174696f6e5f6964223a226d713371726530787169222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a226974656d73222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a312c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a34312e3537353833365a222c22737461727465645f6174223a22323032362d31312d32345430383a33313a34312e3539313336395a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a32302c22706c616e5f68617368223a2232393365376632613564383234636638666465373065376663393431313362343030333334663735386662333861626234613432303138366334306565633735222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2238663837663261662d303630322d343831322d383430332d326331376533353834616534222c226c697665223a747275657d2c22617070726f766564223a747275652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b7d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a34312e3539363336315a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a34322e3236313237375a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363532373736323430303833323339222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363532373736303835323538353333222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a34322e3236393035345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a34322e3434333838325a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a34322e3436363039395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a34322e3739323937395a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32303137443730227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a34322e3831343430345a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a34332e3432383233385a222c226f7574707574223a7b226279746573223a373533382c2262797465735f7477696365223a302c226c6172676573745f6368756e6b5f6279746573223a373533382c22726f7773223a3139382c227365636f6e6473223a302e31343737363538362c22736e617073686f7473223a312c22756e697473223a317d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226275696c64696e67207072696d617279206b657973222c227461626c6573223a5b7b227461626c65223a227075626c69632e6974656d73222c22726f77735f646f6e65223a3139382c22726f77735f746f74616c223a3231332c2262797465735f646f6e65223a373533382c2262797465735f746f74616c223a31363537362c227068617365223a22636f7079696e67227d5d2c22726f77735f7065725f7365636f6e64223a323633372e3833323232393437333831382c2262797465735f7065725f7365636f6e64223a3130303432342e313338313039393637392c226574615f7365636f6e6473223a302e307d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a34332e3434373536325a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a34332e3634343939365a222c226f7574707574223a7b226368616e676573223a302c227472616e73616374696f6e73223a337d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226170706c79696e67206368616e6765732074686174207765726520636170747572656420647572696e672074686520636f7079222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a34332e3635363333385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a34332e3933393330375a222c226f7574707574223a7b226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22616e616c797a696e67207075626c69632e6974656d73222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a34332e3935323838385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a34342e3330343233325a222c226f7574707574223a7b226174223a22302f32303138304538222c226368756e6b73223a312c226368756e6b735f6b657074223a302c22646966666572656e74223a302c227265706169726564223a302c22726f77735f636f6d7061726564223a3139382c227461626c6573223a5b7b22646967657374223a223466336663336165393435366535303632353936306630643933653536636138222c22726f7773223a3139382c227461626c65223a227075626c69632e6974656d73227d5d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f6d706172696e67207075626c69632e6974656d73222c227461626c6573223a5b7b227461626c65223a227075626c69632e6974656d73222c22726f77735f646f6e65223a3139382c22726f77735f746f74616c223a3139382c2262797465735f646f6e65223a302c2262797465735f746f74616c223a302c227068617365223a22636f6d7061726564227d5d2c22726f77735f7065725f7365636f6e64223a33373638322e33353236313230343336332c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a34342e3331343834395a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a34342e3539363432375a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32304544313138227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e67207468652073747265616d206261636b20746f2074686520736f75726365222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a226c697665222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a3838382c227065616b5f6279746573223a3838382c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333635333138342c226170706c6965645f6174223a33333635333138342c226c61675f6d73223a302c227472616e73616374696f6e73223a362c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a226974656d73222c226d61705f76657273696f6e223a312c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c2274656e616e7473222c226163636f756e7473222c226f7264657273225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a312c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223330656637353063343131613032343932393763316130373963653661613738222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226974656d73227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e6f7465222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3135353634382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a3231332c226279746573223a31363537362c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2232393365376632613564383234636638666465373065376663393431313362343030333334663735386662333861626234613432303138366334306565633735227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xbd490032bd43984e4c6f75544db580599f686e4ab0babfb1f398d90c92ec545a', '\x32fca1e10c1449e9801df3f55ccca86260fda3f07790e0114f549e0bf00e5668', '2026-11-24 08:31:58.88072+00', 200, 'application/json', '\x7b226964223a226d6f7737396935336533222c227374617465223a2272756e6e696e67222c226f7065726174696f6e5f6964223a226d6f7737396935336533222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3530307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a342c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a35362e3737393738325a222c22737461727465645f6174223a22323032362d31312d32345430383a33313a35362e3830383738335a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a31322c22706c616e5f68617368223a2264653136643731636438353333313037303935656236336336646461613030383266363931386339316237323432653765373434643632353365353163386232222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2238663837663261662d303630322d343831322d383430332d326331376533353834616534222c226c697665223a747275657d2c22617070726f766564223a66616c73652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b22726174655f62797465735f73223a313032347d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a35362e3833333931375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a35372e3532303136385a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363532373736323430303833323339222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363532373736303835323538353333222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a35372e3533333430335a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a35372e3734373630355a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a35372e3735363733385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a35382e3036323430305a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32303342383930227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a35382e3037303836365a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636f7079696e67222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a7b22646972656374696f6e223a22666f7277617264222c226d6f6465223a2273706f6f6c696e67222c2273706f6f6c65645f6279746573223a302c2272657461696e6564223a7b226279746573223a3430302c227065616b5f6279746573223a3430302c2277616c5f737461747573223a227265736572766564222c22736166655f6279746573223a6e756c6c7d2c226475616c5f7772697465223a226173796e6368726f6e6f7573222c226c61675f6279746573223a302c227772697474656e5f6174223a33333739383633322c226170706c6965645f6174223a302c226c61675f6d73223a302c227472616e73616374696f6e73223a302c226368616e676573223a302c226661696c757265223a6e756c6c7d2c227761697473223a5b5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a342c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039362c227468726f74746c65223a7b22726174655f62797465735f73223a313032347d7d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3530307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a333530372c226279746573223a3232353732392c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2264653136643731636438353333313037303935656236336336646461613030383266363931386339316237323432653765373434643632353365353163386232227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x8fc61dce10adacc1a4a17bcffcd9661040c615aa82f2866d26cec4da2949cd36', '\x38bdc254796646b8197c4a486092c62c847d0032d422e40169a0c270abfc244f', '2026-11-24 08:31:59.779055+00', 200, 'application/json', '\x7b22736861726473223a5b7b227368617264223a2273686172642d61222c227365656e5f6174223a22323032362d31312d32345430383a33313a35392e3835373132335a222c226661696c757265223a6e756c6c7d2c7b227368617264223a2273686172642d62222c227365656e5f6174223a22323032362d31312d32345430383a33313a35392e3837303239305a222c226661696c757265223a6e756c6c7d5d2c2266696e64696e6773223a5b5d2c22646f6e65223a5b5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x2592ea5fbd9cc4cb68362c10563f82821e11796c629e65e205f97650c363a2ea', '\xde79ada4c74360cc4257a849771a57f5040a702a31f7c9bbb425a7491a521574', '2026-11-24 08:31:41.123467+00', 201, 'application/json', '\x7b226964223a226d713371726530787169222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a226974656d73222c226d61705f76657273696f6e223a312c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2232393365376632613564383234636638666465373065376663393431313362343030333334663735386662333861626234613432303138366334306565633735222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a312c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3231332c226279746573223a31363537362c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a34312e3537353833365a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3231332c226279746573223a31363537362c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d713371726530787169222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d713371726530787169222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a226974656d73222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b22746f223a3130307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a312c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a34312e3537353833365a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\xe20ec071ce366c395dfbf0a3087694b7eecc4d1c5fe02a4e64328f5bbffe5c25', '\x0dd0fc2852e2bdb554c7dd3559dd86ef0cc445d092ea94e514debc1b85f5cfe9', '2026-11-24 08:31:51.668177+00', 201, 'application/json', '\x7b226964223a226d616738713439757478222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a342c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2263313232633833633036366461313966626362386139343934313030623662313535363834323061653964343932616166303030373334386639396537346262222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039367d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a35322e3236373338365a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a3730302c226279746573223a34353035352c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d616738713439757478222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d616738713439757478222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3430302c22746f223a3530307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a342c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a35322e3236373338365a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x0d6bde7745284de9c27b4e5e6c131c72d593634e234f145c379f4c35fc99579d', '\x4b87e5c89707a1d9907dc98b6e0f742a226cfac317a80594f7c84888a9e35255', '2026-11-24 08:31:56.251417+00', 201, 'application/json', '\x7b226964223a226d6f7737396935336533222c226f7065726174696f6e223a226d6f7665222c227374617465223a22706c616e6e6564222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a342c227374726174656779223a2272616e6765222c226d6f6465223a226f6e6c696e65222c22717565756564223a66616c73652c226f766572726964655f726561736f6e223a6e756c6c2c22706c616e5f68617368223a2264653136643731636438353333313037303935656236336336646461613030383266363931386339316237323432653765373434643632353365353163386232222c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039362c227468726f74746c65223a7b22726174655f62797465735f73223a313032347d7d2c22657374696d617465223a7b22726f7773223a333530372c226279746573223a3232353732392c2277726974655f73746f705f6275646765745f6d73223a323030307d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a35362e3737393738325a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c22746f74616c73223a7b226d6f766573223a312c22666c6970706564223a302c22656e646564223a302c226661696c6564223a307d2c226e6f746573223a5b5d2c226d6f766573223a5b7b22776879223a2261732074686520726571756573742073617973222c226166746572223a5b5d2c22657374696d617465223a7b22726f7773223a333530372c226279746573223a3232353732392c2277726974655f73746f705f6275646765745f6d73223a323030307d2c226964223a226d6f7737396935336533222c227374617465223a22706c616e6e6564222c226f7065726174696f6e5f6964223a226d6f7737396935336533222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3530307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a342c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a35362e3737393738325a222c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a317d5d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x9ac2babeaf8279fda5a01bd3d31451512b32b73b44eeb320604511359410a723', '\x2e7f93a664044e83fd02745fb7197d1689c71b4f566ec9085115ffe0bb77db43', '2026-11-24 08:31:58.329765+00', 200, 'application/json', '\x7b226964223a226d6f7737396935336533222c227374617465223a22706175736564222c226f7065726174696f6e5f6964223a226d6f7737396935336533222c226d6f7665223a226d31222c226f776e657273686970223a227265616479222c226f7065726174696f6e223a226d6f7665222c226d6f6465223a226f6e6c696e65222c226d6170223a2274656e616e7473222c22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3530307d5d7d2c2277616974696e675f666f72223a6e756c6c2c226661696c757265223a6e756c6c2c226d61705f76657273696f6e223a7b226265666f7265223a342c226166746572223a6e756c6c2c226261636b223a6e756c6c7d2c227375626d69747465645f6279223a22616461222c22637265617465645f6174223a22323032362d31312d32345430383a33313a35362e3737393738325a222c22737461727465645f6174223a22323032362d31312d32345430383a33313a35362e3830383738335a222c2266696e69736865645f6174223a6e756c6c2c227265766973696f6e223a31302c22706c616e5f68617368223a2264653136643731636438353333313037303935656236336336646461613030383266363931386339316237323432653765373434643632353365353163386232222c22617474656d7074223a302c2265706f6368223a312c226f776e6572223a7b226167656e74223a226131222c22696e7374616e6365223a2238663837663261662d303630322d343831322d383430332d326331376533353834616534222c226c697665223a747275657d2c22617070726f766564223a66616c73652c22617070726f76616c73223a5b5d2c22686f6c645f656e64223a6e756c6c2c22686f6c645f656e64735f6174223a6e756c6c2c2263616e63656c223a6e756c6c2c22686f6f6b223a6e756c6c2c226c696d697473223a7b2273747265616d73223a322c227468726f74746c65223a7b22726174655f62797465735f73223a313032347d7d2c227374657073223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c2273756d6d617279223a22636865636b20626f7468207368617264732c206368616e6765206e6f7468696e67222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a35362e3833333931375a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a35372e3532303136385a222c226f7574707574223a7b2266696e64696e6773223a5b7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d2c7b22636f6465223a227365727665722e6673796e63222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829222c227365766572697479223a227761726e696e67222c227377223a22535730313036227d5d2c22736f75726365223a7b2273797374656d223a2237373131363532373736323430303833323339222c2274696d656c696e65223a317d2c22746172676574223a7b2273797374656d223a2237373131363532373736303835323538353333222c2274696d656c696e65223a317d7d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a22636865636b696e6720626f746820736861726473222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c2273756d6d617279223a22637265617465207461626c65732c206120636c6f73656420726567697374657220616e6420677561726473206f6e2074686520746172676574222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a35372e3533333430335a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a35372e3734373630355a222c226f7574707574223a7b2263726561746564223a66616c73652c226f626a65637473223a307d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a2270757474696e6720677561726473206f6e20746865207461726765742773207461626c6573222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c2273756d6d617279223a22637265617465206775617264732c207075626c69636174696f6e20616e6420736c6f74206f6e2074686520736f75726365222c227374617465223a22646f6e65222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a35372e3735363733385a222c2266696e69736865645f6174223a22323032362d31312d32345430383a33313a35382e3036323430305a222c226f7574707574223a7b22636f6e73697374656e745f706f696e74223a22302f32303342383930227d2c226661696c757265223a6e756c6c2c2270726f6772657373223a7b226d657373616765223a226372656174696e6720746865207265706c69636174696f6e20736c6f743b20697420776169747320666f72207472616e73616374696f6e7320746861742072756e206e6f77222c227461626c6573223a5b5d2c22726f77735f7065725f7365636f6e64223a302e302c2262797465735f7065725f7365636f6e64223a302e302c226574615f7365636f6e6473223a6e756c6c7d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c2273756d6d617279223a22636f707920746865206d6f76696e6720726f77732c207468656e206275696c64207072696d617279206b657973222c227374617465223a2272756e6e696e67222c22617474656d7074223a312c2265706f6368223a312c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a22323032362d31312d32345430383a33313a35382e3037303836365a222c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c2273756d6d617279223a226170706c79206361707475726564206368616e67657320756e74696c2074686520746172676574206973206c6576656c222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c2273756d6d617279223a226275696c64207365636f6e6461727920696e64657865732c20636f6e73747261696e747320616e64207472696767657273222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c2273756d6d617279223a22636f6d70617265206576657279206d6f76696e6720726f7720617420616e20657861637420706f696e74222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c2273756d6d617279223a22637265617465207468652073747265616d206261636b20746f2074686520736f75726365222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c2273756d6d617279223a2266656e63652c2077616974206f75742c20647261696e2c20636865636b2c207365616c2c20666c697020746865206d61702c206f70656e2074686520746172676574222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c2273756d6d617279223a226b65657020746865206f6c6420636f707920696e20737465703b20726f6c6c206261636b20697320706f737369626c65222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c2273756d6d617279223a2264656c65746520746865206d6f76656420726f77732066726f6d2074686520736f757263652c2072656d6f76652077686174206973206c656674222c227374617465223a2270656e64696e67222c22617474656d7074223a302c2265706f6368223a302c226e6578745f6174223a6e756c6c2c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c2c226f7574707574223a6e756c6c2c226661696c757265223a6e756c6c2c2270726f6772657373223a6e756c6c7d5d2c2273747265616d223a6e756c6c2c227761697473223a5b7b226b696e64223a22706175736564222c2277686174223a22736f6d65626f64792077686f206c65747320697420676f206f6e3a2069742077617320706175736564222c2273696e6365223a22323032362d31312d32345430383a33313a35362e3830383738335a222c2272656d656479223a22736861726477726967687420726573756d65206d6f7737396935336533227d5d2c22706c616e223a7b226f7065726174696f6e223a226d6f7665222c226d6170223a2274656e616e7473222c226d61705f76657273696f6e223a342c22696e6361726e6174696f6e223a2232383332626132362d383666642d343566362d393132372d303035626461613735313333222c227374726174656779223a2272616e6765222c226b6579223a5b22626967696e74225d2c2273657175656e636573223a22737472696465222c2269676e6f7265223a5b22736368656d615f6d6967726174696f6e73222c226974656d73225d2c226f7074696f6e73223a7b226d6f6465223a226f6e6c696e65222c226375746f766572223a22617070726f7665222c2277726974655f73746f705f6275646765745f6d73223a323030302c22636f70795f73747265616d73223a322c22686f6c64223a22756e74696c5f66696e697368222c226d61785f617474656d707473223a382c226d6f7665735f61745f6f6e6365223a322c226d6f7665735f7065725f7368617264223a322c2264726f705f70617573655f6d73223a31302c22736e617073686f745f6167655f73223a3630302c2277616c5f6361705f6d62223a343039362c227468726f74746c65223a7b22726174655f62797465735f73223a313032347d7d2c226964223a226d31222c226166746572223a5b5d2c22776879223a2261732074686520726571756573742073617973222c226d6f6465223a226f6e6c696e65222c22746172676574223a226c697665222c2264726f705f7461626c6573223a66616c73652c22736368656d615f66696e6765727072696e74223a223266636661313434663635613234643633653865323936333963376436636536222c226d6f7665223a7b22736f75726365223a2273686172642d61222c22746172676574223a2273686172642d62222c226b657973223a7b2272616e6765223a5b7b2266726f6d223a3530307d5d7d2c227461626c6573223a5b7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a2274656e616e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a226964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b226964225d2c22636f6c756d6e73223a5b7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226e616d65222c22646174615f74797065223a2274657874222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a313030302c226279746573223a39303131322c226f72646572223a7b22636f6c756d6e223a226964222c22636f7272656c6174696f6e5f70657263656e74223a3130307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226163636f756e7473227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a323030302c226279746573223a3131343638382c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a35307d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d2c7b227461626c65223a7b22736368656d61223a227075626c6963222c226e616d65223a226f7264657273227d2c226b6579223a7b22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c2274797065223a22626967696e74227d5d7d2c226964656e74697479223a5b2274656e616e745f6964222c226964225d2c22636f6c756d6e73223a5b7b226e616d65223a2274656e616e745f6964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a226964222c22646174615f74797065223a22626967696e74222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d2c7b226e616d65223a22616d6f756e74222c22646174615f74797065223a226e756d65726963222c2267656e657261746564223a66616c73652c2262696e617279223a22737461626c65227d5d2c22726f7773223a343030302c226279746573223a3234353736302c226f72646572223a7b22636f6c756d6e223a2274656e616e745f6964222c22636f7272656c6174696f6e5f70657263656e74223a32357d2c22636f70795f6279223a22626c6f636b73222c22636f70795f776879223a226f6e6520706173732074616b657320736f6d65203020732c20616e642069747320726f7773206d6179206c696520696e20616e79206f72646572222c22666f726d6174223a2262696e617279222c22666f726d61745f776879223a22626f746820736572766572732068617665207468652073616d652062696e61727920666f726d206f662069747320636f6c756d6e73227d5d7d2c226772617068223a7b226e6f646573223a5b7b226964223a22707265666c69676874222c226b696e64223a22707265666c69676874222c226166746572223a5b5d7d2c7b226964223a226372656174655f746172676574222c226b696e64223a226372656174655f746172676574222c226166746572223a5b22707265666c69676874225d7d2c7b226964223a226f70656e5f63617074757265222c226b696e64223a226f70656e5f63617074757265222c226166746572223a5b226372656174655f746172676574225d7d2c7b226964223a22636f7079222c226b696e64223a22636f7079222c226166746572223a5b226f70656e5f63617074757265225d7d2c7b226964223a2263617463685f7570222c226b696e64223a2263617463685f7570222c226166746572223a5b22636f7079225d7d2c7b226964223a226275696c645f696e6465786573222c226b696e64223a226275696c645f696e6465786573222c226166746572223a5b2263617463685f7570225d7d2c7b226964223a22766572696679222c226b696e64223a22766572696679222c226166746572223a5b226275696c645f696e6465786573225d7d2c7b226964223a226f70656e5f72657665727365222c226b696e64223a226f70656e5f72657665727365222c226166746572223a5b22766572696679225d7d2c7b226964223a226375746f766572222c226b696e64223a226375746f766572222c226166746572223a5b226f70656e5f72657665727365225d7d2c7b226964223a22686f6c64222c226b696e64223a22686f6c64222c226166746572223a5b226375746f766572225d7d2c7b226964223a2264726f705f6f6c64222c226b696e64223a2264726f705f6f6c64222c226166746572223a5b22686f6c64225d7d5d7d2c22657374696d617465223a7b22726f7773223a333530372c226279746573223a3232353732392c2277726974655f73746f705f6275646765745f6d73223a323030307d2c2266696e64696e6773223a5b7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d612c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d2c7b227377223a22535730313036222c22636f6465223a227365727665722e6673796e63222c227365766572697479223a227761726e696e67222c226f626a656374223a2273686172642073686172642d622c2073657474696e67206673796e63222c2270726f626c656d223a226974206973206f66663b2061206372617368206f662074686520736572766572206c6f7365732077686174207761732061636b6e6f776c65646765642c20616e64207768617420636c6f73657320746865206d6f766564206b657973222c2272656d656479223a22616c7465722073797374656d20736574206673796e63203d206f6e3b2073656c6563742070675f72656c6f61645f636f6e662829227d5d2c2268617368223a2264653136643731636438353333313037303935656236336336646461613030383266363931386339316237323432653765373434643632353365353163386232227d7d');
INSERT INTO shardwright.keyed_order VALUES ('\x48d8a51afab2f001259f15b74c302a5aded9f676e52840735dd388708d57e0b7', '\x2a3f14e7e0eb3370b56baf90003edb9eb0612777001e3e7036430034aca2de2b', '2026-11-24 08:32:00.024873+00', 200, 'application/json', '\x7b226c6566746f76657273223a5b7b227368617264223a2273686172642d61222c226f626a656374223a22736c6f742073686172647772696768745f6d6167387134397574785f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22736c6f742073686172647772696768745f6d6f77373969353365335f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22736c6f742073686172647772696768745f6d7133717265307871695f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227075626c69636174696f6e2073686172647772696768745f6d6167387134397574785f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227075626c69636174696f6e2073686172647772696768745f6d6f77373969353365335f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227075626c69636174696f6e2073686172647772696768745f6d7133717265307871695f667764222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f64656c657465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20313030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f696e73657274206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20313030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f757064617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20313030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f64656c657465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f696e73657274206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f7472756e63617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f757064617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f64656c657465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f696e73657274206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f7472756e63617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f757064617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7133717265307871695f64656c657465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7133717265307871695f696e73657274206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7133717265307871695f7472756e63617465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7133717265307871695f757064617465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f64656c657465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20313030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f696e73657274206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20313030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f757064617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20313030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f64656c657465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f696e73657274206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f7472756e63617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f757064617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f64656c657465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f696e73657274206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f7472756e63617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f757064617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f64656c657465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20313030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f696e73657274206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20313030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f617761795f3035366532326236663731335f757064617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20313030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f64656c657465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f696e73657274206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f7472756e63617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f757064617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f64656c657465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f696e73657274206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f7472756e63617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f757064617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22736368656d61207368617264777269676874222c2276657264696374223a226b656570222c22776879223a22676f6573207769746820746865206c617374207468696e672074686174206e65656473206974227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f617761795f303536653232623666373133222c2276657264696374223a226b656570222c22776879223a22616e6f74686572207368617264206f776e7320282de2889e2c20313030293a2074686579206172652072656675736564206865726520666f7220676f6f64227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f6d616738713439757478222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f6d6f7737396935336533222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f6d713371726530787169222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d616738713439757478222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d6f7737396935336533222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d713371726530787169222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22726f7773206d616738713439757478222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22726f7773206d6f7737396935336533222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a22726f7773206d713371726530787169222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265676973746572206f776e5f6d616738713439757478222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265676973746572206f776e5f6d6f7737396935336533222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265676973746572206f776e5f6d713371726530787169222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265667573616c7320726566757365645f6d616738713439757478222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265667573616c7320726566757365645f6d6f7737396935336533222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a227265667573616c7320726566757365645f6d713371726530787169222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6167387134397574782f636170747572652f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6167387134397574782f73776565702f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6167387134397574782f77617463682f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f636170747572652f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f636f70792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f636f70792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f686f6c6465722f30303030303030432d30303030303033302d31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f686f6c6465722f30303030303030442d30303030303030442d31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f70726f62652f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f7369676e616c732f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f77616974732f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f77617463682f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7133717265307871692f636170747572652f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d7133717265307871692f77617463682f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d61222c226f626a656374223a2273657175656e63652073686172647772696768742e64697274795f69645f736571222c2276657264696374223a226b656570222c22776879223a226e6f74206d6164652062792053686172647772696768743a206e6f7420746865206e616d65206f6620616e797468696e672074686174205368617264777269676874206d616b65732074686572653b2074686520736368656d61207374617973207768696c6520697420697320696e206974227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22736c6f742073686172647772696768745f6d6167387134397574785f726576222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22736c6f742073686172647772696768745f6d7133717265307871695f726576222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227075626c69636174696f6e2073686172647772696768745f6d6167387134397574785f726576222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227075626c69636174696f6e2073686172647772696768745f6d7133717265307871695f726576222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f64656c657465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f696e73657274206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f7472756e63617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f757064617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f64656c657465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f696e73657274206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f7472756e63617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f757064617465206f6e207075626c69632e6163636f756e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7133717265307871695f64656c657465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7133717265307871695f696e73657274206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7133717265307871695f7472756e63617465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d7133717265307871695f757064617465206f6e207075626c69632e6974656d73222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f64656c657465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f696e73657274206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f7472756e63617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f757064617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f64656c657465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f696e73657274206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f7472756e63617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f757064617465206f6e207075626c69632e6f7264657273222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f64656c657465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f696e73657274206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f7472756e63617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6167387134397574785f757064617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f64656c657465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f696e73657274206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f7472756e63617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22747269676765722073686172647772696768745f67756172645f6d6f77373969353365335f757064617465206f6e207075626c69632e74656e616e7473222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22736368656d61207368617264777269676874222c2276657264696374223a226b656570222c22776879223a22676f6573207769746820746865206c617374207468696e672074686174206e65656473206974227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f6d616738713439757478222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f6d6f7737396935336533222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f6d713371726530787169222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d616738713439757478222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d6f7737396935336533222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2266756e6374696f6e2067756172645f7472756e636174655f6d713371726530787169222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22726f7773206d616738713439757478222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22726f7773206d6f7737396935336533222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a22726f7773206d713371726530787169222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265676973746572206f776e5f6d616738713439757478222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265676973746572206f776e5f6d6f7737396935336533222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265676973746572206f776e5f6d713371726530787169222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265667573616c7320726566757365645f6d616738713439757478222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265667573616c7320726566757365645f6d6f7737396935336533222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a227265667573616c7320726566757365645f6d713371726530787169222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6167387134397574782f6170706c792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6167387134397574782f73776565702f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f636f70792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f636f70792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f636f70792f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f7369676e616c732f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657373696f6e2073686172647772696768742f6d6f77373969353365332f77616974732f31222c2276657264696374223a226b656570222c22776879223a22697473206d6967726174696f6e20686173206e6f7420656e646564227d2c7b227368617264223a2273686172642d62222c226f626a656374223a2273657175656e63652073686172647772696768742e64697274795f69645f736571222c2276657264696374223a226b656570222c22776879223a226e6f74206d6164652062792053686172647772696768743a206e6f7420746865206e616d65206f6620616e797468696e672074686174205368617264777269676874206d616b65732074686572653b2074686520736368656d61207374617973207768696c6520697420697320696e206974227d5d2c22646f6e65223a5b5d2c226661696c6564223a5b5d7d');


--
-- Data for Name: leader; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.leader VALUES (true, 1, '4d58a74a-2605-4c06-883f-66b1329a7f90', 'http://127.0.0.1:46317', '2026-11-24 08:32:01.979913+00');


--
-- Data for Name: lease; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.lease VALUES ('mq3qre0xqi', '8f87f2af-0602-4812-8403-2c17e3584ae4', '2026-11-24 08:32:03.674652+00');
INSERT INTO shardwright.lease VALUES ('mag8q49utx', '8f87f2af-0602-4812-8403-2c17e3584ae4', '2026-11-24 08:32:03.674652+00');
INSERT INTO shardwright.lease VALUES ('mow79i53e3', '8f87f2af-0602-4812-8403-2c17e3584ae4', '2026-11-24 08:32:03.674652+00');


--
-- Data for Name: map; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.map VALUES ('tenants', 'range', '{bigint}', 0);
INSERT INTO shardwright.map VALUES ('items', 'range', '{bigint}', 0);


--
-- Data for Name: map_settings; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.map_settings VALUES ('tenants', 1, '{"sequences": "stride"}', 'ada', '2026-11-24 08:31:22.193789+00');
INSERT INTO shardwright.map_settings VALUES ('items', 1, '{"sequences": "stride"}', 'ada', '2026-11-24 08:31:22.338475+00');


--
-- Data for Name: map_version; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.map_version VALUES ('tenants', 1, NULL, 'ada', '2026-11-24 08:31:22.192349+00', 1, 1, 0);
INSERT INTO shardwright.map_version VALUES ('items', 1, NULL, 'ada', '2026-11-24 08:31:22.337836+00', 1, 1, 0);
INSERT INTO shardwright.map_version VALUES ('tenants', 2, 'm0qgxijasq', 'm0qgxijasq', '2026-11-24 08:31:26.267832+00', 2, 2, 1);
INSERT INTO shardwright.map_version VALUES ('tenants', 3, 'mzyztsicfv', 'mzyztsicfv', '2026-11-24 08:31:32.47326+00', 2, 2, 2);
INSERT INTO shardwright.map_version VALUES ('tenants', 4, 'mzyztsicfv', 'mzyztsicfv', '2026-11-24 08:31:34.357028+00', 2, 2, 2);


--
-- Data for Name: mapping; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.mapping VALUES ('items', 1, NULL, '(,)', '{"range": [{}]}', 1);
INSERT INTO shardwright.mapping VALUES ('tenants', 1, 2, '(,)', '{"range": [{}]}', 1);
INSERT INTO shardwright.mapping VALUES ('tenants', 2, 3, '(,"\\x8000000000000064")', '{"range": [{"to": 100}]}', 2);
INSERT INTO shardwright.mapping VALUES ('tenants', 2, 3, '["\\x8000000000000064",)', '{"range": [{"from": 100}]}', 1);
INSERT INTO shardwright.mapping VALUES ('tenants', 3, 4, '(,"\\x80000000000000c8")', '{"range": [{"to": 200}]}', 2);
INSERT INTO shardwright.mapping VALUES ('tenants', 3, 4, '["\\x80000000000000c8",)', '{"range": [{"from": 200}]}', 1);
INSERT INTO shardwright.mapping VALUES ('tenants', 4, NULL, '(,"\\x8000000000000064")', '{"range": [{"to": 100}]}', 2);
INSERT INTO shardwright.mapping VALUES ('tenants', 4, NULL, '["\\x8000000000000064",)', '{"range": [{"from": 100}]}', 1);


--
-- Data for Name: migration; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.migration VALUES ('m0qgxijasq', 'm0qgxijasq', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{(,"\\x8000000000000064")}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "16bba6ab9d56e34b4b71071d5573c14c4901386710be2d6c829b8f1830ae701a", "mode": "online", "move": {"keys": {"range": [{"to": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "new", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 737, "bytes": 47247, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 1, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'completed', 'completed', 1, 1, false, NULL, NULL, true, 'finish', NULL, NULL, 1, 2, NULL, 'ada', '2026-11-24 08:31:23.270511+00', '2026-11-24 08:31:23.327057+00', '2026-11-24 08:31:28.053901+00', 31, NULL, NULL, '2026-11-24 08:31:28.053901+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('mow79i53e3', 'mow79i53e3', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{["\\x80000000000001f4",)}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "de16d71cd8533107095eb63c6ddaa0082f6918c91b7242e7e744d6253e51c8b2", "mode": "online", "move": {"keys": {"range": [{"from": 500}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "live", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "throttle": {"rate_bytes_s": 1024}, "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 3507, "bytes": 225729, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 4, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'running', 'ready', 0, 1, false, 'a1', '8f87f2af-0602-4812-8403-2c17e3584ae4', false, NULL, NULL, NULL, 4, NULL, NULL, 'ada', '2026-11-24 08:31:56.779782+00', '2026-11-24 08:31:56.808783+00', NULL, 13, NULL, NULL, '2026-11-24 08:31:58.900968+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('mag8q49utx', 'mag8q49utx', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{["\\x8000000000000190","\\x80000000000001f4")}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "c122c83c066da19fbcb8a9494100b6b15568420ae9d492aaf0007348f99e74bb", "mode": "online", "move": {"keys": {"range": [{"to": 500, "from": 400}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "live", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 4, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'waiting', 'ready', 0, 1, false, 'a1', '8f87f2af-0602-4812-8403-2c17e3584ae4', false, NULL, 'approval of the cutover', NULL, 4, NULL, NULL, 'ada', '2026-11-24 08:31:52.267386+00', '2026-11-24 08:31:52.354007+00', NULL, 19, NULL, NULL, '2026-11-24 08:31:55.908097+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('mzyztsicfv', 'mzyztsicfv', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{["\\x8000000000000064","\\x80000000000000c8")}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "aa7019cd290ef918f945264ad883fa15dfebf136fa558e92893fed8ca8560800", "mode": "online", "move": {"keys": {"range": [{"to": 200, "from": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "live", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 2, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'rolled_back', 'rolled_back', 2, 1, false, NULL, NULL, true, 'finish', NULL, NULL, 2, 3, 4, 'ada', '2026-11-24 08:31:29.167954+00', '2026-11-24 08:31:29.192651+00', '2026-11-24 08:31:35.990609+00', 38, NULL, NULL, '2026-11-24 08:31:34.358542+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('mq3qre0xqi', 'mq3qre0xqi', 'm1', 0, 'items', 'shard-a', 'shard-b', '{(,"\\x8000000000000064")}', '{"id": "m1", "key": ["bigint"], "map": "items", "why": "as the request says", "hash": "293e7f2a5d824cf8fde70e7fc94113b400334f758fb38abb4a420186c40eec75", "mode": "online", "move": {"keys": {"range": [{"to": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 155648, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "items", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "note", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "tenants", "accounts", "orders"], "target": "live", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 1, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 213, "bytes": 16576, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 1, "schema_fingerprint": "30ef750c411a0249297c1a079ce6aa78"}', 'failed', 'ready', 0, 1, true, 'a1', '8f87f2af-0602-4812-8403-2c17e3584ae4', true, NULL, NULL, '{"code": "schema.drift", "hint": "make both sides equal, then `resume`; or abort the migration", "retry": "none", "message": "the moving tables differ:\npublic.items, column later: on shard shard-a place 4 integer; on shard shard-b missing"}', 1, NULL, NULL, 'ada', '2026-11-24 08:31:41.575836+00', '2026-11-24 08:31:41.591369+00', NULL, 22, NULL, NULL, '2026-11-24 08:31:45.491803+00', NULL, '[]');
INSERT INTO shardwright.migration VALUES ('mxigro122s', 'mxigro122s', 'm1', 0, 'tenants', 'shard-a', 'shard-b', '{["\\x80000000000000c8","\\x800000000000012c")}', '{"id": "m1", "key": ["bigint"], "map": "tenants", "why": "as the request says", "hash": "af6a1e4308d0fdbbdbcc8bb9f1cdb9f2a6cf1743870df0c96f8fa63bd30afe62", "mode": "online", "move": {"keys": {"range": [{"to": 300, "from": 200}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "after": [], "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "ignore": ["schema_migrations", "items"], "target": "live", "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "drop_tables": false, "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 4, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}', 'unwound', 'aborted', 0, 2, false, NULL, NULL, false, NULL, NULL, NULL, 4, NULL, NULL, 'ada', '2026-11-24 08:31:37.074127+00', '2026-11-24 08:31:37.113349+00', '2026-11-24 08:31:40.335301+00', 23, NULL, NULL, '2026-11-24 08:31:40.335301+00', NULL, '[]');


--
-- Data for Name: operation; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.operation VALUES ('m0qgxijasq', '{"key": ["bigint"], "map": "tenants", "hash": "16bba6ab9d56e34b4b71071d5573c14c4901386710be2d6c829b8f1830ae701a", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"to": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "new", "estimate": {"rows": 737, "bytes": 47247, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 737, "bytes": 47247, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 1}', '16bba6ab9d56e34b4b71071d5573c14c4901386710be2d6c829b8f1830ae701a', false, NULL, 'ada', '2026-11-24 08:31:23.270511+00');
INSERT INTO shardwright.operation VALUES ('mzyztsicfv', '{"key": ["bigint"], "map": "tenants", "hash": "aa7019cd290ef918f945264ad883fa15dfebf136fa558e92893fed8ca8560800", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"to": 200, "from": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 2}', 'aa7019cd290ef918f945264ad883fa15dfebf136fa558e92893fed8ca8560800', false, NULL, 'ada', '2026-11-24 08:31:29.167954+00');
INSERT INTO shardwright.operation VALUES ('mxigro122s', '{"key": ["bigint"], "map": "tenants", "hash": "af6a1e4308d0fdbbdbcc8bb9f1cdb9f2a6cf1743870df0c96f8fa63bd30afe62", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"to": 300, "from": 200}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 4}', 'af6a1e4308d0fdbbdbcc8bb9f1cdb9f2a6cf1743870df0c96f8fa63bd30afe62', false, NULL, 'ada', '2026-11-24 08:31:37.074127+00');
INSERT INTO shardwright.operation VALUES ('mq3qre0xqi', '{"key": ["bigint"], "map": "items", "hash": "293e7f2a5d824cf8fde70e7fc94113b400334f758fb38abb4a420186c40eec75", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"to": 100}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 155648, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "items", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "note", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 213, "bytes": 16576, "write_stop_budget_ms": 2000}, "schema_fingerprint": "30ef750c411a0249297c1a079ce6aa78"}], "ignore": ["schema_migrations", "tenants", "accounts", "orders"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 1, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 213, "bytes": 16576, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 1}', '293e7f2a5d824cf8fde70e7fc94113b400334f758fb38abb4a420186c40eec75', false, NULL, 'ada', '2026-11-24 08:31:41.575836+00');
INSERT INTO shardwright.operation VALUES ('mag8q49utx', '{"key": ["bigint"], "map": "tenants", "hash": "c122c83c066da19fbcb8a9494100b6b15568420ae9d492aaf0007348f99e74bb", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"to": 500, "from": 400}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 700, "bytes": 45055, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 4}', 'c122c83c066da19fbcb8a9494100b6b15568420ae9d492aaf0007348f99e74bb', false, NULL, 'ada', '2026-11-24 08:31:52.267386+00');
INSERT INTO shardwright.operation VALUES ('mow79i53e3', '{"key": ["bigint"], "map": "tenants", "hash": "de16d71cd8533107095eb63c6ddaa0082f6918c91b7242e7e744d6253e51c8b2", "moves": [{"id": "m1", "why": "as the request says", "mode": "online", "move": {"keys": {"range": [{"from": 500}]}, "source": "shard-a", "tables": [{"key": {"columns": [{"name": "id", "type": "bigint"}]}, "rows": 1000, "bytes": 90112, "order": {"column": "id", "correlation_percent": 100}, "table": {"name": "tenants", "schema": "public"}, "format": "binary", "columns": [{"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "name", "binary": "stable", "data_type": "text", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 2000, "bytes": 114688, "order": {"column": "tenant_id", "correlation_percent": 50}, "table": {"name": "accounts", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}, {"key": {"columns": [{"name": "tenant_id", "type": "bigint"}]}, "rows": 4000, "bytes": 245760, "order": {"column": "tenant_id", "correlation_percent": 25}, "table": {"name": "orders", "schema": "public"}, "format": "binary", "columns": [{"name": "tenant_id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "id", "binary": "stable", "data_type": "bigint", "generated": false}, {"name": "amount", "binary": "stable", "data_type": "numeric", "generated": false}], "copy_by": "blocks", "copy_why": "one pass takes some 0 s, and its rows may lie in any order", "identity": ["tenant_id", "id"], "format_why": "both servers have the same binary form of its columns"}], "target": "shard-b"}, "graph": {"nodes": [{"id": "preflight", "kind": "preflight", "after": []}, {"id": "create_target", "kind": "create_target", "after": ["preflight"]}, {"id": "open_capture", "kind": "open_capture", "after": ["create_target"]}, {"id": "copy", "kind": "copy", "after": ["open_capture"]}, {"id": "catch_up", "kind": "catch_up", "after": ["copy"]}, {"id": "build_indexes", "kind": "build_indexes", "after": ["catch_up"]}, {"id": "verify", "kind": "verify", "after": ["build_indexes"]}, {"id": "open_reverse", "kind": "open_reverse", "after": ["verify"]}, {"id": "cutover", "kind": "cutover", "after": ["open_reverse"]}, {"id": "hold", "kind": "hold", "after": ["cutover"]}, {"id": "drop_old", "kind": "drop_old", "after": ["hold"]}]}, "target": "live", "estimate": {"rows": 3507, "bytes": 225729, "write_stop_budget_ms": 2000}, "schema_fingerprint": "2fcfa144f65a24d63e8e29639c7d6ce6"}], "ignore": ["schema_migrations", "items"], "options": {"hold": "until_finish", "mode": "online", "cutover": "approve", "throttle": {"rate_bytes_s": 1024}, "wal_cap_mb": 4096, "copy_streams": 2, "max_attempts": 8, "drop_pause_ms": 10, "moves_at_once": 2, "snapshot_age_s": 600, "moves_per_shard": 2, "write_stop_budget_ms": 2000}, "estimate": {"rows": 3507, "bytes": 225729, "write_stop_budget_ms": 2000}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}], "strategy": "range", "operation": "move", "sequences": "stride", "api_version": "shardwright/v2", "incarnation": "2832ba26-86fd-45f6-9127-005bdaa75133", "map_version": 4}', 'de16d71cd8533107095eb63c6ddaa0082f6918c91b7242e7e744d6253e51c8b2', false, NULL, 'ada', '2026-11-24 08:31:56.779782+00');


--
-- Data for Name: reading; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.reading VALUES ('m0qgxijasq', '2026-11-24 08:31:23.526738+00', '{"at": "2026-11-24T08:31:23.526738Z", "rows": 0, "step": "preflight", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m0qgxijasq', '2026-11-24 08:31:24.539193+00', '{"at": "2026-11-24T08:31:24.539193Z", "rows": 0, "step": "copy", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m0qgxijasq', '2026-11-24 08:31:25.527643+00', '{"at": "2026-11-24T08:31:25.527643Z", "rows": 0, "step": "open_reverse", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33287800, "written_at": 33287800, "spooled_bytes": 0, "retained_bytes": 688}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m0qgxijasq', '2026-11-24 08:31:26.528533+00', '{"at": "2026-11-24T08:31:26.528533Z", "rows": 0, "step": "hold", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "reverse", "lag_bytes": 3216, "applied_at": 32409192, "written_at": 32409192, "spooled_bytes": 0, "retained_bytes": 24424}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('m0qgxijasq', '2026-11-24 08:31:27.527979+00', '{"at": "2026-11-24T08:31:27.527979Z", "rows": 0, "step": "hold", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "reverse", "lag_bytes": 3216, "applied_at": 32417608, "written_at": 32417608, "spooled_bytes": 0, "retained_bytes": 34432}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mzyztsicfv', '2026-11-24 08:31:29.52676+00', '{"at": "2026-11-24T08:31:29.526760Z", "rows": 0, "step": "preflight", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mzyztsicfv', '2026-11-24 08:31:30.526481+00', '{"at": "2026-11-24T08:31:30.526481Z", "rows": 0, "step": "copy", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mzyztsicfv', '2026-11-24 08:31:31.543859+00', '{"at": "2026-11-24T08:31:31.543859Z", "rows": 0, "step": "verify", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33475424, "written_at": 33475424, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mzyztsicfv', '2026-11-24 08:31:32.550972+00', '{"at": "2026-11-24T08:31:32.550972Z", "rows": 0, "step": "hold", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "reverse", "lag_bytes": 0, "applied_at": 0, "written_at": 33113416, "spooled_bytes": 0, "retained_bytes": 25640}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mzyztsicfv', '2026-11-24 08:31:33.551144+00', '{"at": "2026-11-24T08:31:33.551144Z", "rows": 0, "step": "hold", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "reverse", "lag_bytes": 4432, "applied_at": 33125016, "written_at": 33125016, "spooled_bytes": 0, "retained_bytes": 37240}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mzyztsicfv', '2026-11-24 08:31:34.566283+00', '{"at": "2026-11-24T08:31:34.566283Z", "rows": 0, "step": "hold_back", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33502008, "spooled_bytes": 0, "retained_bytes": 6032}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mzyztsicfv', '2026-11-24 08:31:35.554227+00', '{"at": "2026-11-24T08:31:35.554227Z", "rows": 0, "step": "hold_back", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 1280, "applied_at": 33502008, "written_at": 33502008, "spooled_bytes": 0, "retained_bytes": 6032}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mxigro122s', '2026-11-24 08:31:37.556274+00', '{"at": "2026-11-24T08:31:37.556274Z", "rows": 0, "step": "preflight", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mxigro122s', '2026-11-24 08:31:38.552818+00', '{"at": "2026-11-24T08:31:38.552818Z", "rows": 0, "step": "copy", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mxigro122s', '2026-11-24 08:31:39.554586+00', '{"at": "2026-11-24T08:31:39.554586Z", "rows": 700, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33590904, "written_at": 33590904, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 700}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:42.562627+00', '{"at": "2026-11-24T08:31:42.562627Z", "rows": 0, "step": "open_capture", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:43.557345+00', '{"at": "2026-11-24T08:31:43.557345Z", "rows": 0, "step": "catch_up", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33652424, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:44.598716+00', '{"at": "2026-11-24T08:31:44.598716Z", "rows": 0, "step": "open_reverse", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33653184, "written_at": 33653184, "spooled_bytes": 0, "retained_bytes": 888}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:45.561712+00', '{"at": "2026-11-24T08:31:45.561712Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33654824, "spooled_bytes": 0, "retained_bytes": 1680}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:46.571903+00', '{"at": "2026-11-24T08:31:46.571903Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33654824, "spooled_bytes": 0, "retained_bytes": 1912}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:47.573093+00', '{"at": "2026-11-24T08:31:47.573093Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33654824, "spooled_bytes": 0, "retained_bytes": 1912}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:48.570576+00', '{"at": "2026-11-24T08:31:48.570576Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33654824, "spooled_bytes": 0, "retained_bytes": 1912}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:49.603275+00', '{"at": "2026-11-24T08:31:49.603275Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33654824, "spooled_bytes": 0, "retained_bytes": 1912}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:50.579494+00', '{"at": "2026-11-24T08:31:50.579494Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33654824, "spooled_bytes": 0, "retained_bytes": 1912}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:51.605673+00', '{"at": "2026-11-24T08:31:51.605673Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33654824, "spooled_bytes": 0, "retained_bytes": 1912}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:52.624778+00', '{"at": "2026-11-24T08:31:52.624778Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33654824, "spooled_bytes": 0, "retained_bytes": 1912}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mag8q49utx', '2026-11-24 08:31:52.624832+00', '{"at": "2026-11-24T08:31:52.624832Z", "rows": 0, "step": "preflight", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:53.669448+00', '{"at": "2026-11-24T08:31:53.669448Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33654824, "spooled_bytes": 0, "retained_bytes": 1912}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mag8q49utx', '2026-11-24 08:31:53.669494+00', '{"at": "2026-11-24T08:31:53.669494Z", "rows": 0, "step": "open_capture", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:55.654384+00', '{"at": "2026-11-24T08:31:55.654384Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33720760, "spooled_bytes": 0, "retained_bytes": 67848}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mag8q49utx', '2026-11-24 08:31:55.654442+00', '{"at": "2026-11-24T08:31:55.654442Z", "rows": 0, "step": "open_reverse", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33721032, "written_at": 33721032, "spooled_bytes": 0, "retained_bytes": 744}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:56.637664+00', '{"at": "2026-11-24T08:31:56.637664Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33721784, "spooled_bytes": 0, "retained_bytes": 68872}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mag8q49utx', '2026-11-24 08:31:56.637714+00', '{"at": "2026-11-24T08:31:56.637714Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33721784, "written_at": 33721784, "spooled_bytes": 0, "retained_bytes": 1024}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:54.619996+00', '{"at": "2026-11-24T08:31:54.619996Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33720296, "spooled_bytes": 0, "retained_bytes": 67384}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mag8q49utx', '2026-11-24 08:31:54.620049+00', '{"at": "2026-11-24T08:31:54.620049Z", "rows": 0, "step": "catch_up", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33720296, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:57.659738+00', '{"at": "2026-11-24T08:31:57.659738Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33721784, "spooled_bytes": 0, "retained_bytes": 68872}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mow79i53e3', '2026-11-24 08:31:57.659791+00', '{"at": "2026-11-24T08:31:57.659791Z", "rows": 0, "step": "create_target", "bytes": 0, "stream": null, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mag8q49utx', '2026-11-24 08:31:57.65985+00', '{"at": "2026-11-24T08:31:57.659850Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33721784, "written_at": 33721784, "spooled_bytes": 0, "retained_bytes": 1024}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:58.699907+00', '{"at": "2026-11-24T08:31:58.699907Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33798632, "spooled_bytes": 0, "retained_bytes": 145720}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mow79i53e3', '2026-11-24 08:31:58.69996+00', '{"at": "2026-11-24T08:31:58.699960Z", "rows": 0, "step": "copy", "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33798632, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mag8q49utx', '2026-11-24 08:31:58.700002+00', '{"at": "2026-11-24T08:31:58.700002Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33798632, "written_at": 33798632, "spooled_bytes": 0, "retained_bytes": 77752}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mq3qre0xqi', '2026-11-24 08:31:59.674561+00', '{"at": "2026-11-24T08:31:59.674561Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33654824, "written_at": 33798752, "spooled_bytes": 0, "retained_bytes": 145840}, "left_ms": null, "rows_total": 0}');
INSERT INTO shardwright.reading VALUES ('mow79i53e3', '2026-11-24 08:31:59.674603+00', '{"at": "2026-11-24T08:31:59.674603Z", "rows": 2640, "step": "copy", "bytes": 91612, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 0, "written_at": 33798752, "spooled_bytes": 0, "retained_bytes": 520}, "left_ms": null, "rows_total": 3507}');
INSERT INTO shardwright.reading VALUES ('mag8q49utx', '2026-11-24 08:31:59.674649+00', '{"at": "2026-11-24T08:31:59.674649Z", "rows": 0, "step": null, "bytes": 0, "stream": {"lag_ms": 0, "changes": 0, "direction": "forward", "lag_bytes": 0, "applied_at": 33798752, "written_at": 33798752, "spooled_bytes": 0, "retained_bytes": 400}, "left_ms": null, "rows_total": 0}');


--
-- Data for Name: server_seen; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.server_seen VALUES (1, '7711652776240083239', 1, 33798752, '2026-11-24 08:31:59.855872+00', 0);
INSERT INTO shardwright.server_seen VALUES (2, '7711652776085258533', 1, 35335416, '2026-11-24 08:31:59.86904+00', 0);


--
-- Data for Name: session; Type: TABLE DATA; Schema: shardwright; Owner: -
--



--
-- Data for Name: shard; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.shard VALUES (1, 'shard-a', 'host=127.0.0.1 port=31324 user=mover dbname=shop password=${env:SHARD_PASSWORD}', '{}', 100, NULL, '2026-11-24 08:31:21.982097+00', NULL);
INSERT INTO shardwright.shard VALUES (2, 'shard-b', 'host=127.0.0.1 port=26521 user=mover dbname=shop password=${env:SHARD_PASSWORD}', '{}', 100, NULL, '2026-11-24 08:31:22.115491+00', NULL);


--
-- Data for Name: step; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'cutover', 'cutover', 8, 'done', 1, 1, NULL, '2026-11-24 08:31:25.890593+00', '2026-11-24 08:31:25.890593+00', '2026-11-24 08:31:26.294622+00', '{"window": {"flip": 2.7923489999999997, "open": 1.232056, "seal": 4.022932999999999, "check": 0.286675, "drain": 5.431862, "total": 14.340768, "wait_out": 0.003895}, "attempt": 1, "refused": 0, "storage": {"\"public\".\"orders\"": "16928 1 tenant_id,2 id,3 amount", "\"public\".\"tenants\"": "16938 1 id,2 name", "\"public\".\"accounts\"": "16920 1 tenant_id,2 id"}, "dirty_keys": 0, "map_version": 2}', NULL, '{"tables": [], "message": "shard shard-b owns the keys; map version 2", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:31:23.35353+00', '2026-11-24 08:31:23.35353+00', '2026-11-24 08:31:23.761315+00', '{"source": {"system": "7711652776240083239", "timeline": 1}, "target": {"system": "7711652776085258533", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:31:23.779717+00', '2026-11-24 08:31:23.779717+00', '2026-11-24 08:31:24.168332+00', '{"created": true, "objects": 12}', NULL, '{"tables": [], "message": "creating tables, register and guards on the target", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:31:24.175979+00', '2026-11-24 08:31:24.175979+00', '2026-11-24 08:31:24.425407+00', '{"consistent_point": "0/1FBE920"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'hold', 'hold', 9, 'done', 1, 1, NULL, '2026-11-24 08:31:26.320726+00', '2026-11-24 08:31:26.320726+00', '2026-11-24 08:31:27.549366+00', '{}', NULL, '{"tables": [], "message": "the old copy is kept in step; `finish` ends this, `rollback` gives the keys back", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:31:24.437015+00', '2026-11-24 08:31:24.437015+00', '2026-11-24 08:31:24.787608+00', '{"rows": 693, "bytes": 23715, "units": 3, "seconds": 0.106971512, "snapshots": 1, "bytes_twice": 0, "largest_chunk_bytes": 15861}', NULL, '{"tables": [{"phase": "building", "table": "CONSTRAINT public tenants tenants_pkey", "rows_done": 0, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "building CONSTRAINT public tenants tenants_pkey", "eta_seconds": 0.0, "rows_per_second": 12009.589163045839, "bytes_per_second": 410977.49928085436}');
INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'catch_up', 'catch_up', 4, 'done', 1, 1, NULL, '2026-11-24 08:31:24.803707+00', '2026-11-24 08:31:24.803707+00', '2026-11-24 08:31:24.971042+00', '{"changes": 0, "transactions": 3}', NULL, '{"tables": [], "message": "applying changes that were captured during the copy", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'drop_old', 'drop_old', 10, 'done', 1, 1, NULL, '2026-11-24 08:31:27.575535+00', '2026-11-24 08:31:27.575535+00', '2026-11-24 08:31:28.03242+00', '{"rows": 693, "reclaim": ["vacuum (full, analyze) \"public\".\"orders\"", "vacuum (full, analyze) \"public\".\"accounts\"", "vacuum (full, analyze) \"public\".\"tenants\""], "bytes_bloat": 80289, "bytes_freed": 0}', NULL, '{"tables": [{"phase": "deleting", "table": "public.tenants", "rows_done": 99, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "removing what the migration created", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'build_indexes', 'build_indexes', 5, 'done', 1, 1, NULL, '2026-11-24 08:31:25.003799+00', '2026-11-24 08:31:25.003799+00', '2026-11-24 08:31:25.213799+00', '{"objects": 2}', NULL, '{"tables": [{"phase": "building", "table": "FK CONSTRAINT public orders orders_tenant_id_fkey", "rows_done": 0, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "analyzing public.orders", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'verify', 'verify', 6, 'done', 1, 1, NULL, '2026-11-24 08:31:25.23212+00', '2026-11-24 08:31:25.23212+00', '2026-11-24 08:31:25.490857+00', '{"at": "0/1FBEDA0", "chunks": 3, "tables": [{"rows": 198, "table": "public.accounts", "digest": "010d795bb191bb762ed6bec89db1b3c9"}, {"rows": 396, "table": "public.orders", "digest": "bc3d90162118501ad3316f4e00713cb1"}, {"rows": 99, "table": "public.tenants", "digest": "c7bef70145296a809eb71a14cae30ad3"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 693}', NULL, '{"tables": [{"phase": "compared", "table": "public.accounts", "rows_done": 198, "bytes_done": 0, "rows_total": 198, "bytes_total": 0}, {"phase": "compared", "table": "public.orders", "rows_done": 396, "bytes_done": 0, "rows_total": 396, "bytes_total": 0}, {"phase": "compared", "table": "public.tenants", "rows_done": 99, "bytes_done": 0, "rows_total": 99, "bytes_total": 0}], "message": "comparing public.orders", "eta_seconds": null, "rows_per_second": 101638.282990606, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('m0qgxijasq', 'open_reverse', 'open_reverse', 7, 'done', 1, 1, NULL, '2026-11-24 08:31:25.499857+00', '2026-11-24 08:31:25.499857+00', '2026-11-24 08:31:25.660895+00', '{"consistent_point": "0/1EE2100"}', NULL, '{"tables": [], "message": "creating the stream back to the source", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'drop_old', 'drop_old', 10, 'skipped', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:31:29.9401+00', '2026-11-24 08:31:29.9401+00', '2026-11-24 08:31:30.162695+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'catch_up', 'catch_up', 4, 'done', 1, 1, NULL, '2026-11-24 08:31:30.910697+00', '2026-11-24 08:31:30.910697+00', '2026-11-24 08:31:31.108492+00', '{"changes": 0, "transactions": 3}', NULL, '{"tables": [], "message": "applying changes that were captured during the copy", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'open_reverse', 'open_reverse', 7, 'done', 1, 1, NULL, '2026-11-24 08:31:31.774209+00', '2026-11-24 08:31:31.774209+00', '2026-11-24 08:31:31.988237+00', '{"consistent_point": "0/1F8E158"}', NULL, '{"tables": [], "message": "creating the stream back to the source", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:31:29.222584+00', '2026-11-24 08:31:29.222584+00', '2026-11-24 08:31:29.93102+00', '{"source": {"system": "7711652776240083239", "timeline": 1}, "target": {"system": "7711652776085258533", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'verify', 'verify', 6, 'done', 1, 1, NULL, '2026-11-24 08:31:39.230681+00', '2026-11-24 08:31:39.230681+00', '2026-11-24 08:31:39.518325+00', '{"at": "0/2008DA0", "chunks": 3, "tables": [{"rows": 200, "table": "public.accounts", "digest": "f4e1cc70a99f22f60ffcd3114feb37d3"}, {"rows": 400, "table": "public.orders", "digest": "d5ebc41f17b587018eba2196d8b87a5f"}, {"rows": 100, "table": "public.tenants", "digest": "5e3f2f74a638c2e06dc5d9debccf4607"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 700}', NULL, '{"tables": [{"phase": "compared", "table": "public.accounts", "rows_done": 200, "bytes_done": 0, "rows_total": 200, "bytes_total": 0}, {"phase": "compared", "table": "public.orders", "rows_done": 400, "bytes_done": 0, "rows_total": 400, "bytes_total": 0}, {"phase": "compared", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 100, "bytes_total": 0}], "message": "comparing public.orders", "eta_seconds": null, "rows_per_second": 112715.86295425701, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:31:30.186495+00', '2026-11-24 08:31:30.186495+00', '2026-11-24 08:31:30.449815+00', '{"consistent_point": "0/1FEC7B0"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:31:30.457321+00', '2026-11-24 08:31:30.457321+00', '2026-11-24 08:31:30.898551+00', '{"rows": 700, "bytes": 24063, "units": 3, "seconds": 0.098413025, "snapshots": 1, "bytes_twice": 0, "largest_chunk_bytes": 16021}', NULL, '{"tables": [{"phase": "copying", "table": "public.tenants", "rows_done": 100, "bytes_done": 2821, "rows_total": 100, "bytes_total": 9011}, {"phase": "copying", "table": "public.accounts", "rows_done": 200, "bytes_done": 5221, "rows_total": 200, "bytes_total": 11468}, {"phase": "copying", "table": "public.orders", "rows_done": 400, "bytes_done": 16021, "rows_total": 400, "bytes_total": 24576}], "message": "building primary keys", "eta_seconds": 0.0, "rows_per_second": 14410.35266085515, "bytes_per_second": 495366.1658259393}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'build_indexes', 'build_indexes', 5, 'done', 1, 1, NULL, '2026-11-24 08:31:31.116554+00', '2026-11-24 08:31:31.116554+00', '2026-11-24 08:31:31.35384+00', '{"objects": 0}', NULL, '{"tables": [], "message": "analyzing public.orders", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'verify', 'verify', 6, 'done', 1, 1, NULL, '2026-11-24 08:31:31.368338+00', '2026-11-24 08:31:31.368338+00', '2026-11-24 08:31:31.763482+00', '{"at": "0/1FECC10", "chunks": 3, "tables": [{"rows": 200, "table": "public.accounts", "digest": "53cec4c1fb69b43fe8d9a9a816df47bd"}, {"rows": 400, "table": "public.orders", "digest": "4f54689d2502c25c227d2de156ecf838"}, {"rows": 100, "table": "public.tenants", "digest": "cc6d52d666a765c59b350b9a04dcdb33"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 700}', NULL, '{"tables": [{"phase": "compared", "table": "public.accounts", "rows_done": 200, "bytes_done": 0, "rows_total": 200, "bytes_total": 0}, {"phase": "compared", "table": "public.orders", "rows_done": 400, "bytes_done": 0, "rows_total": 400, "bytes_total": 0}, {"phase": "compared", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 100, "bytes_total": 0}], "message": "comparing public.orders", "eta_seconds": null, "rows_per_second": 42171.555574941085, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'cutover', 'cutover', 8, 'done', 1, 1, NULL, '2026-11-24 08:31:32.163559+00', '2026-11-24 08:31:32.163559+00', '2026-11-24 08:31:32.500012+00', '{"window": {"flip": 2.844887, "open": 1.434416, "seal": 4.049243000000001, "check": 0.628101, "drain": 4.342747, "total": 15.523422, "wait_out": 0.004337}, "attempt": 1, "refused": 0, "storage": {"\"public\".\"orders\"": "16928 1 tenant_id,2 id,3 amount", "\"public\".\"tenants\"": "16938 1 id,2 name", "\"public\".\"accounts\"": "16920 1 tenant_id,2 id"}, "dirty_keys": 0, "map_version": 3}', NULL, '{"tables": [], "message": "shard shard-b owns the keys; map version 3", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'cutover', 'cutover', 8, 'skipped', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'hold', 'hold', 9, 'done', 1, 1, NULL, '2026-11-24 08:31:32.515998+00', '2026-11-24 08:31:32.515998+00', '2026-11-24 08:31:33.559615+00', '{}', NULL, '{"tables": [], "message": "the old copy is kept in step; `finish` ends this, `rollback` gives the keys back", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'rollback', 'rollback', 11, 'done', 1, 1, NULL, '2026-11-24 08:31:33.580603+00', '2026-11-24 08:31:33.580603+00', '2026-11-24 08:31:34.431846+00', '{"window": {"flip": 22.154231, "open": 1.753123, "seal": 15.600186, "check": 4.150563, "drain": 11.470514, "total": 60.023281999999995, "wait_out": 0.005638000000000001}, "attempt": 2, "refused": 0, "storage": {"\"public\".\"orders\"": "16404 1 tenant_id,2 id,3 amount", "\"public\".\"tenants\"": "16387 1 id,2 name", "\"public\".\"accounts\"": "16394 1 tenant_id,2 id"}, "dirty_keys": 0, "map_version": 4}', NULL, '{"tables": [], "message": "shard shard-a owns the keys; map version 4", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:31:37.771978+00', '2026-11-24 08:31:37.771978+00', '2026-11-24 08:31:38.100858+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'catch_up', 'catch_up', 4, 'done', 1, 1, NULL, '2026-11-24 08:31:38.829546+00', '2026-11-24 08:31:38.829546+00', '2026-11-24 08:31:38.961611+00', '{"changes": 0, "transactions": 3}', NULL, '{"tables": [], "message": "applying changes that were captured during the copy", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:31:37.136296+00', '2026-11-24 08:31:37.136296+00', '2026-11-24 08:31:37.761365+00', '{"source": {"system": "7711652776240083239", "timeline": 1}, "target": {"system": "7711652776085258533", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:31:38.124901+00', '2026-11-24 08:31:38.124901+00', '2026-11-24 08:31:38.45779+00', '{"consistent_point": "0/2008A40"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'build_indexes', 'build_indexes', 5, 'done', 1, 1, NULL, '2026-11-24 08:31:38.970194+00', '2026-11-24 08:31:38.970194+00', '2026-11-24 08:31:39.214191+00', '{"objects": 0}', NULL, '{"tables": [], "message": "analyzing public.orders", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'open_reverse', 'open_reverse', 7, 'done', 1, 1, NULL, '2026-11-24 08:31:39.530709+00', '2026-11-24 08:31:39.530709+00', '2026-11-24 08:31:39.73328+00', '{"consistent_point": "0/2051980"}', NULL, '{"tables": [], "message": "creating the stream back to the source", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'hold', 'hold', 9, 'skipped', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mxigro122s', 'drop_old', 'drop_old', 10, 'skipped', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'hold_back', 'hold_back', 12, 'done', 1, 1, NULL, '2026-11-24 08:31:34.450527+00', '2026-11-24 08:31:34.450527+00', '2026-11-24 08:31:35.583322+00', '{}', NULL, '{"tables": [], "message": "the target''s copy is kept in step; `finish` drops it, `approve` lets the cutover begin again", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:31:52.362361+00', '2026-11-24 08:31:52.362361+00', '2026-11-24 08:31:53.084604+00', '{"source": {"system": "7711652776240083239", "timeline": 1}, "target": {"system": "7711652776085258533", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mzyztsicfv', 'drop_new', 'drop_new', 13, 'done', 1, 1, NULL, '2026-11-24 08:31:35.59143+00', '2026-11-24 08:31:35.59143+00', '2026-11-24 08:31:35.961101+00', '{}', NULL, '{"tables": [{"phase": "deleting", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "deleting moved rows of public.tenants", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:31:38.480197+00', '2026-11-24 08:31:38.480197+00', '2026-11-24 08:31:38.821824+00', '{"rows": 700, "bytes": 24063, "units": 3, "seconds": 0.109144532, "snapshots": 1, "bytes_twice": 0, "largest_chunk_bytes": 16021}', NULL, '{"tables": [{"phase": "copying", "table": "public.tenants", "rows_done": 100, "bytes_done": 2821, "rows_total": 100, "bytes_total": 9011}, {"phase": "copying", "table": "public.accounts", "rows_done": 200, "bytes_done": 5221, "rows_total": 200, "bytes_total": 11468}, {"phase": "copying", "table": "public.orders", "rows_done": 400, "bytes_done": 16021, "rows_total": 400, "bytes_total": 24576}], "message": "building primary keys", "eta_seconds": 0.0, "rows_per_second": 13974.682626472924, "bytes_per_second": 480389.6972011685}');
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'build_indexes', 'build_indexes', 5, 'done', 1, 1, NULL, '2026-11-24 08:31:43.656338+00', '2026-11-24 08:31:43.656338+00', '2026-11-24 08:31:43.939307+00', '{"objects": 0}', NULL, '{"tables": [], "message": "analyzing public.items", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mxigro122s', 'unwind', 'unwind', 11, 'done', 1, 2, NULL, '2026-11-24 08:31:39.917992+00', '2026-11-24 08:31:39.917992+00', '2026-11-24 08:31:40.31282+00', '{}', NULL, '{"tables": [{"phase": "deleting", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 0, "bytes_total": 0}], "message": "deleting moved rows of public.tenants", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'hold', 'hold', 9, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'drop_old', 'drop_old', 10, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'cutover', 'cutover', 8, 'failed', 1, 1, NULL, '2026-11-24 08:31:45.190097+00', '2026-11-24 08:31:45.190097+00', NULL, NULL, '{"code": "schema.drift", "hint": "make both sides equal, then `resume`; or abort the migration", "retry": "none", "message": "the moving tables differ:\npublic.items, column later: on shard shard-a place 4 integer; on shard shard-b missing"}', NULL);
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:31:41.596361+00', '2026-11-24 08:31:41.596361+00', '2026-11-24 08:31:42.261277+00', '{"source": {"system": "7711652776240083239", "timeline": 1}, "target": {"system": "7711652776085258533", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'verify', 'verify', 6, 'done', 1, 1, NULL, '2026-11-24 08:31:43.952888+00', '2026-11-24 08:31:43.952888+00', '2026-11-24 08:31:44.304232+00', '{"at": "0/20180E8", "chunks": 1, "tables": [{"rows": 198, "table": "public.items", "digest": "4f3fc3ae9456e50625960f0d93e56ca8"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 198}', NULL, '{"tables": [{"phase": "compared", "table": "public.items", "rows_done": 198, "bytes_done": 0, "rows_total": 198, "bytes_total": 0}], "message": "comparing public.items", "eta_seconds": null, "rows_per_second": 37682.35261204363, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:31:42.269054+00', '2026-11-24 08:31:42.269054+00', '2026-11-24 08:31:42.443882+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:31:42.466099+00', '2026-11-24 08:31:42.466099+00', '2026-11-24 08:31:42.792979+00', '{"consistent_point": "0/2017D70"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'open_reverse', 'open_reverse', 7, 'done', 1, 1, NULL, '2026-11-24 08:31:44.314849+00', '2026-11-24 08:31:44.314849+00', '2026-11-24 08:31:44.596427+00', '{"consistent_point": "0/20ED118"}', NULL, '{"tables": [], "message": "creating the stream back to the source", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:31:42.814404+00', '2026-11-24 08:31:42.814404+00', '2026-11-24 08:31:43.428238+00', '{"rows": 198, "bytes": 7538, "units": 1, "seconds": 0.14776586, "snapshots": 1, "bytes_twice": 0, "largest_chunk_bytes": 7538}', NULL, '{"tables": [{"phase": "copying", "table": "public.items", "rows_done": 198, "bytes_done": 7538, "rows_total": 213, "bytes_total": 16576}], "message": "building primary keys", "eta_seconds": 0.0, "rows_per_second": 2637.832229473818, "bytes_per_second": 100424.1381099679}');
INSERT INTO shardwright.step VALUES ('mq3qre0xqi', 'catch_up', 'catch_up', 4, 'done', 1, 1, NULL, '2026-11-24 08:31:43.447562+00', '2026-11-24 08:31:43.447562+00', '2026-11-24 08:31:43.644996+00', '{"changes": 0, "transactions": 3}', NULL, '{"tables": [], "message": "applying changes that were captured during the copy", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'cutover', 'cutover', 8, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'hold', 'hold', 9, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'drop_old', 'drop_old', 10, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'catch_up', 'catch_up', 4, 'done', 1, 1, NULL, '2026-11-24 08:31:54.547746+00', '2026-11-24 08:31:54.547746+00', '2026-11-24 08:31:54.774578+00', '{"changes": 0, "transactions": 3}', NULL, '{"tables": [], "message": "applying changes that were captured during the copy", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'build_indexes', 'build_indexes', 5, 'done', 1, 1, NULL, '2026-11-24 08:31:54.813179+00', '2026-11-24 08:31:54.813179+00', '2026-11-24 08:31:55.0735+00', '{"objects": 0}', NULL, '{"tables": [], "message": "analyzing public.orders", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'verify', 'verify', 6, 'done', 1, 1, NULL, '2026-11-24 08:31:55.100668+00', '2026-11-24 08:31:55.100668+00', '2026-11-24 08:31:55.471808+00', '{"at": "0/20289F0", "chunks": 3, "tables": [{"rows": 200, "table": "public.accounts", "digest": "526d4ee00a51d3bd08f84ca3f418b11a"}, {"rows": 400, "table": "public.orders", "digest": "50eebd8a5e25012e0b04540986627b6c"}, {"rows": 100, "table": "public.tenants", "digest": "dce803ed3896bd4ab6fc1c66e5a806df"}], "repaired": 0, "different": 0, "chunks_kept": 0, "rows_compared": 700}', NULL, '{"tables": [{"phase": "compared", "table": "public.accounts", "rows_done": 200, "bytes_done": 0, "rows_total": 200, "bytes_total": 0}, {"phase": "compared", "table": "public.orders", "rows_done": 400, "bytes_done": 0, "rows_total": 400, "bytes_total": 0}, {"phase": "compared", "table": "public.tenants", "rows_done": 100, "bytes_done": 0, "rows_total": 100, "bytes_total": 0}], "message": "comparing public.orders", "eta_seconds": null, "rows_per_second": 110807.62134819634, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'open_reverse', 'open_reverse', 7, 'done', 1, 1, NULL, '2026-11-24 08:31:55.479099+00', '2026-11-24 08:31:55.479099+00', '2026-11-24 08:31:55.878194+00', '{"consistent_point": "0/2127F38"}', NULL, '{"tables": [], "message": "creating the stream back to the source", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:31:53.121036+00', '2026-11-24 08:31:53.121036+00', '2026-11-24 08:31:53.350648+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:31:53.367663+00', '2026-11-24 08:31:53.367663+00', '2026-11-24 08:31:53.911953+00', '{"consistent_point": "0/2028690"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mag8q49utx', 'copy', 'copy', 3, 'done', 1, 1, NULL, '2026-11-24 08:31:53.929705+00', '2026-11-24 08:31:53.929705+00', '2026-11-24 08:31:54.534628+00', '{"rows": 700, "bytes": 24063, "units": 3, "seconds": 0.183697788, "snapshots": 1, "bytes_twice": 0, "largest_chunk_bytes": 16021}', NULL, '{"tables": [{"phase": "copying", "table": "public.tenants", "rows_done": 100, "bytes_done": 2821, "rows_total": 100, "bytes_total": 9011}, {"phase": "copying", "table": "public.accounts", "rows_done": 200, "bytes_done": 5221, "rows_total": 200, "bytes_total": 11468}, {"phase": "copying", "table": "public.orders", "rows_done": 400, "bytes_done": 16021, "rows_total": 400, "bytes_total": 24576}], "message": "building primary keys", "eta_seconds": 0.0, "rows_per_second": 8405.59957508013, "bytes_per_second": 288948.4893930759}');
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'catch_up', 'catch_up', 4, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'build_indexes', 'build_indexes', 5, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'verify', 'verify', 6, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'open_reverse', 'open_reverse', 7, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'cutover', 'cutover', 8, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'hold', 'hold', 9, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'drop_old', 'drop_old', 10, 'pending', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'preflight', 'preflight', 0, 'done', 1, 1, NULL, '2026-11-24 08:31:56.833917+00', '2026-11-24 08:31:56.833917+00', '2026-11-24 08:31:57.520168+00', '{"source": {"system": "7711652776240083239", "timeline": 1}, "target": {"system": "7711652776085258533", "timeline": 1}, "findings": [{"sw": "SW0106", "code": "server.fsync", "object": "shard shard-a, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}, {"sw": "SW0106", "code": "server.fsync", "object": "shard shard-b, setting fsync", "remedy": "alter system set fsync = on; select pg_reload_conf()", "problem": "it is off; a crash of the server loses what was acknowledged, and what closes the moved keys", "severity": "warning"}]}', NULL, '{"tables": [], "message": "checking both shards", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'create_target', 'create_target', 1, 'done', 1, 1, NULL, '2026-11-24 08:31:57.533403+00', '2026-11-24 08:31:57.533403+00', '2026-11-24 08:31:57.747605+00', '{"created": false, "objects": 0}', NULL, '{"tables": [], "message": "putting guards on the target''s tables", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'open_capture', 'open_capture', 2, 'done', 1, 1, NULL, '2026-11-24 08:31:57.756738+00', '2026-11-24 08:31:57.756738+00', '2026-11-24 08:31:58.0624+00', '{"consistent_point": "0/203B890"}', NULL, '{"tables": [], "message": "creating the replication slot; it waits for transactions that run now", "eta_seconds": null, "rows_per_second": 0.0, "bytes_per_second": 0.0}');
INSERT INTO shardwright.step VALUES ('mow79i53e3', 'copy', 'copy', 3, 'running', 1, 1, NULL, '2026-11-24 08:31:58.070866+00', '2026-11-24 08:31:58.940636+00', NULL, NULL, NULL, '{"tables": [{"phase": "copying", "table": "public.tenants", "rows_done": 0, "bytes_done": 0, "rows_total": 501, "bytes_total": 45146}, {"phase": "copying", "table": "public.accounts", "rows_done": 1002, "bytes_done": 26073, "rows_total": 1002, "bytes_total": 57458}, {"phase": "copying", "table": "public.orders", "rows_done": 1638, "bytes_done": 65539, "rows_total": 2004, "bytes_total": 123125}], "message": "copying", "eta_seconds": null, "rows_per_second": 15606.835162433725, "bytes_per_second": 541580.8268563934}');


--
-- Data for Name: store_identity; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.store_identity VALUES (true, '2832ba26-86fd-45f6-9127-005bdaa75133', '2026-11-24 08:31:21.211932+00');


--
-- Data for Name: token; Type: TABLE DATA; Schema: shardwright; Owner: -
--

INSERT INTO shardwright.token VALUES ('01a20cae-563a-73a0-a108-9ecefd3c3428', 'reader', 'viewer', '{}', '\x4d34fb8a408d4685a8b7f53f0d306430345b0e1c8d304782dfac30b64659b35f', '2026-11-24 08:31:21.658583+00', 'ada', NULL, NULL, NULL);
INSERT INTO shardwright.token VALUES ('01a20cae-568d-748e-854f-53df42b8da14', 'a1', 'agent', '{}', '\x0f43bdb220ad63ddfa2a691cdded811c9838e16e6b51b39aac6f0bc73d52eca7', '2026-11-24 08:31:21.74138+00', 'ada', NULL, NULL, NULL);
INSERT INTO shardwright.token VALUES ('01a20cae-56d9-735b-a7ae-1ef848d20ce2', 'gone', 'operator', '{}', '\xc72303bb821796262040d411b02ae40e14e79d33030566fd413f48f9f1424b49', '2026-11-24 08:31:21.817056+00', 'ada', NULL, '2026-11-24 08:31:21.902829+00', 'ada');


--
-- Name: audit_id_seq; Type: SEQUENCE SET; Schema: shardwright; Owner: -
--

SELECT pg_catalog.setval('shardwright.audit_id_seq', 48, true);


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


