//! The window: C3 to C10, from the fence to the open register; every part is measured.

use std::time::Duration;

use plans::id::AttemptNo;
use plans::names::Direction;
use plans::step::cutover::{CutOver, Window};
use plans::wire::{CutoverAnswer, CutoverAsk};
use tokio::time::Instant;
use tokio_postgres::Client;
use uuid::Uuid;

use super::gate::{self, Facts};
use super::{
    Parties, ask_controller, ask_until_answered, follow, millis, open, refused, tell_former,
};
use crate::error::StepError;
use crate::owned::Context;
use crate::pg::epoch;
use crate::pg::marker::{Kind, Marker};
use crate::pg::register::{self, Setting};
use crate::pg::{catalog, guard, sequences, standbys, wait_out};
use crate::steps::dirty::{self, Both};
use crate::steps::verify;
use crate::stream::Stream;

/// Sessions that are open before the fence, so that none is opened inside the window.
struct Sessions {
    losing: connect::Connected,
    gaining: connect::Connected,
}

impl Sessions {
    fn both(&self) -> Both<'_> {
        Both {
            origin: &self.losing,
            destination: &self.gaining,
        }
    }
}

/// Dirty keys that may be left for the comparison inside the window.
const DIRTY_AT_MOST: usize = 50;
/// Comparisons right before the fence; keys that change faster than this are compared inside.
const RECHECKS: usize = 8;

/// Runs one attempt from C3 to C11. An error before the flip means: to be released.
pub(super) async fn attempt(
    context: &Context,
    parties: &Parties,
    attempt: AttemptNo,
    facts: &Facts,
) -> Result<CutOver, StepError> {
    let (origin, destination) = (&parties.sides.origin, &parties.sides.destination);
    let sessions = Sessions {
        losing: origin.session("cutover").await?,
        gaining: destination.session("cutover").await?,
    };
    let token = &parties.sides.token;
    let version = parties.version.0;
    let witnessed = register::witness(
        &sessions.gaining,
        token,
        attempt.0,
        version,
        &destination.name,
    )
    .await?;
    for _ in 0..RECHECKS {
        let left = dirty::recheck(context, &parties.sides, &sessions.both()).await?;
        context.say(format!(
            "compared what changed since the verification; {left} keys changed meanwhile"
        ));
        if left <= DIRTY_AT_MOST {
            break;
        }
    }
    let started = Instant::now();
    let mut run = Attempt {
        context,
        parties,
        number: attempt,
        facts,
        sessions,
        fenced: 0,
        witnessed,
        deadline: started + budget(context),
        applied_at_fence: 0,
        window: Window::default(),
    };
    let dirty_keys = run.fence_to_check().await?;
    run.seal().await?;
    let version = run.flip().await?;
    let opening = Instant::now();
    open(parties, attempt, version, &run.sessions.gaining).await?;
    run.window.open = millis(opening);
    run.window.total = millis(started);
    context.say(format!(
        "shard {} owns the keys; map version {version}",
        destination.name
    ));
    tell_former(parties, attempt, version, &run.sessions.losing).await?;
    follow(context, parties).await?;
    Ok(CutOver {
        attempt: attempt.0,
        map_version: version.0,
        window: run.window,
        dirty_keys,
        storage: facts.gaining_storage.clone(),
    })
}

fn budget(context: &Context) -> Duration {
    Duration::from_millis(u64::from(context.dispatch.options.write_stop_budget_ms))
}

struct Attempt<'a> {
    context: &'a Context,
    parties: &'a Parties,
    number: AttemptNo,
    facts: &'a Facts,
    sessions: Sessions,
    /// The losing shard's count while this attempt holds it.
    fenced: i64,
    /// The gaining shard's count.
    witnessed: i64,
    deadline: Instant,
    /// Row changes that were applied before the first marker.
    applied_at_fence: u64,
    window: Window,
}

impl Attempt<'_> {
    fn losing(&self) -> (&Client, &str) {
        (&self.sessions.losing, &self.parties.sides.origin.name)
    }

    fn gaining(&self) -> (&Client, &str) {
        (&self.sessions.gaining, &self.parties.sides.destination.name)
    }

    /// C3 to C6; how many dirty keys were compared.
    async fn fence_to_check(&mut self) -> Result<i64, StepError> {
        let token = &self.parties.sides.token;
        let (client, shard) = self.losing();
        let fence = Setting::FencedFor(self.context.dispatch.options.write_stop_budget_ms);
        self.fenced = register::begin_and_set(client, token, self.number.0, fence, shard).await?;
        fail_point::hit(fenced_point(self.parties.direction)).await?;
        let waiting = Instant::now();
        let (client, shard) = self.losing();
        wait_out::wait_out(client, &self.context.keyed(), self.deadline, shard).await?;
        self.window.wait_out = millis(waiting);

        let draining = Instant::now();
        let (client, shard) = self.losing();
        let marker = Marker::new(token, self.number.0, Kind::Fenced);
        marker.emit(client, token, shard).await?;
        self.applied_at_fence = self.applied(marker.id).await?;
        self.window.drain = millis(draining);

        let checking = Instant::now();
        let dirty = self.check().await?;
        self.window.check = millis(checking);
        Ok(dirty)
    }

    /// Waits until a marker is applied, at most until the budget is spent.
    async fn applied(&self, marker: Uuid) -> Result<u64, StepError> {
        let watch = verify::watch(self.context).await?;
        tokio::time::timeout_at(self.deadline, crate::stream::reached(watch, marker))
            .await
            .map_err(|_| {
                StepError::not_yet(
                    "drain.budget",
                    "the marker was not applied within the write-stop budget",
                )
            })?
    }

    /// Refuses to go on where changes of moving keys were applied after the first marker.
    fn nothing_since_the_fence(&self, applied: u64) -> Result<(), StepError> {
        if applied == self.applied_at_fence {
            return Ok(());
        }
        Err(StepError::not_yet(
            "fence.expired",
            format!(
                "{} change(s) of moving keys arrived between fence and seal: the fence had expired",
                applied.abs_diff(self.applied_at_fence)
            ),
        ))
    }

    /// C6: dirty keys are equal on both sides; sequences are set past the losing shard's.
    async fn check(&self) -> Result<i64, StepError> {
        let ((losing, _), (gaining, _)) = (self.losing(), self.gaining());
        let sides = &self.parties.sides;
        let both = self.sessions.both();
        let (different, compared) = dirty::differences(self.context, sides, &both).await?;
        if different > 0 {
            // A difference is one only while nothing moves, and a fence ends by itself.
            let token = &sides.token;
            let marker = Marker::new(token, self.number.0, Kind::Fenced);
            marker.emit(losing, token, &sides.origin.name).await?;
            self.nothing_since_the_fence(self.applied(marker.id).await?)?;
            return Err(StepError::refused(
                "verify.different",
                format!(
                    "{different} row(s) that changed before the fence differ on the two shards"
                ),
                "find out who wrote to the new shard; abort the migration and plan it again",
            ));
        }
        carry_sequences(
            self.context,
            self.parties,
            self.facts,
            (losing, gaining),
            self.witnessed,
        )
        .await?;
        Ok(i64::try_from(compared).unwrap_or(i64::MAX))
    }

    /// C7 and C8: from here on the losing shard stays closed whatever happens to us.
    async fn seal(&mut self) -> Result<(), StepError> {
        let token = &self.parties.sides.token;
        let sealing = Instant::now();
        fail_point::hit("cutover.before_seal").await?;
        let ask = CutoverAsk::Seal {
            direction: self.parties.direction,
            attempt: self.number,
        };
        let answer = ask_controller(self.context, ask).await?;
        if answer != CutoverAnswer::Granted {
            return Err(refused("allow the seal", &answer));
        }
        let (client, shard) = self.losing();
        register::set(client, token, self.fenced, Setting::Closed, shard).await?;
        fail_point::hit("cutover.sealed").await?;
        let waiting = Instant::now();
        wait_out::wait_out(client, &self.context.keyed(), self.deadline, shard).await?;
        let waited = millis(waiting);

        let marker = Marker::new(token, self.number.0, Kind::Sealed);
        if let Some(stream) = self.context.owned.stream.lock().await.as_ref() {
            stream.stop_at(marker.id);
        }
        marker.emit(client, token, shard).await?;
        self.nothing_since_the_fence(self.applied(marker.id).await?)?;
        self.end_stream().await;
        let (client, _) = self.losing();
        last_look(
            self.context,
            self.parties,
            client,
            self.facts,
            self.deadline,
        )
        .await?;
        self.window.wait_out += waited;
        self.window.seal = millis(sealing) - waited;
        Ok(())
    }

    /// The applier has stopped exactly at the second marker; its sessions are ended (R7).
    async fn end_stream(&self) {
        let stream: Option<Stream> = self.context.owned.stream.lock().await.take();
        if let Some(mut stream) = stream {
            stream.ended().await;
        }
    }

    /// C9: the point of no return. An unreachable controller is asked until it answers.
    async fn flip(&mut self) -> Result<plans::id::MapVersion, StepError> {
        let flipping = Instant::now();
        let ask = CutoverAsk::Flip {
            direction: self.parties.direction,
            attempt: self.number,
        };
        let answer = ask_until_answered(self.context, &ask).await?;
        let CutoverAnswer::Flipped { map_version } = answer else {
            return Err(refused("flip the map", &answer));
        };
        self.window.flip = millis(flipping);
        fail_point::hit("cutover.flipped").await?;
        Ok(map_version)
    }
}

fn fenced_point(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "cutover.fenced",
        Direction::Reverse => "rollback.fenced",
    }
}

/// Sequences on the gaining shard are set past the losing shard's, in what began there with `witnessed`.
pub(super) async fn carry_sequences(
    context: &Context,
    parties: &Parties,
    facts: &Facts,
    (losing, gaining): (&Client, &Client),
    witnessed: i64,
) -> Result<(), StepError> {
    let (origin, destination) = (&parties.sides.origin, &parties.sides.destination);
    let values = sequences::values(losing, &facts.sequences, &origin.name).await?;
    let shard = destination.name.as_str();
    epoch::continue_exclusive(gaining, &parties.sides.token, witnessed, shard).await?;
    let share = destination.share(context.dispatch.sequences);
    sequences::advance(gaining, &values, share, shard).await?;
    epoch::commit(gaining, &format!("shard {shard}: setting sequences")).await
}

/// The last act on the losing shard: nothing has changed since the gate (R10), standbys have it (R6).
pub(super) async fn last_look(
    context: &Context,
    parties: &Parties,
    losing: &Client,
    facts: &Facts,
    deadline: Instant,
) -> Result<(), StepError> {
    let shard = parties.sides.origin.name.as_str();
    let ignored = &context.dispatch.options.ignore_standbys;
    standbys_flushed(losing, ignored, shard, deadline).await?;
    // One connection, five questions at once.
    let (now, fingerprint, storage, (), ()) = tokio::try_join!(
        guard::standing(losing, &context.dispatch.migration, shard),
        catalog::fingerprint(losing, &context.dispatch.tables, shard),
        catalog::storage(losing, context.captured(parties.direction), shard),
        gate::check_identity(context, losing, shard, parties.direction),
        gate::check_stream(context, losing, parties, shard),
    )?;
    if now != facts.guards || fingerprint != facts.fingerprint || storage != facts.storage {
        return Err(StepError::not_yet(
            "schema.changed",
            format!("shard {shard}: guards or tables changed during the cutover"),
        ));
    }
    Ok(())
}

/// A standby that lacks the seal could be promoted and take writes to the moved keys.
async fn standbys_flushed(
    client: &Client,
    ignored: &[String],
    shard: &str,
    deadline: Instant,
) -> Result<(), StepError> {
    let flushed = standbys::flushed(client, shard).await?;
    loop {
        let behind = standbys::behind(client, flushed, ignored, shard).await?;
        let Some(first) = behind.first() else {
            return Ok(());
        };
        if Instant::now() >= deadline {
            return Err(StepError::not_yet(
                "standby.behind",
                format!(
                    "shard {shard}: a standby lacks the seal when the write-stop budget is over: {first}"
                ),
            ));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
