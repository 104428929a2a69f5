//! Finds tables for which the sessions of the agent cannot plan a statement, because a function in an expression of an
//! index or of extended statistics needs a search path.

use connect::Connected;
use plans::fix::FixStatement;
use plans::table::TableName;
use tokio_postgres::Row;

use super::functions;
use super::tables::ListedTables;
use super::trial::{UNQUALIFIED_REMEDY, server_message};
use crate::error::StepError;
use crate::error::WithIntent;
use crate::inspect::findings::Findings;

/// Tables with expressions or conditions in indexes or extended statistics.
const WITH_EXPRESSIONS: &str = "
    select distinct n.nspname::pg_catalog.text, c.relname::pg_catalog.text
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where exists (select from pg_catalog.pg_index i
                  where i.indrelid = c.oid and (i.indexprs is not null or i.indpred is not null))
       or exists (select from pg_catalog.pg_statistic_ext x where x.stxrelid = c.oid and x.stxexprs is not null)";

/// Refuses tables for which the server cannot plan a statement. The survey does not query their rows.
pub(super) async fn check(
    client: &Connected,
    listed: &mut ListedTables,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    let rows = client.query(WITH_EXPRESSIONS, &[]).await;
    let rows = rows.at(format_args!(
        "shard {shard}: listing expressions of indexes"
    ))?;
    let name = |row: &Row| TableName {
        schema: row.get(0),
        name: row.get(1),
    };
    let tables_with_expressions: Vec<TableName> = rows.iter().map(name).collect();
    let tables = listed.moving.iter().map(|moving| moving.table.clone());
    let candidates = tables.filter(|table| {
        tables_with_expressions.contains(table) && !listed.unreadable.contains(table)
    });
    for table in candidates.collect::<Vec<_>>() {
        let explain = format!("explain select from only {}", table.sql());
        let result = client.batch_execute(&explain).await;
        match result {
            Err(error) if error.as_db_error().is_some() => {
                let object = format!("shard {shard}, table {table}");
                let statements = functions::path_statements_for_expressions(client, &table).await?;
                add_expression_refusal(object, server_message(&error), statements, shard, findings);
                listed.unreadable.insert(table);
            }
            result => result.at(format_args!("shard {shard}: planning for {table}"))?,
        }
    }
    Ok(())
}

fn add_expression_refusal(
    object: String,
    problem: String,
    statements: Vec<FixStatement>,
    shard: &str,
    findings: &mut Findings,
) {
    let sql: Vec<&str> = statements.iter().map(|s| s.sql.as_str()).collect();
    let remedy = match sql.is_empty() {
        true => UNQUALIFIED_REMEDY.to_owned(),
        false => sql.join(" "),
    };
    let finding = findings.add_refusal("table.expression", object, problem, remedy);
    if !statements.is_empty() {
        finding.fixed_by(shard, statements);
    }
}
