//! Finds what prevents the fence at the gate, and since when.
//!
//! The gate waits for long transactions that write. It ends one if the request says so and the operator has approved it
//! for this transaction. It reports prepared transactions and never ends them.

use std::time::Duration;

use connect::Connected;
use plans::request::LongWriters;
use plans::wire::{CutoverAnswer, CutoverQuery, LongWriter};
use tokio::time::Instant;

use super::{CutoverParties, call_until_answered, refused_error};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::standbys;
use crate::shard::long_writers::{self, WriteObstacle};
use crate::steps::catch_up;

/// Time limit for a standby to flush the old owner's current position.
const STANDBY_TIMEOUT: Duration = Duration::from_millis(200);
/// The interval at which the positions of the standbys are read.
const STANDBY_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time limit for a cancelled statement, after which the agent terminates its session.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// The obstacles that the gate has observed so far.
pub(super) struct FenceObstacles<'a> {
    context: &'a StepContext,
    parties: &'a CutoverParties,
    old_owner: &'a Connected,
    /// Transactions that have written for long, with the time when each was first observed.
    writers: Vec<(LongWriter, Instant)>,
    /// Transactions whose statement the agent has cancelled, with the time.
    cancelled: Vec<(LongWriter, Instant)>,
    /// True while the agent waits for the operator's approval.
    has_open_request: bool,
}

impl<'a> FenceObstacles<'a> {
    pub(super) fn new(
        context: &'a StepContext,
        parties: &'a CutoverParties,
        old_owner: &'a Connected,
    ) -> Self {
        Self {
            context,
            parties,
            old_owner,
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
        let all = long_writers::find_obstacles(self.old_owner, &tables, budget).await?;
        self.handle_long_writers(&all).await?;
        if let Some(first) = all.first() {
            return Ok(Some(first.description()));
        }
        if let Some(standby) = self.find_late_standby().await? {
            return Ok(Some(format!("shard {shard}: {standby}")));
        }
        let lag = catch_up::probe_lag(self.context, self.parties.direction).await?;
        let level = catch_up::allowed_lag(self.context);
        Ok((lag > level).then(|| {
            format!(
                "a marker takes {} ms, more than {} ms",
                lag.as_millis(),
                level.as_millis()
            )
        }))
    }

    /// Records the long transactions, and ends those for which the operator has approved it.
    async fn handle_long_writers(&mut self, all: &[WriteObstacle]) -> Result<(), StepError> {
        let LongWriters::CancelAfter(seconds) = self.context.dispatch.options.long_writers else {
            return Ok(());
        };
        let now = Instant::now();
        let writers = all.iter().filter_map(|obstacle| match obstacle {
            WriteObstacle::Writer { writer, .. } => Some(writer.clone()),
            WriteObstacle::Prepared { .. } => None,
        });
        let since = |writer: &LongWriter| {
            let known = self.writers.iter().find(|(known, _)| known.is_same(writer));
            known.map_or(now, |(_, since)| *since)
        };
        self.writers = writers
            .map(|writer| (writer.clone(), since(&writer)))
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
            | CutoverAnswer::Refused { .. }) => Err(refused_error(
                "answer the request to end long writers",
                &other,
            )),
        }
    }

    async fn end_writers(&mut self, writers: &[LongWriter]) -> Result<(), StepError> {
        for writer in writers {
            let earlier = self
                .cancelled
                .iter()
                .find(|(known, _)| known.is_same(writer));
            let waited = earlier.map(|(_, at)| at.elapsed());
            if waited.is_some_and(|waited| waited < CANCEL_TIMEOUT) {
                continue;
            }
            let token = &self.parties.shards.token;
            if long_writers::end_writer(self.old_owner, token, writer, waited.is_some()).await? {
                tracing::warn!(pid = writer.pid, shard = %writer.shard, "a writer was ended as the operator allowed");
            }
            if waited.is_none() {
                self.cancelled.push((writer.clone(), Instant::now()));
            }
        }
        Ok(())
    }

    /// Returns a standby that flushes too slowly: after the seal, the cutover would exceed its budget while it waits
    /// for this standby.
    async fn find_late_standby(&self) -> Result<Option<String>, StepError> {
        let ignored = &self.context.dispatch.options.ignore_standbys;
        let flushed = standbys::flushed(self.old_owner).await?;
        let deadline = Instant::now() + STANDBY_TIMEOUT;
        loop {
            let late = standbys::behind(self.old_owner, Some(flushed), ignored).await?;
            let first = late.into_iter().next();
            if first.is_none() || Instant::now() >= deadline {
                return Ok(first);
            }
            tokio::time::sleep(STANDBY_POLL_INTERVAL).await;
        }
    }
}
