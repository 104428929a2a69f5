//! Queries for publications and subscriptions that read or write the tables.

use super::DoctorQuery;

/// Queries on the moving tables.
pub(super) const TABLE_QUERIES: &[DoctorQuery] = &[
    DoctorQuery {
        code: "publication.all_tables",
        fix: None,
        sql: "
            select pg_catalog.format('publication %s', p.pubname),
                   'it publishes all tables, so its subscribers receive the rows that a move copies here as inserts, the rows that it removes as deletes, and Shardwright''s own tables',
                   pg_catalog.format('let its subscribers tell moved rows from new ones; or publish by name: begin; drop publication %I; create publication %I for table ...; commit; then on each subscriber: alter subscription ... refresh publication',
                                     p.pubname, p.pubname)
            from pg_catalog.pg_publication p
            where p.puballtables and not pg_catalog.starts_with(p.pubname::text, 'shardwright_')
              and exists (select from t)
            order by 1",
    },
    DoctorQuery {
        code: "publication.table",
        fix: None,
        sql: "
            select pg_catalog.format('publication %s', p.pubname),
                   pg_catalog.format('it publishes %s of the tables, the first is %s; its subscribers receive the rows that a move copies here as inserts, and the rows that it removes as deletes',
                                     count(*), pg_catalog.min(t.label)),
                   'let its subscribers tell moved rows from new ones, for example by the source that they come from'
            from t
            join pg_catalog.pg_publication_tables s on s.schemaname = t.nspname and s.tablename = t.relname
            join pg_catalog.pg_publication p on p.pubname = s.pubname
            where not p.puballtables and not pg_catalog.starts_with(p.pubname::text, 'shardwright_')
            group by p.pubname
            order by 1",
    },
    DoctorQuery {
        code: "subscription.present",
        fix: None,
        sql: "
            select pg_catalog.format('subscription %s', s.subname),
                   'it writes into this database; the guard would refuse its changes of moved keys, which stops the subscription',
                   pg_catalog.format('alter subscription %I disable for the time of the move, if it writes into the tables', s.subname)
            from pg_catalog.pg_subscription s
            where s.subdbid = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
              and exists (select from t)
            order by 1",
    },
];
