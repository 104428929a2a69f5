//! Finds what prevents the fence: long transactions that write, standbys that flush too slowly, and a stream that lags.
//!
//! The gate waits for long transactions that write. It ends such a transaction only if the request permits this, and
//! the operator has approved it for this transaction. It only reports prepared transactions, and never ends them.

use std::time::Duration;

use connect::Connected;
use plans::request::LongWriters;
use plans::wire::{CutoverAnswer, CutoverQuery, LongWriter};
use tokio::time::Instant;

use super::{CutoverParties, call_until_answered, refusal_error};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::standbys;
use crate::shard::long_writers::{self, WriteObstacle};
use crate::steps::catch_up;

/// Time limit for a standby to flush its server's current position.
const STANDBY_TIMEOUT: Duration = Duration::from_millis(200);
/// The interval at which the agent reads the positions of the standbys.
const STANDBY_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// If a statement has not ended this time after its cancellation, the agent terminates its session.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// Finds obstacles, and remembers the long transactions that it has observed.
pub(super) struct FenceObstacles<'a> {
    context: &'a StepContext,
    parties: &'a CutoverParties,
    old_owner: &'a Connected,
    new_owner: &'a Connected,
    /// Long transactions that write, each with the time when it was first observed.
    writers: Vec<(LongWriter, Instant)>,
    /// Transactions whose statement the agent has cancelled, each with the time of the cancellation.
    cancelled: Vec<(LongWriter, Instant)>,
    /// True while the controller has a request of this agent for the operator's approval.
    has_open_request: bool,
}

impl<'a> FenceObstacles<'a> {
    pub(super) fn new(
        context: &'a StepContext,
        parties: &'a CutoverParties,
        old_owner: &'a Connected,
        new_owner: &'a Connected,
    ) -> Self {
        Self {
            context,
            parties,
            old_owner,
            new_owner,
            writers: Vec::new(),
            cancelled: Vec::new(),
            has_open_request: false,
        }
    }

    /// Returns the reason why the cutover cannot start now, or None if it can.
    pub(super) async fn find(&mut self) -> Result<Option<String>, StepError> {
        let shard = self.parties.old_shard().name.as_str();
        let options = &self.context.dispatch.options;
        let tables = self.context.keyed_tables();
        let budget = options.write_stop_budget_ms;
        let writers = long_writers::find_obstacles(self.old_owner, &tables, budget).await?;
        self.handle_long_writers(&writers).await?;
        if let Some(first) = writers.first() {
            return Ok(Some(first.description()));
        }
        if let Some(standby) = self.find_slow_standby().await? {
            return Ok(Some(format!("shard {shard}: {standby}")));
        }
        let deadline = Instant::now() + STANDBY_TIMEOUT;
        let ignored = &options.ignore_standbys;
        let slow = standbys::wait_until_flushed(self.new_owner, ignored, deadline).await?;
        if let Some(standby) = slow {
            let shard = self.new_owner.name();
            return Ok(Some(format!("shard {shard}: {standby}")));
        }
        let lag = catch_up::probe_lag(self.context, self.parties.direction).await?;
        let max_lag = catch_up::allowed_lag(self.context);
        Ok((lag > max_lag).then(|| {
            format!(
                "the change stream needs {} ms to apply a marker, more than {} ms",
                lag.as_millis(),
                max_lag.as_millis()
            )
        }))
    }

    /// Records the long transactions, and ends those for which the operator has approved it.
    async fn handle_long_writers(&mut self, obstacles: &[WriteObstacle]) -> Result<(), StepError> {
        let LongWriters::CancelAfter(seconds) = self.context.dispatch.options.long_writers else {
            return Ok(());
        };
        let now = Instant::now();
        let writers = obstacles.iter().filter_map(|obstacle| match obstacle {
            WriteObstacle::Writer { writer, .. } => Some(writer.clone()),
            WriteObstacle::Prepared { .. } => None,
        });
        let first_observed = |writer: &LongWriter| {
            let known = self.writers.iter().find(|(known, _)| known.is_same(writer));
            known.map_or(now, |(_, since)| *since)
        };
        self.writers = writers
            .map(|writer| (writer.clone(), first_observed(&writer)))
            .collect();
        let limit = Duration::from_secs(seconds.into());
        let overdue = |(writer, since): &(LongWriter, Instant)| {
            (now.duration_since(*since) >= limit).then(|| writer.clone())
        };
        let overdue: Vec<LongWriter> = self.writers.iter().filter_map(overdue).collect();
        if overdue.is_empty() && !self.has_open_request {
            return Ok(());
        }
        let writers = overdue.clone();
        let answer = call_until_answered(self.context, &CutoverQuery::Cancel { writers }).await?;
        self.has_open_request = !overdue.is_empty();
        match answer {
            CutoverAnswer::Granted => self.end_writers(&overdue).await,
            CutoverAnswer::AwaitingOperator | CutoverAnswer::Released => Ok(()),
            other @ (CutoverAnswer::Begun { .. }
            | CutoverAnswer::Flipped { .. }
            | CutoverAnswer::AlreadyFlipped { .. }
            | CutoverAnswer::Refused { .. }) => Err(refusal_error(
                "answer the request to end long writers",
                &other,
            )),
        }
    }

    /// Cancels the statements of the writers. If one has not ended after [`CANCEL_TIMEOUT`], terminates its session.
    async fn end_writers(&mut self, writers: &[LongWriter]) -> Result<(), StepError> {
        for writer in writers {
            let cancellation = self
                .cancelled
                .iter()
                .find(|(known, _)| known.is_same(writer));
            let waited = cancellation.map(|(_, at)| at.elapsed());
            if waited.is_some_and(|waited| waited < CANCEL_TIMEOUT) {
                continue;
            }
            let token = &self.parties.shards.token;
            if long_writers::end_writer(self.old_owner, token, writer, waited.is_some()).await? {
                tracing::warn!(pid = writer.pid, shard = %writer.shard, "the agent has ended a writing transaction, as the operator approved");
            }
            if waited.is_none() {
                self.cancelled.push((writer.clone(), Instant::now()));
            }
        }
        Ok(())
    }

    /// Returns a description of a standby that flushes too slowly, if there is one: after the seal, the cutover could
    /// exceed its budget while it waits for this standby.
    async fn find_slow_standby(&self) -> Result<Option<String>, StepError> {
        let ignored = &self.context.dispatch.options.ignore_standbys;
        let flushed = standbys::flush_position(self.old_owner).await?;
        let deadline = Instant::now() + STANDBY_TIMEOUT;
        loop {
            let late_standbys =
                standbys::lagging_standbys(self.old_owner, Some(flushed), ignored).await?;
            let first = late_standbys.into_iter().next();
            if first.is_none() || Instant::now() >= deadline {
                return Ok(first);
            }
            tokio::time::sleep(STANDBY_POLL_INTERVAL).await;
        }
    }
}
