//! Binds the source to its timeline before the promotion, and releases it afterwards.

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::AttemptNo;
use tokio::time::Instant;
use uuid::Uuid;

use super::standby;
use crate::error::{StepError, WithIntent};
use crate::eta::Eta;
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::postgres::standbys;
use crate::shard::database::Shard;
use crate::shard::epoch::EpochToken;
use crate::shard::guard::clone;
use crate::shard::register::{self, Register, RegisterSetting};
use crate::shard::seed::{self, SeedRecord};

/// The interval at which the state of the standby is read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The source is bound only when the standby lacks at most this many bytes of log.
const NEAR_BYTES: u64 = 16 << 20;
/// How long the source may be bound before the promotion is requested. A failover of the source in this time blocks its
/// writes until the agent releases it.
const BOUND_LIMIT: Duration = Duration::from_secs(60);
/// How long a standby may make no progress.
const STALL_LIMIT: Duration = Duration::from_secs(120);
/// The attempt of the registers' changes before the first cutover.
const BEFORE_CUTOVERS: AttemptNo = AttemptNo(0);

/// Binds the source, and waits until the standby has replayed this. Returns the record of the seeding.
///
/// If it fails, the source is released, unless an earlier agent may have requested the promotion.
pub(super) async fn bind(
    context: &StepContext,
    source: &Connected,
    standby: &Shard,
) -> Result<SeedRecord, StepError> {
    let token = context.token();
    if let Some(record) = seed::read(source, &token).await?
        && record.requested
    {
        return Ok(record);
    }
    if let Some(other) = seed::other_migration(source, &token, &standby.name).await? {
        return Err(StepError::refused(
            StepCode::SeedTaken,
            format!(
                "shard {}: migration {other} promotes this standby",
                standby.name
            ),
            "`abort` this migration, and plan it with another standby",
        ));
    }
    let session = standby.session("promote").await?;
    wait_until_near(context, source, &session).await?;
    let bound = bind_and_wait(context, source, &session).await;
    if bound.is_err() {
        unbind_and_forget(context, source).await?;
    }
    bound
}

/// Waits until the standby lacks little of the source's log.
async fn wait_until_near(
    context: &StepContext,
    source: &Connected,
    standby: &Connected,
) -> Result<(), StepError> {
    let mut stall = StallWatch::default();
    let mut eta: Option<(Eta, f64)> = None;
    loop {
        let flushed = standbys::flush_position(source).await?;
        let replayed = standby::read_replay(standby).await?.replayed;
        let behind = flushed.bytes_since(replayed);
        if behind <= NEAR_BYTES {
            return Ok(());
        }
        stall.check(standby, replayed)?;
        context.report_message(format!(
            "waiting until the standby has replayed {} more MiB of log",
            behind >> 20
        ));
        let (now, left) = (Instant::now(), behind as f64);
        let (eta, first) = eta.get_or_insert_with(|| (Eta::begin(now, 0.0), left));
        let seconds = eta.seconds_left(now, *first - left, *first);
        context.session.set_eta_seconds(seconds);
        pause(context).await?;
    }
}

/// Binds the source, and waits until the standby has the record of the seeding.
async fn bind_and_wait(
    context: &StepContext,
    source: &Connected,
    standby: &Connected,
) -> Result<SeedRecord, StepError> {
    context.report_message("binding the source to its timeline");
    let record = bind_source(context, source, physical_slot(standby).await?).await?;
    let (token, began) = (context.token(), Instant::now());
    fail_point::hit("promote.bound").await?;
    context.report_message("waiting until the standby has replayed the guards");
    while seed::read(standby, &token).await?.as_ref() != Some(&record) {
        standby::read_replay(standby).await?;
        if began.elapsed() > BOUND_LIMIT {
            return Err(StepError::passing(
                StepCode::SeedBehind,
                format!(
                    "shard {}: the standby has not replayed the guards of the source within {BOUND_LIMIT:?}",
                    standby.name()
                ),
            ));
        }
        pause(context).await?;
    }
    fail_point::hit("promote.replayed").await?;
    Ok(record)
}

/// Enables the clone guard, binds the register, and writes the record of the seeding. No statement needs a lock on a
/// table.
pub(crate) async fn bind_source(
    context: &StepContext,
    source: &Connected,
    slot: Option<String>,
) -> Result<SeedRecord, StepError> {
    let (token, dispatch) = (context.token(), &context.dispatch);
    let record = SeedRecord {
        target: dispatch.target.name.to_string(),
        id: Uuid::new_v4(),
        timeline: context.known_servers()?.0.timeline,
        slot,
        requested: false,
    };
    clone::enable(source, &token, &dispatch.map).await?;
    bind_register(source, &token).await?;
    // The record comes last: a standby that has replayed it has the guard and the bound register (I1).
    seed::write(source, &token, &record).await?;
    Ok(record)
}

/// Binds the register to the timeline that the server has now.
async fn bind_register(source: &Connected, token: &EpochToken) -> Result<(), StepError> {
    register::begin_and_set(source, token, BEFORE_CUTOVERS, RegisterSetting::Bound)
        .await
        .map(|_| ())
}

/// Returns the name of the physical slot from which the standby streams.
async fn physical_slot(standby: &Connected) -> Result<Option<String>, StepError> {
    let row = standby
        .query_opt("select slot_name from pg_catalog.pg_stat_wal_receiver", &[])
        .await
        .at(format_args!(
            "shard {}: reading the state of its WAL receiver",
            standby.name()
        ))?;
    Ok(row.and_then(|row| row.get(0)))
}

/// Opens the register of the source on every timeline, and disables the clone guard there.
pub(super) async fn unbind(context: &StepContext, source: &Connected) -> Result<(), StepError> {
    let token = context.token();
    register::begin_and_set(source, &token, BEFORE_CUTOVERS, RegisterSetting::Open).await?;
    clone::disable(source, &token).await
}

/// Waits until the other standbys of the source have flushed the release: a standby that lacks it would refuse writes
/// after a failover (R6).
///
/// # Errors
/// `seed.behind` if a standby lags for too long.
pub(super) async fn wait_for_standbys(
    context: &StepContext,
    source: &Connected,
) -> Result<(), StepError> {
    let released = standbys::flush_position(source).await?;
    let began = Instant::now();
    let ignored = &context.dispatch.options.ignore_standbys;
    loop {
        let lagging = standbys::lagging_standbys(source, Some(released), ignored).await?;
        if lagging.is_empty() {
            return Ok(());
        }
        let what = format!(
            "a failover to a standby of the source that has not replayed its release would block writes: {}",
            lagging.join("; ")
        );
        if began.elapsed() > BOUND_LIMIT {
            return Err(StepError::passing(StepCode::SeedBehind, what));
        }
        context.report_message(format!("waiting for standbys: {what}"));
        pause(context).await?;
    }
}

/// As [`unbind`], and deletes the record of the seeding. The promotion must not have been requested.
pub(super) async fn unbind_and_forget(
    context: &StepContext,
    source: &Connected,
) -> Result<(), StepError> {
    // A standby that is promoted from here on by someone else lacks the id of the next record, and is refused.
    seed::delete(source, &context.token()).await?;
    unbind(context, source).await
}

/// After a take-over: releases a source that an earlier agent bound. If that agent may have requested the promotion, the
/// source stays bound, but to the timeline that it has now: a failover may have closed it.
pub(crate) async fn unbind_unless_requested(context: &StepContext) -> Result<(), StepError> {
    if !context.awaits_promotion() {
        return Ok(());
    }
    let source = context.source()?;
    let session = source.session("promote").await?;
    let token = context.token();
    let record = seed::read(&session, &token).await?;
    if !register::exists(&session, &token.migration).await? {
        return Ok(());
    }
    let what = format!("shard {}: reading the register", source.name);
    let status = register::read(&session, &token, &what).await?;
    match status.register {
        Register::Bound(_) if record.is_some_and(|record| record.requested) => {
            bind_register(&session, &token).await
        }
        // An earlier agent may have ended between the deletion of the record and the opening.
        Register::Bound(_) => unbind_and_forget(context, &session).await,
        Register::Open | Register::FencedUntil(_) | Register::Closed => Ok(()),
    }
}

/// Waits for the next observation.
///
/// # Errors
/// [`StepError::Interrupted`] if the controller requests that the step stops.
async fn pause(context: &StepContext) -> Result<(), StepError> {
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(StepError::Interrupted),
        () = tokio::time::sleep(POLL_INTERVAL) => Ok(()),
    }
}

/// Recognizes a standby that makes no progress.
#[derive(Debug, Default)]
struct StallWatch {
    last: Option<(Lsn, Instant)>,
}

impl StallWatch {
    fn check(&mut self, standby: &Connected, replayed: Lsn) -> Result<(), StepError> {
        let now = Instant::now();
        let (position, since) = *self.last.get_or_insert((replayed, now));
        if position != replayed {
            self.last = Some((replayed, now));
        } else if now.duration_since(since) > STALL_LIMIT {
            return Err(StepError::passing(
                StepCode::SeedBehind,
                format!(
                    "shard {}: the standby has not replayed anything for {STALL_LIMIT:?}",
                    standby.name()
                ),
            ));
        }
        Ok(())
    }
}
