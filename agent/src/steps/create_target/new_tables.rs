//! The source's tables in an empty database: their statements are stored on the target, and executed section by section.

use connect::Connected;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;

use super::released_keys;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::pg_dump::{DumpedSchema, RestoreSection, SchemaEntry, restore_all};
use crate::schema;
use crate::schema::existing_parts;
use crate::shard::register::Register;
use crate::shard::{created, epoch, guard};

/// Creates the source's tables in an empty database. Returns the number of objects in the source's schema.
pub(super) async fn create_tables(
    context: &StepContext,
    session: &Connected,
) -> Result<usize, StepError> {
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
pub(in crate::steps) async fn store_later_statements_again(
    context: &StepContext,
) -> Result<(), StepError> {
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
