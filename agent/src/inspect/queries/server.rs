//! Queries for settings of the server, connections and open transactions.

use plans::fix::FixStage;

use super::DoctorQuery;

/// Queries for every move.
pub(super) const SERVER_QUERIES: &[DoctorQuery] = &[
    DoctorQuery {
        code: "server.fsync",
        fix: Some(FixStage::Settings),
        sql: "
            select pg_catalog.format('setting %s', s.name),
                   'it is off; a crash of the server can lose acknowledged commits, and the state that closes the moved keys',
                   pg_catalog.format('alter system set %I = on; select pg_reload_conf()', s.name)
            from pg_catalog.pg_settings s
            where s.name in ('fsync', 'full_page_writes') and s.setting = 'off'",
    },
    DoctorQuery {
        code: "server.connections",
        fix: None,
        sql: "
            select 'setting max_connections',
                   pg_catalog.format('%s connections are free, a move takes up to 16', free.number),
                   'alter system set max_connections = ..., then restart the server; or let the application hold fewer'
            from (select pg_catalog.current_setting('max_connections')::int
                         - pg_catalog.current_setting('superuser_reserved_connections')::int
                         - coalesce(pg_catalog.current_setting('reserved_connections', true), '0')::int
                         - (select count(*) from pg_catalog.pg_stat_activity where backend_type = 'client backend') as number) free
            where free.number < 16",
    },
    DoctorQuery {
        code: "server.connections",
        fix: Some(FixStage::Settings),
        sql: "
            select pg_catalog.format('database %s', d.datname),
                   pg_catalog.format('its connection limit is %s, a move takes up to 16', d.datconnlimit),
                   pg_catalog.format('alter database %I connection limit -1', d.datname)
            from pg_catalog.pg_database d
            where d.datname = pg_catalog.current_database() and d.datconnlimit between 0 and 15",
    },
    DoctorQuery {
        code: "server.collation_version",
        fix: None,
        sql: "
            select pg_catalog.format('database %s', d.datname),
                   pg_catalog.format('its collation had version %s when the database was created and has version %s now, so indexes may be out of order',
                                     d.datcollversion, coalesce(pg_catalog.pg_database_collation_actual_version(d.oid), 'none')),
                   pg_catalog.format('reindex database %I; alter database %I refresh collation version', d.datname, d.datname)
            from pg_catalog.pg_database d
            where d.datname = pg_catalog.current_database()
              and d.datcollversion is not null
              and d.datcollversion is distinct from pg_catalog.pg_database_collation_actual_version(d.oid)
            union all
            select pg_catalog.format('collation %s.%s', n.nspname, c.collname),
                   pg_catalog.format('it had version %s when it was created and has version %s now, so indexes may be out of order',
                                     c.collversion, coalesce(pg_catalog.pg_collation_actual_version(c.oid), 'none')),
                   pg_catalog.format('reindex what uses it; alter collation %I.%I refresh version', n.nspname, c.collname)
            from pg_catalog.pg_collation c
            join pg_catalog.pg_namespace n on n.oid = c.collnamespace
            where c.collversion is not null
              and exists (select from pg_catalog.pg_attribute a where a.attcollation = c.oid and a.attrelid >= 16384)
              and c.collversion is distinct from pg_catalog.pg_collation_actual_version(c.oid)",
    },
    DoctorQuery {
        code: "standby.missing",
        fix: None,
        sql: "
            select 'setting synchronous_standby_names',
                   pg_catalog.format('it is %s and no such standby is connected; every commit waits for one, also those of the agent',
                                     pg_catalog.quote_literal(pg_catalog.current_setting('synchronous_standby_names'))),
                   'start the standby, or: alter system set synchronous_standby_names = ''''; select pg_reload_conf()'
            where pg_catalog.current_setting('synchronous_standby_names') <> ''
              and pg_catalog.pg_has_role('pg_read_all_stats', 'usage')
              and not exists (select from pg_catalog.pg_stat_replication where sync_state in ('sync', 'quorum'))",
    },
    DoctorQuery {
        code: "transaction.prepared",
        fix: None,
        sql: "
            select pg_catalog.format('prepared transaction %s of database %s', x.gid, x.database),
                   pg_catalog.format('it is %s old; no slot can be created, and no cutover proceeds, before it ends',
                                     pg_catalog.date_trunc('second', pg_catalog.now() - x.prepared)),
                   pg_catalog.format('in database %s: commit prepared %L or rollback prepared %L', x.database, x.gid, x.gid)
            from pg_catalog.pg_prepared_xacts x
            order by x.prepared",
    },
    DoctorQuery {
        code: "transaction.old",
        fix: None,
        sql: "
            select pg_catalog.format('transaction of pid %s', a.pid),
                   pg_catalog.format('it has been open for %s; creating the slot waits for it',
                                     pg_catalog.date_trunc('second', pg_catalog.now() - a.xact_start)),
                   pg_catalog.format('end it, or wait: select pg_terminate_backend(%s)', a.pid)
            from pg_catalog.pg_stat_activity a
            where a.backend_xid is not null and a.xact_start < pg_catalog.now() - interval '1 minute'
            order by a.xact_start",
    },
];

/// Queries for moves that capture changes (online moves).
pub(super) const CAPTURE_QUERIES: &[DoctorQuery] = &[
    DoctorQuery {
        code: "server.sender_timeout",
        fix: Some(FixStage::Settings),
        sql: "
            select 'setting wal_sender_timeout',
                   pg_catalog.format('it is %s ms; each short pause of the agent or of the network ends the stream', s.setting),
                   'alter system set wal_sender_timeout = ''60s''; select pg_reload_conf()'
            from pg_catalog.pg_settings s
            where s.name = 'wal_sender_timeout' and s.setting::int between 1 and 9999",
    },
    DoctorQuery {
        code: "server.idle_slots",
        fix: Some(FixStage::Settings),
        sql: "
            select 'setting idle_replication_slot_timeout',
                   pg_catalog.format('it is %s; the server invalidates a slot that no agent reads for this time, and the migration fails', s.setting),
                   'alter system set idle_replication_slot_timeout = 0; select pg_reload_conf()'
            from pg_catalog.pg_settings s
            where s.name = 'idle_replication_slot_timeout' and s.setting <> '0'",
    },
];
