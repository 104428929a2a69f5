//! Prepares the target: tables without indexes on an empty database, none on a live shard that has them;
//! the closed register and the guards on both.
//!
//! Order on an empty database: cleanup records, our schema and the migration's row, the source's schema as
//! statements on the target, then pre-data, register and guards in one transaction, those of keys that were given
//! away among them; keys that come back leave these.
//! Order on a live shard: register, guards table by table, keys that come back leave the guard of those that
//! were given away, and only then is it looked whether rows of the moving keys are there.
//! A second run takes back what the first one did and begins again: the copy has not begun, or is void.

use connect::Connected;
use plans::request::Schema::Existing;
use plans::step::create_target::TargetCreated;
use plans::table::MovingTable;

use super::delete::deletion;
use super::leftover;
use crate::cleanup::copied_rows::CopiedRows;
use crate::cleanup::delete_rows::ClosedProof;
use crate::controller::CleanupRecord;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::postgres::pg_dump::{DumpedSchema, RestoreSection, SchemaEntry, make};
use crate::schema;
use crate::shard::guard::cascade;
use crate::shard::released_keys::ReleasedKeys;
use crate::shard::{conflicting_migrations, created, epoch, guard, sidecar_schema};

pub(super) async fn run(context: &StepContext) -> Result<TargetCreated, StepError> {
    context
        .controller
        .record_cleanup(&context.dispatch, &records(context))
        .await?;
    prepare(context).await
}

/// As [`run`], once it is recorded what is created.
pub(crate) async fn prepare(context: &StepContext) -> Result<TargetCreated, StepError> {
    let target = context.target()?;
    let session = target.session("create").await?;
    context.enrol(&session, "target").await?;
    conflicting_migrations::keep_tables_of_others(&session, &context.token()).await?;
    undo(context, &session).await?;
    refuse_leftovers(context, &session).await?;
    let cascades = context.is_online() && cascades(context).await?;
    if is_live(context, &session).await? {
        join(context, &session).await?;
        if cascades {
            let (token, guarded) = (context.token(), context.guarded_rows());
            cascade::create(&session, &token, guarded, true).await?;
        }
        return Ok(TargetCreated {
            created: false,
            objects: 0,
            cascades,
        });
    }
    if context.dispatch.options.schema == Existing {
        return Err(StepError::refused(
            "target.absent",
            format!(
                "shard {}: it has none of the moving tables, and `schema: existing` creates none",
                target.name
            ),
            "run your migrations there, then `resume`; or `abort` it and plan with `schema: copy`",
        ));
    }
    let objects = create(context, &session).await?;
    Ok(TargetCreated {
        created: true,
        objects,
        cascades,
    })
}

/// Whether rows of reference tables cascade into the moving rows, as the source says.
async fn cascades(context: &StepContext) -> Result<bool, StepError> {
    let source = context.source()?;
    let session = source.session("create").await?;
    cascade::has_cascading_keys(&session, &context.dispatch.tables).await
}

/// Refuses a target on which another migration is about the same keys: none that is live is.
///
/// Our own row is seen by whoever takes the other one back, or the other one is seen here: we cannot miss each
/// other. It goes again, or it would stand in the way of taking the other one back.
async fn refuse_leftovers(context: &StepContext, session: &Connected) -> Result<(), StepError> {
    let refused = leftover::refuse(context, session).await;
    if refused.is_err() {
        sidecar_schema::remove_migration(session, &context.token()).await?;
    }
    refused
}

fn records(context: &StepContext) -> Vec<CleanupRecord> {
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
async fn is_live(context: &StepContext, session: &Connected) -> Result<bool, StepError> {
    let shard = session.name();
    let there = catalog::tables(session).await?;
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
async fn join(context: &StepContext, session: &Connected) -> Result<(), StepError> {
    let shard = session.name();
    let dispatch = &context.dispatch;
    context.report_message("putting guards on the target's tables");
    let found = catalog::fingerprint(session, &dispatch.tables).await?;
    if found != dispatch.schema_fingerprint {
        return Err(StepError::refused(
            "schema.drift",
            format!("shard {shard}: its tables are not as the plan describes the source's"),
            "make both sides equal, then `resume`; `plan` names each difference",
        ));
    }
    let (token, tables) = (context.token(), context.keyed_tables());
    guards(context, session, i64::MAX).await?;
    away(context, &token, &tables, shard)
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
    epoch::rollback(session).await;
    // From here on rows of the moving keys can only be ours: the guards refuse everybody else's.
    let sql = format!(
        "update shardwright.move set loaded = true where migration = {}",
        plans::sql::quote_literal(dispatch.migration.as_str())
    );
    epoch::execute(session, &token, &sql).await.at(format_args!(
        "shard {shard}: recording that the copy may begin"
    ))
}

/// The move as the guard of keys that were given away sees it.
pub(super) fn away<'a>(
    context: &'a StepContext,
    token: &'a epoch::EpochToken,
    tables: &'a [MovingTable],
    shard: &'a str,
) -> ReleasedKeys<'a> {
    ReleasedKeys {
        token,
        map: &context.dispatch.map,
        keys: &context.dispatch.keys,
        tables,
        shard,
    }
}

/// Register, functions and triggers on a live shard, each for a moment's lock.
pub(super) async fn guards(
    context: &StepContext,
    session: &Connected,
    register: i64,
) -> Result<(), StepError> {
    let shard = session.name();
    let dispatch = &context.dispatch;
    let what = format!("shard {shard}: creating guards");
    let token = context.token();
    epoch::begin(session, &token).await?;
    guard::create_register(session, &dispatch.migration, register)
        .await
        .at(&what)?;
    epoch::commit(session, &what).await?;
    let guarded = context.guarded_rows();
    guard::create(session, &token, &dispatch.map, guarded).await
}

/// Takes back what an earlier run did, or a copy that is void: tables that the migration created, rows that
/// it brought, its guards. The tables that stay because others use them.
pub(super) async fn undo(
    context: &StepContext,
    session: &Connected,
) -> Result<Vec<String>, StepError> {
    let token = context.token_for_cleanup();
    if !epoch::is_enrolled(session, &token).await? {
        return Ok(Vec::new());
    }
    let target = context.target()?;
    let brought = CopiedRows {
        session,
        deletion: deletion(context, &target, token, ClosedProof::Live),
        tables: &context.dispatch.tables,
    };
    brought.remove().await
}

/// Creates the source's tables on an empty database; the number of objects of its schema.
async fn create(context: &StepContext, session: &Connected) -> Result<usize, StepError> {
    let shard = session.name();
    context.report_message("reading the source's schema");
    let source = &context.source()?;
    let version = schema::major(session).await?;
    let schema = schema::read(source, version).await?;
    context.report_message("creating tables, register and guards on the target");
    epoch::begin(session, &context.token()).await?;
    store(session, context, &schema).await?;
    restore(session, context, &schema).await?;
    let (token, tables) = (context.token(), context.keyed_tables());
    let away = away(context, &token, &tables, shard);
    away.guard_new_tables(session).await?;
    fail_point::hit("create_target.restored").await?;
    epoch::commit(
        session,
        &format!("shard {shard}: creating the target's tables"),
    )
    .await?;
    away.reclaim(session).await?;
    Ok(schema.entries.len())
}

async fn store(
    session: &Connected,
    context: &StepContext,
    schema: &DumpedSchema,
) -> Result<(), StepError> {
    let shard = session.name();
    let what = format!("shard {shard}: keeping the schema's statements");
    let id = &context.dispatch.migration.0;
    let entries = schema.entries.iter();
    let (sections, labels): (Vec<&str>, Vec<&str>) = entries
        .map(|entry| (entry.section.name(), entry.label.as_str()))
        .unzip();
    let entries = schema.entries.iter();
    let (parallel, statements): (Vec<bool>, Vec<String>) =
        entries.map(|entry| (entry.parallel, entry.sql())).unzip();
    session
        .execute(
            "insert into shardwright.schema_entry (migration, ordinal, section, parallel, label, statement)
             select $1, entry.place - 1, entry.section, entry.parallel, entry.label, entry.statement
             from unnest($2::pg_catalog.text[], $3::pg_catalog.bool[], $4::pg_catalog.text[], $5::pg_catalog.text[])
                  with ordinality entry (section, parallel, label, statement, place)",
            &[id, &sections, &parallel, &labels, &statements],
        )
        .await
        .at(&what)?;
    session
        .execute(
            "update shardwright.move set loaded = true where migration = $1",
            &[id],
        )
        .await
        .at(&what)?;
    Ok(())
}

async fn restore(
    session: &Connected,
    context: &StepContext,
    schema: &DumpedSchema,
) -> Result<(), StepError> {
    let shard = session.name();
    let dispatch = &context.dispatch;
    let pre = schema.entries.iter();
    let pre: Vec<&SchemaEntry> = pre
        .filter(|entry| entry.section == RestoreSection::Pre)
        .collect();
    let check = |check: &str| format!("set local check_function_bodies = {check}");
    let what = format!("shard {shard}: setting up the session");
    // pg_dump's function bodies may refer to what comes later.
    session.batch_execute(&check("off")).await.at(&what)?;
    if let Err((entry, error)) = make(session, &pre).await {
        return Err(error).at(format_args!("shard {shard}: creating {}", entry.label));
    }
    session.batch_execute(&check("on")).await.at(&what)?;
    let what = format!("shard {shard}: recording what was created");
    created::record(session, &dispatch.migration)
        .await
        .at(what)?;
    let what = format!("shard {shard}: creating guards");
    let (migration, keys, tables) = (&dispatch.migration, &dispatch.keys, &dispatch.tables[..]);
    guard::create_register(session, migration, i64::MAX)
        .await
        .at(&what)?;
    let role = guard::session_user(session).await.at(&what)?;
    let mut sql = guard::functions_sql(migration, &dispatch.map, keys, tables, &role);
    for index in 0..tables.len() {
        sql.push_str(&guard::triggers_sql(migration, keys, index, tables, &role));
    }
    session.batch_execute(&sql).await.at(&what)?;
    session
        .execute(
            "update shardwright.schema_entry set done = true where migration = $1 and section = 'pre'",
            &[&dispatch.migration.0],
        )
        .await
        .at(&what)?;
    Ok(())
}
