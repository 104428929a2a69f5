//! Queries for the privileges of the agent's role, by `has_*_privilege` functions. No statement is tried.

use std::collections::BTreeSet;

use connect::Connected;
use plans::fix::{FixStage, FixStatement};
use plans::table::{MovingTable, TableKey, TableName};

use super::{DoctorQuery, Findings};
use crate::error::{StepError, WithIntent};

/// Queries that do not depend on tables.
pub(super) const SERVER_QUERIES: &[DoctorQuery] = &[
    DoctorQuery {
        code: "role.monitor",
        fix: Some(FixStage::Roles),
        sql: "
            select pg_catalog.format('role %s', session_user),
                   'it cannot see the sessions of other roles, so the agent would notice neither long writers nor standbys that lag',
                   pg_catalog.format('grant pg_read_all_stats to %I', session_user)
            where not pg_catalog.pg_has_role('pg_read_all_stats', 'usage')",
    },
    DoctorQuery {
        code: "role.connections",
        fix: Some(FixStage::Roles),
        sql: "
            select pg_catalog.format('role %s', r.rolname),
                   pg_catalog.format('its connection limit is %s, a move takes up to 16', r.rolconnlimit),
                   pg_catalog.format('alter role %I connection limit -1', r.rolname)
            from pg_catalog.pg_roles r
            where r.rolname = session_user and r.rolconnlimit between 0 and 15 and not r.rolsuper
            union all
            select pg_catalog.format('database %s', d.datname),
                   pg_catalog.format('its connection limit is %s, %s are taken, and a move takes up to 16', d.datconnlimit, s.taken),
                   pg_catalog.format('alter database %I connection limit -1', d.datname)
            from pg_catalog.pg_database d
            join pg_catalog.pg_roles r on r.rolname = session_user and not r.rolsuper
            cross join lateral (select count(*) as taken from pg_catalog.pg_stat_activity a
                                where a.datid = d.oid and a.application_name !~ '^shardwright/') s
            where d.datname = pg_catalog.current_database() and d.datconnlimit >= 0 and d.datconnlimit - s.taken < 16",
    },
];

/// Queries that do not depend on tables, for findings that do not prevent a move. Only the doctor runs them.
pub(super) const UNNEEDED_PRIVILEGES: &[DoctorQuery] = &[DoctorQuery {
    code: "role.superuser",
    fix: None,
    sql: "
        select pg_catalog.format('role %s', r.rolname),
               case when r.rolsuper
                    then 'it is a superuser, which no move needs: an attacker with one of its sessions controls the server'
                    else 'it may create roles, which no move needs, and so get the privileges of other roles' end,
               pg_catalog.format(case when r.rolsuper
                   then 'make a role by docs/grants.sql, and let the shard''s connection string name it instead of %I'
                   else 'alter role %I nocreaterole' end, r.rolname)
        from pg_catalog.pg_roles r
        where r.rolname = session_user and (r.rolsuper or r.rolcreaterole)",
}];

/// Queries on the moving tables.
pub(super) const TABLE_QUERIES: &[DoctorQuery] = &[
    DoctorQuery {
        code: "role.owner",
        fix: Some(FixStage::Roles),
        sql: "
            select pg_catalog.format('role %s', session_user),
                   pg_catalog.format('it may not act as %s, who owns %s of the tables, the first is %s; neither a guard nor a publication of them can be made',
                                     o.rolname, count(*), pg_catalog.min(t.label)),
                   pg_catalog.format('grant %I to %I', o.rolname, session_user)
            from t join pg_catalog.pg_roles o on o.oid = t.relowner
            where not pg_catalog.pg_has_role(t.relowner, 'usage')
            group by o.rolname
            order by o.rolname",
    },
    DoctorQuery {
        code: "role.row_security",
        fix: Some(FixStage::Roles),
        sql: "
            select pg_catalog.format('table %s', t.label),
                   pg_catalog.format('its row security holds for role %s, which would see and write some rows only', session_user),
                   pg_catalog.format('alter role %I bypassrls', session_user)
            from t
            where pg_catalog.row_security_active(t.oid)
            order by t.label",
    },
];

/// Removes the tables in schemas on which the role has no USAGE privilege, and adds a finding for each such schema.
pub(in crate::inspect) async fn remove_unusable_tables(
    client: &Connected,
    keyed_tables: &mut Vec<(TableName, TableKey)>,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select n.nspname::text, pg_catalog.format('role %s', session_user),
                    pg_catalog.format('it may not use schema %s', n.nspname),
                    pg_catalog.format('grant usage on schema %I to %I', n.nspname, session_user)
             from pg_catalog.pg_namespace n
             where n.nspname !~ '^pg_' and not pg_catalog.has_schema_privilege(n.oid, 'usage')
             order by 1",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: checking role.usage"))?;
    let mut unusable_schemas = BTreeSet::new();
    for row in &rows {
        let schema: String = row.get(0);
        if keyed_tables.iter().any(|(table, _)| table.schema == schema) {
            let (object, problem, remedy): (String, String, String) =
                (row.get(1), row.get(2), row.get(3));
            let statement = FixStatement::new(FixStage::Roles, &remedy);
            let object = format!("shard {shard}, {object}");
            let finding = findings.add("role.usage", object, problem, remedy);
            finding.fixed_by(shard, vec![statement]);
        }
        unusable_schemas.insert(schema);
    }
    keyed_tables.retain(|(table, _)| !unusable_schemas.contains(&table.schema));
    Ok(())
}

/// Returns the tables of which the role cannot read all rows. The agent does not query their rows.
pub(in crate::inspect) async fn unreadable_tables(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<BTreeSet<TableName>, StepError> {
    let shard = client.name();
    let (schemas, names): (Vec<&str>, Vec<&str>) = tables
        .iter()
        .map(|moving| (moving.table.schema.as_str(), moving.table.name.as_str()))
        .unzip();
    let sql = format!(
        "{} select t.nspname::text, t.relname::text from t
         where pg_catalog.row_security_active(t.oid) or not pg_catalog.has_table_privilege(t.oid, 'select')",
        super::TABLES_CTE
    );
    let rows = client
        .query(&sql, &[&schemas, &names])
        .await
        .at(format_args!(
            "shard {shard}: checking which tables can be read"
        ))?;
    let name = |row: &tokio_postgres::Row| TableName {
        schema: row.get(0),
        name: row.get(1),
    };
    Ok(rows.iter().map(name).collect())
}
