//! Prepares the target: tables without indexes on an empty database, none on a live shard that has them;
//! the closed register and the guards on both.
//!
//! Order on an empty database: cleanup records, our schema and the migration's row, the source's schema as
//! statements on the target, then pre-data, register and guards in one transaction.
//! Order on a live shard: register, guards table by table, keys that come back leave the guard of those that
//! were given away, and only then is it looked whether rows of the moving keys are there.
//! A second run takes back what the first one did and begins again: the copy has not begun, or is void.

use plans::step::create_target::TargetCreated;
use plans::table::MovingTable;
use tokio_postgres::Client;

use super::delete;
use crate::controller::CleanupRecord;
use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pg::away::Away;
use crate::pg::schema::{self, Schema, Section};
use crate::pg::{catalog, epoch, guard, home, register};

pub(super) async fn run(context: &Context) -> Result<TargetCreated, StepError> {
    let dispatch = &context.dispatch;
    let target = context.target()?;
    let session = target.session("create").await?;
    context
        .controller
        .record_cleanup(&dispatch.migration, &records(context))
        .await?;
    home::ensure(&session, &target.name).await?;
    context.enrol(&session, "target", &target.name).await?;
    undo(context, &session, &target.name).await?;
    if is_live(context, &session, &target.name).await? {
        join(context, &session, &target.name).await?;
        return Ok(TargetCreated {
            created: false,
            objects: 0,
        });
    }
    let objects = create(context, &session, &target.name).await?;
    Ok(TargetCreated {
        created: true,
        objects,
    })
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

/// True when the moving tables are there; a part of them is refused.
async fn is_live(context: &Context, session: &Client, shard: &str) -> Result<bool, StepError> {
    let there = catalog::tables(session, shard).await?;
    let tables = &context.dispatch.tables;
    let moving = || tables.iter().filter(|table| !table.is_reference());
    let (present, missing): (Vec<&MovingTable>, Vec<&MovingTable>) =
        moving().partition(|table| there.contains_key(&table.table));
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
        "target.partly",
        format!(
            "shard {shard}: it has the tables {} and lacks {}",
            names(&present),
            names(&missing)
        ),
        "create the missing tables there as they are on the source, or drop the others; then `resume`",
    ))
}

/// Takes part in a live shard: nothing is created but our own register and guards.
async fn join(context: &Context, session: &Client, shard: &str) -> Result<(), StepError> {
    let dispatch = &context.dispatch;
    context.say("putting guards on the target's tables");
    let found = catalog::fingerprint(session, &dispatch.tables, shard).await?;
    if found != dispatch.schema_fingerprint {
        return Err(StepError::refused(
            "schema.drift",
            format!("shard {shard}: its tables are not as the plan describes the source's"),
            "make both sides equal, then `resume`; `plan` names each difference",
        ));
    }
    let (token, tables) = (context.token(), context.keyed());
    guards(context, session, i64::MAX, shard).await?;
    away(context, &token, &tables, shard).take(session).await?;
    for table in &tables {
        let sql = format!(
            "select exists (select from only {} where {})",
            table.table.sql(),
            context.predicate(table)
        );
        let what = format!(
            "shard {shard}: looking for rows of the moving keys in {}",
            table.table
        );
        let row = session.query_one(&sql, &[]).await.at(what)?;
        if row.get(0) {
            return Err(StepError::refused(
                "target.stray",
                format!(
                    "shard {shard}: table {} has rows of the moving keys already",
                    table.table
                ),
                "find out whose they are with `shardwright map check`; they would be mixed with the moved ones",
            ));
        }
    }
    // From here on rows of the moving keys can only be ours: the guards refuse everybody else's.
    let sql = format!(
        "update shardwright.move set loaded = true where migration = {}",
        plans::table::quote_literal(dispatch.migration.as_str())
    );
    epoch::execute(session, &token, &sql).await.at(format_args!(
        "shard {shard}: recording that the copy may begin"
    ))
}

/// The move as the guard of keys that were given away sees it.
pub(super) fn away<'a>(
    context: &'a Context,
    token: &'a epoch::Token,
    tables: &'a [MovingTable],
    shard: &'a str,
) -> Away<'a> {
    Away {
        token,
        map: &context.dispatch.map,
        keys: &context.dispatch.keys,
        tables,
        shard,
    }
}

/// Register, functions and triggers on a live shard, each for a moment's lock.
pub(super) async fn guards(
    context: &Context,
    session: &Client,
    register: i64,
    shard: &str,
) -> Result<(), StepError> {
    let dispatch = &context.dispatch;
    let what = format!("shard {shard}: creating guards");
    let token = context.token();
    epoch::begin(session, &token, shard).await?;
    register_and_functions(context, session, register)
        .await
        .at(&what)?;
    epoch::commit(session, &what).await?;
    guard::put(session, &token, &dispatch.keys, &dispatch.tables, shard).await
}

/// What the triggers need, inside the caller's transaction.
async fn register_and_functions(
    context: &Context,
    session: &Client,
    register: i64,
) -> Result<(), tokio_postgres::Error> {
    let dispatch = &context.dispatch;
    guard::create_register(session, &dispatch.migration, register).await?;
    guard::create_functions(
        session,
        &dispatch.migration,
        &dispatch.map,
        &dispatch.keys,
        &dispatch.tables,
    )
    .await
}

/// Takes back what an earlier run did, or a copy that is void: tables that the migration created, rows that
/// it brought, its guards.
pub(super) async fn undo(
    context: &Context,
    session: &Client,
    shard: &str,
) -> Result<(), StepError> {
    let migration = &context.dispatch.migration;
    let token = context.token_for_cleanup();
    let what = format!("shard {shard}: dropping what the migration created");
    if !epoch::is_enrolled(session, &token, shard).await? {
        return Ok(());
    }
    let row = session
        .query_opt(
            "select drop_script, loaded from shardwright.move where migration = $1",
            &[&migration.0],
        )
        .await
        .at(&what)?;
    let Some(row) = row else { return Ok(()) };
    let (script, loaded): (Option<String>, bool) = (row.get(0), row.get(1));
    let alone = script.is_some() && is_alone(context, session, shard).await?;
    // Without the register an earlier run has deleted the rows, and nothing guards the keys any more.
    if loaded && !alone && register::exists(session, migration, shard).await? {
        delete::brought_rows(context, shard).await?;
    }
    let tables = context.keyed();
    away(context, &token, &tables, shard)
        .restore(session)
        .await?;
    guard::drop_all(session, &token, shard).await?;
    fail_point::hit("create_target.guards_dropped").await?;
    epoch::begin(session, &token, shard).await?;
    if let Some(script) = script.filter(|_| alone) {
        session.batch_execute(&script).await.at(&what)?;
    }
    for table in ["schema_entry", "chunk", "progress", "dirty"] {
        let sql = format!("delete from shardwright.{table} where migration = $1");
        session.execute(&sql, &[&migration.0]).await.at(&what)?;
    }
    session
        .execute(
            "update shardwright.move set drop_script = null, loaded = false where migration = $1",
            &[&migration.0],
        )
        .await
        .at(&what)?;
    epoch::commit(session, &what).await
}

/// True when the tables that the migration created hold nothing but what it brought: no other move has come
/// to this shard since.
async fn is_alone(context: &Context, session: &Client, shard: &str) -> Result<bool, StepError> {
    let what = format!("shard {shard}: looking for rows of other moves");
    let others = session
        .query_one(
            "select exists (select from shardwright.move where migration <> $1)",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(&what)?;
    if others.get(0) {
        return Ok(false);
    }
    let there = catalog::tables(session, shard).await?;
    for table in context
        .keyed()
        .iter()
        .filter(|table| there.contains_key(&table.table))
    {
        let sql = format!(
            "select exists (select from only {} where not {})",
            table.table.sql(),
            context.predicate(table)
        );
        if session.query_one(&sql, &[]).await.at(&what)?.get(0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Creates the source's tables on an empty database; the number of objects of its schema.
async fn create(context: &Context, session: &Client, shard: &str) -> Result<usize, StepError> {
    context.say("reading the source's schema");
    let source = &context.source()?;
    let schema = schema::dump(&source.dsn, &source.name).await?;
    context.say("creating tables, register and guards on the target");
    epoch::begin(session, &context.token(), shard).await?;
    store(session, context, &schema, shard).await?;
    restore(session, context, &schema, shard).await?;
    fail_point::hit("create_target.restored").await?;
    epoch::commit(
        session,
        &format!("shard {shard}: creating the target's tables"),
    )
    .await?;
    Ok(schema.entries.len())
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
            "update shardwright.move set drop_script = $2, loaded = true where migration = $1",
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
    register_and_functions(context, session, i64::MAX)
        .await
        .at(&what)?;
    let role = guard::session_user(session).await.at(&what)?;
    for table in dispatch.tables.iter().enumerate() {
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
