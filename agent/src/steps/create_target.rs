//! Prepares the target. In an empty database the agent creates the tables without indexes; on a live shard it uses the
//! existing tables. In both cases it creates the closed register and the guards.
//!
//! Order in an empty database:
//! - The cleanup records, the sidecar schema `shardwright` and the row of the migration.
//! - The source's schema, stored as statements on the target.
//! - In one transaction: the pre-data section, the register, the guards, and the guards of released keys.
//! - The agent removes returning keys from the released keys.
//!
//! Order on a live shard:
//! - The register, then the guards, table by table.
//! - The agent removes returning keys from the released keys.
//! - The agent searches for rows of the moving keys. The guards must exist before this, so that no such row can be
//!   added afterwards.
//!
//! A second run undoes the first one and begins again: rows of an earlier copy are not used.

use connect::Connected;
use plans::request::Schema::Existing;
use plans::step::create_target::TargetCreated;
use plans::table::MovingTable;

use super::delete::row_deletion;
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
        .record_cleanup(&context.dispatch, &cleanup_records(context))
        .await?;
    prepare(context).await
}

/// Prepares the target. The caller has written the cleanup records.
pub(crate) async fn prepare(context: &StepContext) -> Result<TargetCreated, StepError> {
    let target = context.target()?;
    let session = target.session("create").await?;
    context.enrol(&session, "target").await?;
    conflicting_migrations::keep_tables_of_others(&session, &context.token()).await?;
    undo_creation(context, &session).await?;
    refuse_leftovers(context, &session).await?;
    let cascades = context.is_online() && source_cascades(context).await?;
    if is_live(context, &session).await? {
        prepare_live_target(context, &session).await?;
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
    let objects = create_tables(context, &session).await?;
    Ok(TargetCreated {
        created: true,
        objects,
        cascades,
    })
}

/// Returns whether foreign keys on the source cascade from reference tables into the moving rows.
async fn source_cascades(context: &StepContext) -> Result<bool, StepError> {
    let source = context.source()?;
    let session = source.session("create").await?;
    cascade::has_cascading_keys(&session, &context.dispatch.tables).await
}

/// Refuses a target that has guards or rows of another, ended migration for the same keys.
///
/// The row of this migration is written before the check. So either the process that aborts the other migration sees
/// this row, or this check sees the other migration. If the target is refused, the row is removed again, because it
/// would block the removal of the other migration.
/// the other migration.
async fn refuse_leftovers(context: &StepContext, session: &Connected) -> Result<(), StepError> {
    let refused = leftover::refuse_conflicting(context, session).await;
    if refused.is_err() {
        sidecar_schema::remove_migration(session, &context.token()).await?;
    }
    refused
}

fn cleanup_records(context: &StepContext) -> Vec<CleanupRecord> {
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

/// Returns whether the target has all moving tables. Refuses a target that has only some of them.
async fn is_live(context: &StepContext, session: &Connected) -> Result<bool, StepError> {
    let shard = session.name();
    let existing = catalog::tables(session).await?;
    let tables = &context.dispatch.tables;
    let moving = || tables.iter().filter(|table| !table.is_reference());
    let (present, missing): (Vec<&MovingTable>, Vec<&MovingTable>) =
        moving().partition(|table| existing.contains_key(&table.table));
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

/// Prepares a live shard. The agent creates only the register and the guards there.
async fn prepare_live_target(context: &StepContext, session: &Connected) -> Result<(), StepError> {
    let shard = session.name();
    let dispatch = &context.dispatch;
    context.report_message("putting guards on the target's tables");
    let found = catalog::fingerprint(session, &dispatch.tables).await?;
    if found != dispatch.schema_fingerprint {
        return Err(StepError::refused(
            "schema.drift",
            format!("shard {shard}: its tables differ from the source's tables in the plan"),
            "make both shards equal, then `resume`; `plan` names each difference",
        ));
    }
    let (token, tables) = (context.token(), context.keyed_tables());
    create_guards(context, session, i64::MAX).await?;
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
                "target.stray",
                format!(
                    "shard {shard}: table {} already has rows of the moving keys",
                    table.table
                ),
                "find out where they come from with `shardwright map check`; they would be mixed with the moved rows",
            ));
        }
    }
    epoch::rollback(session).await;
    // From this point, only this migration can add rows of the moving keys on the target: the guards refuse all other
    // writes.
    let sql = format!(
        "update shardwright.move set loaded = true where migration = {}",
        plans::sql::quote_literal(dispatch.migration.as_str())
    );
    epoch::execute(session, &token, &sql).await.at(format_args!(
        "shard {shard}: recording that the copy may begin"
    ))
}

/// Returns the moving keys in the form in which `shard` stores released keys.
pub(super) fn released_keys<'a>(
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

/// Creates the register, functions and triggers on a live shard. Each statement holds its lock only briefly.
pub(super) async fn create_guards(
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

/// Undoes an earlier run, or a copy that is no longer valid: removes the tables that the migration created, the copied
/// rows and the guards. Returns the tables that stay because other objects use them.
pub(super) async fn undo_creation(
    context: &StepContext,
    session: &Connected,
) -> Result<Vec<String>, StepError> {
    let token = context.token_for_cleanup();
    if !epoch::is_enrolled(session, &token).await? {
        return Ok(Vec::new());
    }
    let target = context.target()?;
    let copied_rows = CopiedRows {
        session,
        deletion: row_deletion(context, &target, token, ClosedProof::Live),
        tables: &context.dispatch.tables,
    };
    copied_rows.remove().await
}

/// Creates the source's tables in an empty database. Returns the number of objects in the source's schema.
async fn create_tables(context: &StepContext, session: &Connected) -> Result<usize, StepError> {
    let shard = session.name();
    context.report_message("reading the source's schema");
    let source = &context.source()?;
    let version = schema::read_major_version(session).await?;
    let schema = schema::read(source, version).await?;
    context.report_message("creating tables, register and guards on the target");
    epoch::begin(session, &context.token()).await?;
    store_schema(session, context, &schema).await?;
    restore_pre_data(session, context, &schema).await?;
    let (token, tables) = (context.token(), context.keyed_tables());
    let released_keys = released_keys(context, &token, &tables, shard);
    released_keys.guard_new_tables(session).await?;
    fail_point::hit("create_target.restored").await?;
    epoch::commit(
        session,
        &format!("shard {shard}: creating the target's tables"),
    )
    .await?;
    released_keys.reclaim(session).await?;
    Ok(schema.entries.len())
}

async fn store_schema(
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

async fn restore_pre_data(
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
    // Function bodies in a dump may refer to objects that are created later.
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
