//! The servers of a migration's shards (I10), and what follows when a standby is promoted in the place of one.
//!
//! The step `open_capture` records the server of the source, and the steps `create_target` and `copy` that of the target.
//! In an offline move `set_read_only` takes the place of `open_capture`. If the shard later has a server with a later
//! timeline, the migration goes back to one of these steps. They do again only what the new server lacks:
//! - After a promotion on the source, `open_capture` continues the stream if the new server has its slot and every
//!   change that the agent has seen. Otherwise it creates a new slot, and `copy` compares the copied rows.
//! - In an offline move, `set_read_only` closes the keys on the new server, and `copy` compares the copied rows.
//! - A target that was promoted has an earlier state of the copy, with the records that belong to it. So `copy` and the
//!   steps after it do what is missing, and the stream continues at its progress there.

use connect::Connected;
use plans::failure::{Failure, RetryClass, StepCode};
use plans::id::StepId;
use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::cutover::CutoverResult;
use plans::step::preflight::Preflighted;
use plans::step::servers::recorded;
use plans::table::TableKey;

use super::context::StepContext;
use super::continuation;
use super::session::PromotedServers;
use crate::error::{StepError, WithIntent};
use crate::shard::register::{self, Register};
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
        let promoted = self.session.promoted_servers();
        Ok((
            server_of(&promoted.source.unwrap_or(source)),
            server_of(&promoted.target.unwrap_or(target)),
        ))
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
    !context.has_flipped()
        && !context.is_seeded()
        && matches!(
            kind,
            StepKind::OpenCapture
                | StepKind::SetReadOnly
                | StepKind::Copy
                | StepKind::CatchUp
                | StepKind::BuildIndexes
                | StepKind::Verify
                | StepKind::OpenReverse
                | StepKind::Cutover
        )
}

/// Returns the step that binds the migration to a server of the source.
fn source_step(context: &StepContext) -> StepKind {
    if context.is_online() {
        StepKind::OpenCapture
    } else {
        StepKind::SetReadOnly
    }
}

/// Returns the step to which the migration goes back if the server of the source was replaced: the one that binds the
/// migration to a server. If rows belong to those of a parent table, the copy begins again instead. The comparison finds
/// such rows on the target by their parents, and cannot find those whose parents are not copied yet or are outdated.
pub(crate) fn step_for_other_source(context: &StepContext) -> StepKind {
    let mut tables = context.dispatch.tables.iter();
    if tables.any(|table| matches!(table.key, TableKey::Through(_))) {
        return StepKind::CreateTarget;
    }
    source_step(context)
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
    let source_step = source_step(context);
    // This step uses any server of the source.
    if kind != source_step {
        let session = context.source()?.session("server").await?;
        let found = identity::read_named(&session).await?;
        if is_promotion(&known_source, &found) {
            let to = step_for_other_source(context);
            return Err(promoted_error(&session, &known_source, &found, to));
        }
    }
    let session = context.target()?.session("server").await?;
    let found = identity::read_named(&session).await?;
    let is_promoted = is_promotion(&known_target, &found);
    let records = read_records(context, &session).await?;
    // The steps up to the copy use any server of the target that has the results of the steps before them.
    let back_to = if kind == source_step {
        (!records.is_enrolled).then_some(StepKind::CreateTarget)
    } else if kind == StepKind::Copy {
        records.missing_step(context)
    } else {
        Some(records.missing_step(context).unwrap_or(StepKind::Copy))
    };
    match back_to.filter(|_| is_promoted) {
        Some(to) => Err(promoted_error(&session, &known_target, &found, to)),
        None => Ok(()),
    }
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
    fn missing_step(&self, context: &StepContext) -> Option<StepKind> {
        // The stream of an online move has its progress there.
        let is_complete = self.has_copy && (self.has_progress || !context.is_online());
        match self {
            Self { .. } if is_complete => None,
            Self { has_copy: true, .. } => Some(source_step(context)),
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

/// After the flip: if a standby was promoted in the place of a server, the migration continues there. So a rollback stays
/// possible.
/// - The downstream shard of the stream has an earlier state, with the progress that belongs to it. The slot was confirmed
///   only up to what the standby had flushed, so the stream sends the rest again. The state must have the seal of the
///   cutover: the stream does not send what was written there before.
/// - The stream continues on a promoted upstream shard if nothing is missing there ([`continuation`]).
///
/// # Errors
/// `server.promoted`, which is not retried, if the stream cannot continue; an error of a session.
pub(crate) async fn accept_promoted(context: &StepContext) -> Result<(), StepError> {
    let Some(direction) = context.dispatch.stream.filter(|_| context.is_online()) else {
        return Ok(());
    };
    if !context.has_flipped() {
        return Ok(());
    }
    let (known_source, known_target) = context.known_servers()?;
    let source = context.source()?.session("server").await?;
    let found_source = identity::read_named(&source).await?;
    let target = context.target()?.session("server").await?;
    let found_target = identity::read_named(&target).await?;
    let source_servers = (&source, &known_source, &found_source);
    let target_servers = (&target, &known_target, &found_target);
    let (upstream, downstream) = match direction {
        Direction::Forward => (source_servers, target_servers),
        Direction::Reverse => (target_servers, source_servers),
    };
    let is_promoted =
        |known, found: &DatabaseIdentity| is_promotion(known, found).then(|| found.clone());
    let promoted = PromotedServers {
        source: is_promoted(&known_source, &found_source),
        target: is_promoted(&known_target, &found_target),
    };
    if is_promotion(downstream.1, downstream.2) {
        check_seal(context, direction, downstream).await?;
    }
    if is_promotion(upstream.1, upstream.2) {
        context.session.stop_stream().await;
        continue_on(context, direction, upstream).await?;
    }
    context.session.update_promoted_servers(|servers| {
        servers.source = promoted.source.or(servers.source.take());
        servers.target = promoted.target.or(servers.target.take());
    });
    Ok(())
}

/// Checks that the promoted server of the downstream shard has the seal of the cutover or rollback after which the stream
/// began, and everything that was written there before. `downstream`: a session there, the server before, and the promoted
/// one.
///
/// The register alone proves nothing: the keys are also closed on a server that lacks the seal. The progress of the other
/// stream is the end of what was written there.
async fn check_seal(
    context: &StepContext,
    direction: Direction,
    (session, known, found): (&Connected, &DatabaseIdentity, &DatabaseIdentity),
) -> Result<(), StepError> {
    let (kind, other, shard_of_session) = match direction {
        Direction::Forward => (
            StepKind::Rollback,
            Direction::Reverse,
            context.target_as(Some(found.clone()))?,
        ),
        Direction::Reverse => (
            StepKind::Cutover,
            Direction::Forward,
            context.source_as(Some(found.clone()))?,
        ),
    };
    let flipped: CutoverResult = context.output(kind)?;
    let (shard, token) = (session.name(), context.token_for_cleanup());
    let has_register = register::exists(session, &token.migration).await?;
    if has_register && epoch::is_enrolled(session, &token).await? {
        let what = format!("shard {shard}: reading the register");
        let status = register::read(session, &token, &what).await?;
        let attempt = epoch::newest_attempt(session, &token).await?;
        let observed =
            continuation::read_observed_log(context, other, Some(known.timeline)).await?;
        let has_log = match observed {
            Some(observed) if observed.timeline == found.timeline => true,
            Some(observed) => {
                let timeline = observed.timeline;
                continuation::read_switch_point(&shard_of_session, found, timeline)
                    .await?
                    .is_some_and(|switch_point| switch_point >= observed.progress)
            }
            None => false,
        };
        // A later attempt may have begun since.
        if has_log && status.register == Register::Closed && attempt >= flipped.attempt {
            return Ok(());
        }
    }
    Err(cannot_continue(
        shard,
        direction,
        &format!(
            "its timeline {} began before the seal of attempt {}",
            found.timeline, flipped.attempt
        ),
    ))
}

fn cannot_continue(shard: &str, direction: Direction, reason: &str) -> StepError {
    StepError::refused(
        StepCode::ServerPromoted,
        format!(
            "shard {shard}: a standby was promoted, and the {direction} stream cannot continue there: {reason}"
        ),
        "the keys stay where they are; a rollback is impossible: `finish`",
    )
}

/// Proves that the stream can continue on the promoted server of its upstream shard, and records this. `upstream`: a
/// session there, the server before, and the promoted one.
async fn continue_on(
    context: &StepContext,
    direction: Direction,
    (session, known, found): (&Connected, &DatabaseIdentity, &DatabaseIdentity),
) -> Result<(), StepError> {
    let shard = session.name();
    let refused = |reason: String| cannot_continue(shard, direction, &reason);
    let known_timeline = Some(known.timeline);
    let observed = continuation::read_observed_log(context, direction, known_timeline).await?;
    let Some(observed) = observed else {
        return Err(refused(
            "the other shard has no record of its progress".to_owned(),
        ));
    };
    // Another agent may have recorded it already.
    if observed.timeline == found.timeline {
        return Ok(());
    }
    let proof = continuation::prove(context, direction, session, found, &observed).await?;
    let switch_point = proof.map_err(refused)?;
    let downstream = match direction {
        Direction::Forward => context.target()?,
        Direction::Reverse => context.source()?,
    };
    let records = downstream.session("progress").await?;
    epoch::begin(&records, &context.token_for_cleanup()).await?;
    continuation::record_timeline(&records, &context.dispatch.migration, found.timeline).await?;
    let what = format!(
        "shard {}: recording the timeline of the other shard",
        downstream.name
    );
    epoch::commit(&records, &what).await?;
    context.report_message(format!(
        "shard {shard}: a standby was promoted at {switch_point}; the {direction} stream continues there"
    ));
    Ok(())
}

/// Returns the error of a step that has failed with `failure`: if a standby was promoted, that is the cause, and the
/// migration goes back to an earlier step.
pub(crate) async fn explain(context: &StepContext, kind: StepKind, failure: Failure) -> StepError {
    if context.has_flipped() && failure.has_code(StepCode::ServerPromoted) {
        // The next attempt continues there, a hold also without a stream.
        let is_hold = matches!(kind, StepKind::Hold | StepKind::HoldBack);
        let continues = if is_hold {
            Ok(())
        } else {
            accept_promoted(context).await
        };
        return match continues {
            Ok(()) => StepError::Failed(Failure {
                retry: RetryClass::Exponential,
                ..failure
            }),
            Err(error) => error,
        };
    }
    match check(context, kind).await {
        Err(rewind @ StepError::Rewind { .. }) => rewind,
        // A server may be unreachable now: the next attempt finds out.
        Ok(()) | Err(_) => StepError::Failed(failure),
    }
}
