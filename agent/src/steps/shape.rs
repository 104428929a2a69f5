//! Before a step: both shards have the moving tables as the plan says, or the same, in a form that can be carried.
//!
//! Order: changes are refused from here on where the request wants that, guards that were dropped are put back
//! before a comparison of everything, definitions are compared.

use connect::Connected;
use plans::names::Direction;
use plans::request::Ddl;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use plans::table::{MovingTable, TableName};

use crate::controller::CleanupRecord;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::ddl::{self, DefinitionSide};
use crate::shard::epoch;
use crate::shard::guard::cascade;
use crate::shard::guard::{self, ddl_guard};

/// Both shards, with a session on each.
pub(super) struct ShapeSessions<'a> {
    pub(super) source: &'a Connected,
    pub(super) target: &'a Connected,
}

/// Looks at both shards before the step does anything.
///
/// # Errors
/// `schema.drift` with what differs; [`StepError::Reshaped`] when both have the same new form.
pub(crate) async fn check(context: &StepContext, kind: StepKind) -> Result<(), StepError> {
    if !has_tables(kind) {
        return Ok(());
    }
    let (source, target) = (context.source()?, context.target()?);
    let here = source.session("shape").await?;
    let there = target.session("shape").await?;
    let both = ShapeSessions {
        source: &here,
        target: &there,
    };
    if context.dispatch.options.ddl == Ddl::Refuse {
        refuse_changes(context, &both).await?;
    }
    if kind == StepKind::Verify && context.is_online() {
        put_guards_back(context, &both).await?;
    }
    compare(context, &both).await
}

/// Steps between the creation of the target's tables and the end of the move.
fn has_tables(kind: StepKind) -> bool {
    match kind {
        StepKind::Copy
        | StepKind::CatchUp
        | StepKind::BuildIndexes
        | StepKind::Verify
        | StepKind::OpenReverse
        | StepKind::Cutover
        | StepKind::Hold
        | StepKind::Rollback
        | StepKind::HoldBack => true,
        StepKind::Preflight
        | StepKind::CreateTarget
        | StepKind::OpenCapture
        | StepKind::SetReadOnly
        | StepKind::DropOld
        | StepKind::Unwind
        | StepKind::DropNew => false,
    }
}

/// `schema.drift`, a new form, or nothing.
pub(super) async fn compare(
    context: &StepContext,
    both: &ShapeSessions<'_>,
) -> Result<(), StepError> {
    let tables = &context.keyed_tables();
    let (source, target) = (both.source, both.target);
    let found = catalog::fingerprint(source, tables).await?;
    let other = catalog::fingerprint(target, tables).await?;
    let planned = &context.dispatch.schema_fingerprint;
    if &found == planned && &other == planned {
        return Ok(());
    }
    let bare = is_bare(context)?;
    let names: Vec<TableName> = tables.iter().map(|table| table.table.clone()).collect();
    let definitions = (
        catalog::facts(source, &names).await?,
        catalog::facts(target, &names).await?,
    );
    let side = |shard, definitions| DefinitionSide { shard, definitions };
    let lines = ddl::differences(
        side(source.name(), &definitions.0),
        side(target.name(), &definitions.1),
        bare,
    );
    if !lines.is_empty() {
        return Err(ddl::drift_error(&lines));
    }
    adopt(context, both, found, bare).await
}

/// Both sides have the same form, which is not the plan's.
async fn adopt(
    context: &StepContext,
    both: &ShapeSessions<'_>,
    fingerprint: String,
    bare: bool,
) -> Result<(), StepError> {
    let planned = &context.dispatch.tables;
    let (tables, changes) = ddl::reshaped_tables(planned, [both.source, both.target]).await?;
    // Indexes, constraints and triggers of a new target are compared once they are built.
    if bare && columns(&tables) == columns(planned) {
        return Ok(());
    }
    Err(StepError::Reshaped {
        tables,
        fingerprint,
        changes,
    })
}

fn columns(tables: &[MovingTable]) -> Vec<&[plans::table::Column]> {
    tables
        .iter()
        .map(|table| table.columns.as_slice())
        .collect()
}

/// True while the tables that the migration created have no indexes yet.
fn is_bare(context: &StepContext) -> Result<bool, StepError> {
    let created: TargetCreated = context.output(StepKind::CreateTarget)?;
    Ok(created.created && !context.is_done(StepKind::BuildIndexes))
}

async fn refuse_changes(context: &StepContext, both: &ShapeSessions<'_>) -> Result<(), StepError> {
    let migration = &context.dispatch.migration;
    let tables = &context.keyed_tables();
    for session in [both.source, both.target] {
        let shard = session.name();
        if !ddl_guard::is_enabled(session, migration).await? {
            let record = |kind: &str, name: String| CleanupRecord {
                shard: shard.to_owned(),
                kind: kind.to_owned(),
                name,
                policy: "always".to_owned(),
            };
            let names = ["end", "drop"].map(|part| migration.ddl_guard(part));
            let records = names.map(|name| record("event_trigger", name));
            context
                .controller
                .record_cleanup(&context.dispatch, &records)
                .await?;
        }
        ddl_guard::create(session, &context.token_for_cleanup(), tables).await?;
    }
    Ok(())
}

/// Everything is compared after this, so that what somebody wrote without the guard is found.
async fn put_guards_back(context: &StepContext, both: &ShapeSessions<'_>) -> Result<(), StepError> {
    let dispatch = &context.dispatch;
    let token = context.token_for_cleanup();
    for session in [both.source, both.target] {
        let shard = session.name();
        let missing =
            guard::missing_triggers(session, &dispatch.migration, &dispatch.tables).await?;
        if missing.is_empty() || !epoch::is_enrolled(session, &token).await? {
            continue;
        }
        context.report_message(format!("shard {shard}: putting guards back"));
        let guarded = context.guarded_rows();
        guard::create(session, &token, &dispatch.map, guarded).await?;
        if context.may_skip_cascades() {
            cascade::create(session, &token, guarded, false).await?;
        }
    }
    Ok(())
}

/// Both shards in the order of a cutover's two sides.
pub(super) fn of_sides<'a>(
    direction: Direction,
    losing: &'a Connected,
    gaining: &'a Connected,
) -> ShapeSessions<'a> {
    match direction {
        Direction::Forward => ShapeSessions {
            source: losing,
            target: gaining,
        },
        Direction::Reverse => ShapeSessions {
            source: gaining,
            target: losing,
        },
    }
}
