-- The role of Shardwright's agents on one shard, with exactly what it needs. It is no superuser.
--
-- Run it with psql in the shard's own database, source and target alike, as a superuser:
--
--   psql -X -v ON_ERROR_STOP=1 -v role=mover -v owner=shop_owner -d shop -f grants.sql
--
-- role:  the agents' role; it is made where it is missing. Give it a password afterwards: \password mover
-- owner: the role that owns the moving tables, and the target's database. Run the file once for each such role.
-- Three more things are wanted by options of a request only:
--   -v dual_write=on   for dual_write: synchronous
--   -v cancel=on       for long_writers: cancel
--   -v seed=on         for seed: standby; on the source, whose standby receives it with the log
-- A decision of the administrator:
--   -v trust=on        functions of the owner, in checks, indexes and the like, may run with the rights of the agents'
--                      role; without it tables that call any are refused (code.untrusted)
-- It can be run again. docs/connections.md says what each line is for.

\if :{?dual_write}
\else
    \set dual_write off
\endif
\if :{?cancel}
\else
    \set cancel off
\endif
\if :{?seed}
\else
    \set seed off
\endif
\if :{?trust}
\else
    \set trust off
\endif

select not exists (select from pg_catalog.pg_roles where rolname = :'role') as missing \gset
\if :missing
    create role :"role" login;
\endif

-- Slots and the stream of changes.
alter role :"role" replication;

-- Apply must not fire the application's triggers and foreign keys a second time.
grant set on parameter session_replication_role to :"role";

-- Guards, publications, tables, indexes and the removal of moved rows are the owner's right.
grant :"owner" to :"role";

-- The schema "shardwright", the publications and, on a new target, the application's schemas.
grant create on database :"DBNAME" to :"role";

-- Which sessions hold up a cutover, and which standbys are there.
grant pg_read_all_stats to :"role";

\if :dual_write
    -- Commits that wait for both shards.
    grant alter system on parameter synchronous_standby_names to :"role";
    grant execute on function pg_catalog.pg_reload_conf() to :"role";
\endif

\if :cancel
    -- Writers that the operator gave leave to end.
    grant pg_signal_backend to :"role";
\endif

\if :seed
    -- The standby that becomes the target.
    grant execute on function pg_catalog.pg_promote(boolean, integer) to :"role";
\endif

\if :trust
    -- Whom the role's sessions trust. No session reads the setting, but its entry in the catalog, which only those write
    -- who may alter the role.
    select pg_catalog.string_agg(distinct pg_catalog.btrim(name), ', ') as trusted
    from (
        select pg_catalog.string_to_table(pg_catalog.split_part(entry, '=', 2), ',') as name
        from pg_catalog.pg_db_role_setting s
        join pg_catalog.pg_roles r on r.oid = s.setrole, pg_catalog.unnest(s.setconfig) entry
        where s.setdatabase = 0 and r.rolname = :'role'
          and pg_catalog.split_part(entry, '=', 1) = 'shardwright.trusted_owners'
        union
        select :'owner'
    ) known \gset
    alter role :"role" set shardwright.trusted_owners = :'trusted';
\endif
