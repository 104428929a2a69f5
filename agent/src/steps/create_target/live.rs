//! A live target: a shard that has the moving tables already, for other keys.

use connect::Connected;
use plans::failure::StepCode;
use plans::table::MovingTable;

use super::{create_guards, released_keys};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::epoch;
use crate::shard::register::Register;

/// Returns whether the target has all moving tables. Refuses a target that has only some of them.
pub(super) async fn is_live_target(
    context: &StepContext,
    session: &Connected,
) -> Result<bool, StepError> {
    let shard = session.name();
    let tables = &context.dispatch.tables;
    let names = tables.iter().map(|table| &table.table);
    let existing = catalog::existing(session, names).await?;
    let moving = || tables.iter().filter(|table| !table.is_reference());
    let (present, missing): (Vec<&MovingTable>, Vec<&MovingTable>) =
        moving().partition(|table| existing.contains(&table.table));
    if present.is_empty() {
        return Ok(false);
    }
    if missing.is_empty() {
        return Ok(true);
    }
    let names = |tables: &[&MovingTable]| {
        let names: Vec<String> = tables.iter().map(|t| t.table.to_string()).collect();
        names.join(", ")
    };
    Err(StepError::refused(
        StepCode::TargetPartly,
        format!(
            "shard {shard}: it has the tables {} and lacks {}",
            names(&present),
            names(&missing)
        ),
        "create the missing tables there as they are on the source, or drop the existing ones; then `resume`",
    ))
}

/// Prepares a live target. The agent creates only the register and the guards there.
pub(super) async fn prepare_live_target(
    context: &StepContext,
    session: &Connected,
) -> Result<(), StepError> {
    let shard = session.name();
    let dispatch = &context.dispatch;
    context.report_message("putting guards on the target's tables");
    let fingerprint = catalog::fingerprint(session, &context.planned_tables).await?;
    if fingerprint != dispatch.schema_fingerprint {
        return Err(StepError::refused(
            StepCode::SchemaDrift,
            format!("shard {shard}: its tables differ from the tables in the plan"),
            "make the definitions on both shards equal, then `resume`; `plan` names each difference",
        ));
    }
    let (token, tables) = (context.token(), context.keyed_tables());
    create_guards(context, session, Register::Closed).await?;
    released_keys(context, &token, &tables, shard)
        .reclaim(session)
        .await?;
    let prover = context.session.code_prover(&context.target()?).await?;
    prover.begin(session, &tables).await?;
    for table in &tables {
        let sql = format!(
            "select exists (select from only {} where {})",
            table.table.sql(),
            context.predicate(table, "")
        );
        let what = format!(
            "shard {shard}: searching for rows of the moving keys in {}",
            table.table
        );
        let row = session.query_one(&sql, &[]).await.at(what)?;
        if row.get(0) {
            return Err(StepError::refused(
                StepCode::TargetStray,
                format!(
                    "shard {shard}: table {} already has rows of the moving keys",
                    table.table
                ),
                "find out with `shardwright map check` where these rows come from; they would be mixed with the moved rows",
            ));
        }
    }
    epoch::rollback(session).await;
    // From here on, every row of the moving keys on the target is from this migration: the guards refuse all other
    // writes.
    let sql = format!(
        "update shardwright.move set loaded = true where migration = {}",
        plans::sql::quote_literal(dispatch.migration.as_str())
    );
    epoch::execute(session, &token, &sql).await.at(format_args!(
        "shard {shard}: recording that the copied rows are this migration's"
    ))
}
