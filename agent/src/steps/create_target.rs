//! Prepares the target. In an empty database the agent creates the tables without indexes; on a live shard it uses the
//! existing tables. In both cases it creates the closed register and the guards.
//!
//! Order in an empty database:
//! 1. The agent creates the cleanup records, the sidecar schema `shardwright` and the row of the migration.
//! 2. In one transaction it stores the source's schema as statements on the target, executes those of the pre-data
//!    section, and creates the register, the guards, and the guards of released keys.
//! 3. It removes the moving keys from the released keys of the target, if they have been there before.
//!
//! Order on a live shard:
//! 1. The agent creates the cleanup records, the sidecar schema and the row of the migration.
//! 2. It creates the register, then the guards, table by table.
//! 3. It removes the moving keys from the released keys of the target, if they have been there before.
//! 4. It searches for rows of the moving keys. The guards must exist before this, so that no other program can add such
//!    a row afterwards.
//!
//! A second run undoes the first one and begins again. It does not use rows that an earlier copy wrote.

use connect::Connected;
use plans::failure::StepCode;
use plans::names::Direction;
use plans::request::Schema::Existing;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use plans::table::{MovingTable, TableName};

use super::delete::row_deletion;
use super::leftover;
use crate::cleanup::copied_rows::CopiedRows;
use crate::cleanup::delete_rows::ClosedProof;
use crate::controller::CleanupRecord;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::postgres::pg_dump::{DumpedSchema, RestoreSection, SchemaEntry, restore_all};
use crate::schema;
use crate::schema::existing_parts;
use crate::schema::follow::{self, FollowRequest};
use crate::shard::guard::cascade;
use crate::shard::register::Register;
use crate::shard::released_keys::ReleasedKeys;
use crate::shard::{conflicting_migrations, created, epoch, guard, identity, sidecar_schema};

pub(super) async fn run(context: &StepContext) -> Result<TargetCreated, StepError> {
    context
        .controller
        .record_cleanup(&context.dispatch, &cleanup_records(context))
        .await?;
    prepare_target(context).await
}

/// Prepares the target. The caller has written the cleanup records.
pub(crate) async fn prepare_target(context: &StepContext) -> Result<TargetCreated, StepError> {
    let target = context.target()?;
    let session = target.session("create").await?;
    let server = identity::read_named(&session).await?;
    context.enrol(&session, "target").await?;
    undo_creation(context, &session).await?;
    refuse_conflicting_migrations(context, &session).await?;
    share_objects_of_others(context, &session).await?;
    let cascades = context.is_online() && has_source_cascades(context).await?;
    if context.follows_definitions() {
        record_definitions(context, &session).await?;
    }
    if is_live_target(context, &session).await? {
        prepare_live_target(context, &session).await?;
        if cascades {
            let (token, guarded) = (context.token(), context.guarded_rows());
            cascade::create(&session, &token, guarded, true).await?;
        }
        create_owner_guards(context, &session).await?;
        return Ok(TargetCreated {
            created: false,
            objects: 0,
            cascades,
            existing_references: Vec::new(),
            target: Some(server),
        });
    }
    if context.dispatch.options.schema == Existing {
        return Err(StepError::refused(
            StepCode::TargetAbsent,
            format!(
                "shard {}: it has none of the moving tables, and `schema: existing` creates none",
                target.name
            ),
            "create the tables there as they are on the source, then `resume`; or `abort` the migration and plan with `schema: copy`",
        ));
    }
    if context.schema_scope().is_some() {
        conflicting_migrations::lock_shared_objects(&session).await?;
        // Another migration may have created objects until the lock was granted.
        share_objects_of_others(context, &session).await?;
    }
    let existing_references = existing_references(context, &session).await?;
    let objects = create_tables(context, &session).await?;
    create_owner_guards(context, &session).await?;
    Ok(TargetCreated {
        created: true,
        existing_references,
        objects,
        cascades,
        target: Some(server),
    })
}

async fn share_objects_of_others(
    context: &StepContext,
    session: &Connected,
) -> Result<(), StepError> {
    let (token, tables) = (context.token(), &context.dispatch.tables);
    conflicting_migrations::share_objects_of_others(session, &token, tables).await
}

/// Records the definitions of the source's tables before the target gets its own: the agent follows every later change.
async fn record_definitions(context: &StepContext, session: &Connected) -> Result<(), StepError> {
    let source = context.source()?;
    let upstream = source.session("create").await?;
    let request = FollowRequest {
        upstream: &upstream,
        downstream: session,
        token: &context.token(),
        direction: Direction::Forward,
        tables: &context.dispatch.tables,
        columns_only: true,
        applied: None,
        builds_indexes: false,
        may_compare_rows: false,
    };
    follow::begin(&request).await
}

/// Returns whether foreign keys on the source cascade from reference tables into the moving rows.
async fn has_source_cascades(context: &StepContext) -> Result<bool, StepError> {
    let source = context.source()?;
    let session = source.session("create").await?;
    cascade::has_cascading_keys(&session, &context.dispatch.tables).await
}

/// Refuses a target that has guards or rows of another, ended migration for the same keys.
///
/// The agent has written the row of this migration before the check. So either the agent that removes the other
/// migration sees this row, or this check sees the other migration. If the target is refused, this function removes the
/// row again, because it would prevent the removal of the other migration.
async fn refuse_conflicting_migrations(
    context: &StepContext,
    session: &Connected,
) -> Result<(), StepError> {
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
async fn is_live_target(context: &StepContext, session: &Connected) -> Result<bool, StepError> {
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

/// Returns the reference tables of the plan that the target has already. Since the plan another move of whole tables can
/// have created them.
async fn existing_references(
    context: &StepContext,
    session: &Connected,
) -> Result<Vec<TableName>, StepError> {
    if context.schema_scope().is_none() {
        return Ok(Vec::new());
    }
    let references = context.planned_tables.iter();
    let references = references.filter(|table| table.is_reference());
    let existing = catalog::existing(session, references.map(MovingTable::top)).await?;
    Ok(existing.into_iter().collect())
}

/// Prepares a live target. The agent creates only the register and the guards there.
async fn prepare_live_target(context: &StepContext, session: &Connected) -> Result<(), StepError> {
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

/// Returns the moving keys as released keys of `shard`.
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

/// Creates the register with this value, and the guards, on a shard whose tables exist. Each statement locks a table
/// only briefly.
pub(super) async fn create_guards(
    context: &StepContext,
    session: &Connected,
    register: Register,
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

/// Creates the guard of rows with dependents, which only an online move needs: an offline move captures no changes.
pub(super) async fn create_owner_guards(
    context: &StepContext,
    session: &Connected,
) -> Result<(), StepError> {
    if !context.is_online() {
        return Ok(());
    }
    let token = context.token_for_cleanup();
    guard::owner_change::create(session, &token, context.guarded_rows()).await
}

/// Undoes an earlier run of this step, with the copy: removes the copied rows, the tables that the migration created,
/// and the guards. Returns the tables that the migration created and that stay, because other objects use them.
pub(crate) async fn undo_creation(
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
        // A retired partition may still have copied rows.
        tables: &context.planned_tables,
    };
    copied_rows.remove().await
}

/// Creates the source's tables in an empty database. Returns the number of objects in the source's schema.
async fn create_tables(context: &StepContext, session: &Connected) -> Result<usize, StepError> {
    let shard = session.name();
    context.report_message("reading the source's schema");
    let source = &context.source()?;
    let scope = context.schema_scope();
    let moved = schema::read_for_move(source, session, scope.as_ref(), None).await?;
    let schema = moved.schema;
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

/// Stores the statements of the schema, so that later steps execute them.
async fn store_schema(
    session: &Connected,
    context: &StepContext,
    schema: &DumpedSchema,
) -> Result<(), StepError> {
    let shard = session.name();
    let what = format!("shard {shard}: storing the schema's statements");
    let id = &context.dispatch.migration.0;
    insert_entries(session, context, &schema.entries, 0).await?;
    session
        .execute(
            "update shardwright.move set loaded = true where migration = $1",
            &[id],
        )
        .await
        .at(&what)?;
    Ok(())
}

/// Reads the source's schema again, and replaces the statements that come after the copy, unless one of them is done.
/// With `ddl: follow` the source may have other indexes, constraints and columns than before the copy. Retired partitions
/// may not exist any more.
pub(super) async fn store_later_statements_again(context: &StepContext) -> Result<(), StepError> {
    if !context.follows_definitions() && context.retired_tables().next().is_none() {
        return Ok(());
    }
    let created: TargetCreated = context.output(StepKind::CreateTarget)?;
    if !created.created {
        return Ok(());
    }
    let (source, target) = (context.source()?, context.target()?);
    let session = target.session("build").await?;
    let what = format!(
        "shard {}: storing the schema's statements again",
        target.name
    );
    let id = &context.dispatch.migration.0;
    let row = session
        .query_one(
            "select coalesce(bool_or(done) filter (where section = 'post'), false),
                    coalesce(max(ordinal) filter (where section <> 'post'), -1) + 1
             from shardwright.schema_entry where migration = $1",
            &[id],
        )
        .await
        .at(&what)?;
    if row.get::<_, bool>(0) {
        return Ok(());
    }
    let migration = Some(&context.dispatch.migration);
    let scope = context.schema_scope();
    let moved = schema::read_for_move(&source, &session, scope.as_ref(), migration).await?;
    let mut schema = moved.schema;
    // The agent has created adopted partitions with their indexes.
    let existing = existing_parts::labels(&session).await?;
    schema
        .entries
        .retain(|entry| entry.section == RestoreSection::Post && !existing.contains(&entry.label));
    epoch::begin(&session, &context.token()).await?;
    session
        .execute(
            "delete from shardwright.schema_entry where migration = $1 and section = 'post'",
            &[id],
        )
        .await
        .at(&what)?;
    insert_entries(&session, context, &schema.entries, row.get(1)).await?;
    epoch::commit(&session, &what).await
}

/// Inserts the statements of entries with ordinals from `first` on.
async fn insert_entries(
    session: &Connected,
    context: &StepContext,
    entries: &[SchemaEntry],
    first: i32,
) -> Result<(), StepError> {
    let what = format!("shard {}: storing the schema's statements", session.name());
    let id = &context.dispatch.migration.0;
    let (sections, labels): (Vec<&str>, Vec<&str>) = entries
        .iter()
        .map(|entry| (entry.section.name(), entry.label.as_str()))
        .unzip();
    let (parallel, statements): (Vec<bool>, Vec<String>) = entries
        .iter()
        .map(|entry| (entry.parallel, entry.sql()))
        .unzip();
    session
        .execute(
            "insert into shardwright.schema_entry (migration, ordinal, section, parallel, label, statement)
             select $1, $6::int4 + entry.place - 1, entry.section, entry.parallel, entry.label, entry.statement
             from unnest($2::pg_catalog.text[], $3::pg_catalog.bool[], $4::pg_catalog.text[], $5::pg_catalog.text[])
                  with ordinality entry (section, parallel, label, statement, place)",
            &[id, &sections, &parallel, &labels, &statements, &first],
        )
        .await
        .at(&what)
        .map(|_| ())
}

/// Creates the objects of the pre-data section, and on them the register and the guards.
async fn restore_pre_data(
    session: &Connected,
    context: &StepContext,
    schema: &DumpedSchema,
) -> Result<(), StepError> {
    let shard = session.name();
    let dispatch = &context.dispatch;
    let entries = schema.entries.iter();
    let pre_entries: Vec<&SchemaEntry> = entries
        .filter(|entry| entry.section == RestoreSection::Pre)
        .collect();
    let set_check = |value: &str| format!("set local check_function_bodies = {value}");
    let what = format!("shard {shard}: setting up the session");
    // Function bodies in a dump may refer to objects that are created later.
    session.batch_execute(&set_check("off")).await.at(&what)?;
    if let Err((entry, error)) = restore_all(session, &pre_entries).await {
        return Err(error).at(format_args!("shard {shard}: creating {}", entry.label));
    }
    session.batch_execute(&set_check("on")).await.at(&what)?;
    let what = format!("shard {shard}: recording that the migration has created the tables");
    created::record(session, &dispatch.migration)
        .await
        .at(what)?;
    let what = format!("shard {shard}: creating guards");
    let (migration, keys) = (&dispatch.migration, &dispatch.keys);
    let tables = context.planned_tables.as_slice();
    guard::create_register(session, migration, Register::Closed)
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
