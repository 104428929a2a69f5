//! Expressions of indexes and statistics that no session of ours can plan for: a function that they call finds nothing
//! without a search path.

use connect::Connected;
use plans::fix::FixStatement;
use plans::table::TableName;
use tokio_postgres::Row;

use super::functions;
use super::tables::ListedTables;
use super::trial::{UNQUALIFIED, said};
use crate::error::StepError;
use crate::error::WithIntent;
use crate::inspect::findings::Findings;

/// Tables with such expressions, whole or of a condition.
const WITH_EXPRESSIONS: &str = "
    select distinct n.nspname::pg_catalog.text, c.relname::pg_catalog.text
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where exists (select from pg_catalog.pg_index i
                  where i.indrelid = c.oid and (i.indexprs is not null or i.indpred is not null))
       or exists (select from pg_catalog.pg_statistic_ext x where x.stxrelid = c.oid and x.stxexprs is not null)";

/// Refuses tables for which a statement cannot even be planned; nothing else is asked of them.
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
    let with: Vec<TableName> = rows.iter().map(name).collect();
    let tables = listed.moving.iter().map(|moving| moving.table.clone());
    let fit = tables.filter(|table| with.contains(table) && !listed.unfit.contains(table));
    for table in fit.collect::<Vec<_>>() {
        let plan = format!("explain select from only {}", table.sql());
        let planned = client.batch_execute(&plan).await;
        match planned {
            Err(error) if error.as_db_error().is_some() => {
                let object = format!("shard {shard}, table {table}");
                let statements = functions::of_expressions(client, &table).await?;
                refuse(object, said(&error), statements, shard, findings);
                listed.unfit.insert(table);
            }
            planned => planned.at(format_args!("shard {shard}: planning for {table}"))?,
        }
    }
    Ok(())
}

fn refuse(
    object: String,
    problem: String,
    statements: Vec<FixStatement>,
    shard: &str,
    findings: &mut Findings,
) {
    let sql: Vec<&str> = statements.iter().map(|s| s.sql.as_str()).collect();
    let remedy = match sql.is_empty() {
        true => UNQUALIFIED.to_owned(),
        false => sql.join(" "),
    };
    let finding = findings.refuse("table.expression", object, problem, remedy);
    if !statements.is_empty() {
        finding.fixed_by(shard, statements);
    }
}
