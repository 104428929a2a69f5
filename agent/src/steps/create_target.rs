//! Creates the target: tables without indexes, the closed register, the guards.
//!
//! Order: cleanup records, our schema and the migration's row, the source's schema as statements on
//! the target, then pre-data, register and guards in one transaction.
//! A second run drops what the first one made and begins again: the copy has not begun, or is void.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::controller::CleanupRecord;
use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pg::guard;
use crate::pg::schema::{self, Schema, Section};
use crate::pg::{epoch, home};

pub(super) async fn run(context: &Context) -> Result<Value, StepError> {
    let dispatch = &context.dispatch;
    let target = context.target()?;
    let session = target.session("create").await?;
    let token = context.token();
    context.say("reading the source's schema");
    let schema = schema::dump(&context.source()?.dsn, &dispatch.source.name.0).await?;
    let records = records(context);
    context
        .controller
        .record_cleanup(&dispatch.migration, &records)
        .await?;
    home::ensure(&session, &target.name).await?;
    let map = dispatch.map.as_str();
    epoch::enrol(&session, &token, "target", map, &target.name).await?;
    context.say("creating tables, register and guards on the target");
    undo(context, &session, &target.name).await?;
    epoch::begin(&session, &token, &target.name).await?;
    store(&session, context, &schema, &target.name).await?;
    restore(&session, context, &schema, &target.name).await?;
    fail_point::hit("create_target.restored").await?;
    epoch::commit(
        &session,
        &format!("shard {}: creating the target's tables", target.name),
    )
    .await?;
    Ok(json!({ "objects": schema.entries.len() }))
}

fn records(context: &Context) -> Vec<CleanupRecord> {
    let shard = context.dispatch.target.name.to_string();
    let record = |kind: &str, name: String, policy: &str| CleanupRecord {
        shard: shard.clone(),
        kind: kind.to_owned(),
        name,
        policy: policy.to_owned(),
    };
    let migration = &context.dispatch.migration;
    let mut records = vec![
        record("schema", plans::names::SCHEMA.to_owned(), "always"),
        record("guard", migration.guard_function(), "always"),
    ];
    let tables = context.dispatch.tables.iter();
    records.extend(tables.map(|table| record("table", table.table.to_string(), "on_failure")));
    records
}

/// Drops what an earlier run, or a copy that is void, left on the target.
pub(super) async fn undo(
    context: &Context,
    session: &Client,
    shard: &str,
) -> Result<(), StepError> {
    let migration = &context.dispatch.migration;
    let what = format!("shard {shard}: dropping what the migration created");
    if !epoch::is_enrolled(session, &context.token_for_cleanup(), shard).await? {
        return Ok(());
    }
    guard::drop_all(session, &context.token_for_cleanup(), shard).await?;
    let row = session
        .query_opt(
            "select drop_script from shardwright.move where migration = $1",
            &[&migration.0],
        )
        .await
        .at(&what)?;
    let Some(row) = row else { return Ok(()) };
    let script: Option<String> = row.get(0);
    epoch::begin(session, &context.token_for_cleanup(), shard).await?;
    if let Some(script) = script {
        session.batch_execute(&script).await.at(&what)?;
    }
    for table in ["schema_entry", "chunk", "progress", "dirty"] {
        let sql = format!("delete from shardwright.{table} where migration = $1");
        session.execute(&sql, &[&migration.0]).await.at(&what)?;
    }
    session
        .execute(
            "update shardwright.move set drop_script = null where migration = $1",
            &[&migration.0],
        )
        .await
        .at(&what)?;
    epoch::commit(session, &what).await
}

async fn store(
    session: &Client,
    context: &Context,
    schema: &Schema,
    shard: &str,
) -> Result<(), StepError> {
    let what = format!("shard {shard}: keeping the schema's statements");
    let id = &context.dispatch.migration.0;
    for (ordinal, entry) in (0_i32..).zip(&schema.entries) {
        session
            .execute(
                "insert into shardwright.schema_entry (migration, ordinal, section, parallel, label, statement)
                 values ($1, $2, $3, $4, $5, $6)",
                &[id, &ordinal, &entry.section.name(), &entry.parallel, &entry.label, &entry.statement],
            )
            .await
            .at(&what)?;
    }
    session
        .execute(
            "update shardwright.move set drop_script = $2 where migration = $1",
            &[id, &schema.drop_script],
        )
        .await
        .at(&what)?;
    Ok(())
}

async fn restore(
    session: &Client,
    context: &Context,
    schema: &Schema,
    shard: &str,
) -> Result<(), StepError> {
    let dispatch = &context.dispatch;
    for entry in schema
        .entries
        .iter()
        .filter(|entry| entry.section == Section::Pre)
    {
        let what = format!("shard {shard}: creating {}", entry.label);
        // pg_dump's function bodies may refer to what comes later.
        session
            .batch_execute(&format!(
                "set local check_function_bodies = off; {}",
                entry.statement
            ))
            .await
            .at(what)?;
    }
    let what = format!("shard {shard}: creating guards");
    guard::create_register(session, &dispatch.migration, i64::MAX)
        .await
        .at(&what)?;
    guard::create_functions(session, &dispatch.migration, &dispatch.map)
        .await
        .at(&what)?;
    let role = session_user(session).await.at(&what)?;
    for table in &dispatch.tables {
        let sql = guard::triggers_sql(&dispatch.migration, &dispatch.keys, table, &role);
        session.batch_execute(&sql).await.at(&what)?;
    }
    session
        .execute(
            "update shardwright.schema_entry set done = true where migration = $1 and section = 'pre'",
            &[&dispatch.migration.0],
        )
        .await
        .at(&what)?;
    Ok(())
}

/// The role that our sessions log in as.
pub(super) async fn session_user(session: &Client) -> Result<String, tokio_postgres::Error> {
    let row = session.query_one("select session_user::text", &[]).await?;
    Ok(row.get(0))
}
