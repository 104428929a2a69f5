//! The servers of a migration's shards (I10), and what follows when a standby is promoted in the place of one.
//!
//! The step `open_capture` records the server of the source, and the step `copy` that of the target. If the shard later
//! has a server with a later timeline, the migration goes back to one of these steps. They do again only what the new
//! server lacks:
//! - After a promotion on the source, `open_capture` continues the stream if the new server has its slot and every
//!   change that the agent has seen. Otherwise it creates a new slot, and `copy` compares the copied rows.
//! - A target that was promoted has an earlier state of the copy, with the records that belong to it. So `copy` and the
//!   steps after it do what is missing, and the stream continues at its progress there.

use connect::Connected;
use plans::failure::{Failure, RetryClass, StepCode};
use plans::id::StepId;
use plans::identity::DatabaseIdentity;
use plans::step::StepKind;
use plans::step::preflight::Preflighted;
use plans::step::servers::recorded;

use super::context::StepContext;
use crate::error::{StepError, WithIntent};
use crate::shard::{epoch, identity};

impl StepContext {
    /// Returns the servers of source and target as they must be (I10): system identifier and timeline.
    pub(crate) fn known_servers(&self) -> Result<(DatabaseIdentity, DatabaseIdentity), StepError> {
        let preflight: Preflighted = self.output(StepKind::Preflight)?;
        let output = |kind: StepKind| {
            let outputs = &self.dispatch.outputs;
            outputs.get(&StepId::from(kind.name())).cloned()
        };
        let (source, target) = recorded(preflight, output);
        Ok((server_of(&source), server_of(&target)))
    }
}

/// Returns the part of an identity that identifies the server: its system identifier and its timeline.
fn server_of(identity: &DatabaseIdentity) -> DatabaseIdentity {
    DatabaseIdentity {
        system: identity.system.clone(),
        timeline: identity.timeline,
        ..DatabaseIdentity::default()
    }
}

/// Returns whether the migration can go back to an earlier step when a server was promoted during this step.
fn can_go_back(context: &StepContext, kind: StepKind) -> bool {
    let before_flip = !context.is_done(StepKind::Cutover) && !context.is_done(StepKind::Rollback);
    let copies = context.is_online() && !context.is_seeded();
    before_flip
        && copies
        && matches!(
            kind,
            StepKind::OpenCapture
                | StepKind::Copy
                | StepKind::CatchUp
                | StepKind::BuildIndexes
                | StepKind::Verify
                | StepKind::OpenReverse
                | StepKind::Cutover
        )
}

/// Checks that no standby was promoted in the place of a server of the migration.
///
/// # Errors
/// [`StepError::Rewind`] with `server.promoted` and the step from which the migration continues; an error of a session.
pub(crate) async fn check(context: &StepContext, kind: StepKind) -> Result<(), StepError> {
    if !can_go_back(context, kind) {
        return Ok(());
    }
    let (known_source, known_target) = context.known_servers()?;
    // The step `open_capture` uses any server of the source.
    if kind != StepKind::OpenCapture {
        let session = context.source()?.session("server").await?;
        check_source(&session, &known_source).await?;
    }
    let session = context.target()?.session("server").await?;
    let found = identity::read_named(&session).await?;
    let is_promoted = is_promotion(&known_target, &found);
    let records = read_records(context, &session).await?;
    // The steps up to the copy use any server of the target that has the results of the steps before them.
    let back_to = if kind == StepKind::OpenCapture {
        (!records.is_enrolled).then_some(StepKind::CreateTarget)
    } else if kind == StepKind::Copy {
        records.missing_step()
    } else {
        Some(records.missing_step().unwrap_or(StepKind::Copy))
    };
    match back_to.filter(|_| is_promoted) {
        Some(to) => Err(promoted_error(&session, &known_target, &found, to)),
        None => Ok(()),
    }
}

/// Checks that `session` is on the server of the source from which the agent captures.
///
/// # Errors
/// As [`check`].
async fn check_source(session: &Connected, known: &DatabaseIdentity) -> Result<(), StepError> {
    let found = identity::read_named(session).await?;
    if is_promotion(known, &found) {
        return Err(promoted_error(
            session,
            known,
            &found,
            StepKind::OpenCapture,
        ));
    }
    Ok(())
}

fn is_promotion(known: &DatabaseIdentity, found: &DatabaseIdentity) -> bool {
    known.system == found.system && known.timeline < found.timeline
}

/// Which records of the migration the target has.
struct TargetRecords {
    is_enrolled: bool,
    /// The target has records of the copy, and so the tables.
    has_copy: bool,
    has_progress: bool,
}

impl TargetRecords {
    /// Returns the first step whose result is missing on the target, if one is.
    fn missing_step(&self) -> Option<StepKind> {
        match self {
            Self {
                has_progress: true, ..
            } => None,
            Self { has_copy: true, .. } => Some(StepKind::OpenCapture),
            Self { .. } => Some(StepKind::CreateTarget),
        }
    }
}

async fn read_records(
    context: &StepContext,
    session: &Connected,
) -> Result<TargetRecords, StepError> {
    if !epoch::is_enrolled(session, &context.token()).await? {
        return Ok(TargetRecords {
            is_enrolled: false,
            has_copy: false,
            has_progress: false,
        });
    }
    let row = session
        .query_one(
            "select exists (select from shardwright.snapshot where migration = $1)
                    or exists (select from shardwright.chunk where migration = $1),
                    exists (select from shardwright.progress where migration = $1 and direction = 'forward')",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(format_args!(
            "shard {}: reading which records of the copy exist",
            session.name()
        ))?;
    Ok(TargetRecords {
        is_enrolled: true,
        has_copy: row.get(0),
        has_progress: row.get(1),
    })
}

fn promoted_error(
    session: &Connected,
    known: &DatabaseIdentity,
    found: &DatabaseIdentity,
    to: StepKind,
) -> StepError {
    StepError::Rewind {
        to,
        failure: Failure {
            code: StepCode::ServerPromoted.into(),
            message: format!(
                "shard {}: a standby was promoted; the server is on timeline {}, and was on {}",
                session.name(),
                found.timeline,
                known.timeline
            ),
            hint: None,
            retry: RetryClass::Exponential,
        },
    }
}

/// Returns the error of a step that has failed with `failure`: if a standby was promoted, that is the cause, and the
/// migration goes back to an earlier step.
pub(crate) async fn explain(context: &StepContext, kind: StepKind, failure: Failure) -> StepError {
    match check(context, kind).await {
        Err(rewind @ StepError::Rewind { .. }) => rewind,
        // A server may be unreachable now: the next attempt finds out.
        Ok(()) | Err(_) => StepError::Failed(failure),
    }
}
