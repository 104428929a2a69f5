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

mod live;
mod new_tables;

pub(super) use new_tables::store_later_statements_again;

use connect::Connected;
use plans::failure::StepCode;
use plans::names::Direction;
use plans::request::Schema::Existing;
use plans::step::create_target::TargetCreated;
use plans::table::{MovingTable, TableName};

use live::{is_live_target, prepare_live_target};
use new_tables::create_tables;

use super::delete::row_deletion;
use super::leftover;
use crate::cleanup::copied_rows::CopiedRows;
use crate::cleanup::delete_rows::ClosedProof;
use crate::controller::CleanupRecord;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::schema::follow::{self, FollowRequest};
use crate::shard::guard::cascade;
use crate::shard::register::Register;
use crate::shard::released_keys::ReleasedKeys;
use crate::shard::{conflicting_migrations, epoch, guard, identity, sidecar_schema};

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
