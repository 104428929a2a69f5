//! Checks a shard with SQL queries over all tables at once. Each row of a result is a finding.
//!
//! The doctor and the survey run these queries. They read catalogs and statistics, not the rows of the tables.

mod pair;
mod publications;
mod role;
mod sequences;
mod server;
mod tables;
mod triggers;

#[cfg(test)]
mod tests;

pub(super) use pair::check as check_pair;
pub(super) use role::{remove_unusable_tables, unreadable_tables};

use connect::Connected;
use plans::fix::{FixStage, FixStatement};
use plans::request::Mode;
use plans::shard_map::Sequences;
use plans::table::{MovingTable, TableName};

use super::findings::Findings;
use crate::error::{StepError, WithIntent};

/// A query whose result rows each have the object, problem and remedy of a finding.
#[derive(Debug, Clone, Copy)]
struct DoctorQuery {
    /// The name of the finding in the registry `plans::doctor`.
    code: &'static str,
    /// The stage of a fix script in which the remedy runs. `None` if the remedy is not a statement, or is not right for
    /// every application.
    fix: Option<FixStage>,
    sql: &'static str,
}

/// Defines `t`, the tables with the schemas `$1` and names `$2`: all columns of `pg_class`, `label` for people, and
/// `sql` as a quoted name.
const TABLES_CTE: &str = "
    with t as (select c.*, n.nspname, pg_catalog.format('%s.%s', n.nspname, c.relname) as label,
                      pg_catalog.format('%I.%I', n.nspname, c.relname) as sql
               from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) given (schema, name)
               join pg_catalog.pg_namespace n on n.nspname = given.schema
               join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = given.name)";

/// Runs the queries of the doctor that do not concern a move: privileges on the server that no move needs.
pub(super) async fn check_unneeded_privileges(
    client: &Connected,
    findings: &mut Findings,
) -> Result<(), StepError> {
    run_server_queries(client, role::UNNEEDED_PRIVILEGES, findings).await
}

/// Runs the queries on the server and the role that do not depend on tables.
pub(super) async fn check_server(
    client: &Connected,
    mode: Mode,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let capture: &[DoctorQuery] = match mode {
        Mode::Online => server::CAPTURE_QUERIES,
        Mode::Offline => &[],
    };
    let queries = [
        server::SERVER_QUERIES,
        capture,
        role::SERVER_QUERIES,
        triggers::SERVER_QUERIES,
    ]
    .concat();
    run_server_queries(client, &queries, findings).await
}

/// Runs queries that do not depend on tables.
async fn run_server_queries(
    client: &Connected,
    queries: &[DoctorQuery],
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    for query in queries {
        let rows = client.query(query.sql, &[]).await;
        let rows = rows.at(format_args!("shard {shard}: checking {}", query.code))?;
        add_findings(query, &rows, shard, findings);
    }
    Ok(())
}

/// Runs the queries that apply to both source and target: privileges on the tables, and publications and subscriptions
/// that read or write them.
pub(super) async fn check_table_access<'a>(
    client: &Connected,
    tables: impl Iterator<Item = &'a TableName>,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let queries = [role::TABLE_QUERIES, publications::TABLE_QUERIES].concat();
    run_table_queries(client, &queries, tables, findings).await
}

/// Runs the queries on the definitions of the moving tables.
pub(super) async fn check_tables(
    client: &Connected,
    moving: &[MovingTable],
    sequence_policy: Sequences,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let stride: &[DoctorQuery] = match sequence_policy {
        Sequences::Stride => sequences::STRIDE_QUERIES,
        Sequences::Block | Sequences::Keep => &[],
    };
    let queries = [
        tables::TABLE_QUERIES,
        triggers::TABLE_QUERIES,
        sequences::TABLE_QUERIES,
        stride,
    ]
    .concat();
    let names = moving.iter().map(|table| &table.table);
    run_table_queries(client, &queries, names, findings).await?;
    tables::check_keys(client, moving, findings).await
}

async fn run_table_queries<'a>(
    client: &Connected,
    queries: &[DoctorQuery],
    tables: impl Iterator<Item = &'a TableName>,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    let (schemas, names): (Vec<&str>, Vec<&str>) = tables
        .map(|table| (table.schema.as_str(), table.name.as_str()))
        .unzip();
    for query in queries {
        let sql = format!("{TABLES_CTE} {}", query.sql);
        let rows = client.query(&sql, &[&schemas, &names]).await;
        let rows = rows.at(format_args!("shard {shard}: checking {}", query.code))?;
        add_findings(query, &rows, shard, findings);
    }
    Ok(())
}

fn add_findings(
    query: &DoctorQuery,
    rows: &[tokio_postgres::Row],
    shard: &str,
    findings: &mut Findings,
) {
    for row in rows {
        let (object, problem, remedy): (String, String, String) =
            (row.get(0), row.get(1), row.get(2));
        let object = format!("shard {shard}, {object}");
        let statement = query.fix.map(|stage| FixStatement::new(stage, &remedy));
        let finding = findings.add(query.code, object, problem, remedy);
        if let Some(statement) = statement {
            finding.fixed_by(shard, vec![statement]);
        }
    }
}
