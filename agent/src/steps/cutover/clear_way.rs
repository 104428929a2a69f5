//! What stands in the way of a cutover at its gate, and how long it has stood there.
//!
//! A writer that does not end is waited for, or, where the request says so, ended once the operator has allowed it
//! by its name. A prepared transaction is only named.

use std::time::Duration;

use connect::Connected;
use plans::request::LongWriters;
use plans::wire::{CutoverAnswer, CutoverQuery, LongWriter};
use tokio::time::Instant;

use super::{CutoverParties, ask_until_answered, refused};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::standbys;
use crate::shard::long_writers::{self, WriteObstacle};
use crate::steps::catch_up;

/// How long a standby may take to flush what is on the shard's disk now.
const STANDBY_PATIENCE: Duration = Duration::from_millis(200);
/// Between two looks at the standbys.
const STANDBY_POLL: Duration = Duration::from_millis(20);
/// A cancelled statement has this long to end, before its session is ended.
const CANCEL_PATIENCE: Duration = Duration::from_secs(1);

/// What was observed so far in the way of the fence.
pub(super) struct FenceObstacles<'a> {
    context: &'a StepContext,
    parties: &'a CutoverParties,
    losing: &'a Connected,
    /// Writers in the way, with the time when each was seen first.
    standing: Vec<(LongWriter, Instant)>,
    /// Writers whose statement was cancelled, and when.
    cancelled: Vec<(LongWriter, Instant)>,
    /// The operator was asked about somebody.
    asked: bool,
}

impl<'a> FenceObstacles<'a> {
    pub(super) fn new(
        context: &'a StepContext,
        parties: &'a CutoverParties,
        losing: &'a Connected,
    ) -> Self {
        Self {
            context,
            parties,
            losing,
            standing: Vec::new(),
            cancelled: Vec::new(),
            asked: false,
        }
    }

    /// Why the cutover cannot start now, if it cannot.
    pub(super) async fn obstacle(&mut self) -> Result<Option<String>, StepError> {
        let shard = self.parties.sides.origin.name.as_str();
        let options = &self.context.dispatch.options;
        let tables = self.context.keyed_tables();
        let budget = options.write_stop_budget_ms;
        let all = long_writers::find_obstacles(self.losing, &tables, budget).await?;
        self.writers(&all).await?;
        if let Some(first) = all.first() {
            return Ok(Some(first.description()));
        }
        if let Some(standby) = self.standby().await? {
            return Ok(Some(format!("shard {shard}: {standby}")));
        }
        let lag = catch_up::probe(self.context, self.parties.direction).await?;
        let level = catch_up::level(self.context);
        Ok((lag > level).then(|| {
            format!(
                "a marker takes {} ms, more than {} ms",
                lag.as_millis(),
                level.as_millis()
            )
        }))
    }

    /// Remembers who is in the way, and ends whom the operator allowed to end.
    async fn writers(&mut self, all: &[WriteObstacle]) -> Result<(), StepError> {
        let LongWriters::CancelAfter(seconds) = self.context.dispatch.options.long_writers else {
            return Ok(());
        };
        let now = Instant::now();
        let writers = all.iter().filter_map(|obstacle| match obstacle {
            WriteObstacle::Writer { writer, .. } => Some(writer.clone()),
            WriteObstacle::Prepared { .. } => None,
        });
        let since = |writer: &LongWriter| {
            let known = self.standing.iter().find(|(known, _)| known.is(writer));
            known.map_or(now, |(_, since)| *since)
        };
        self.standing = writers
            .map(|writer| (writer.clone(), since(&writer)))
            .collect();
        let patience = Duration::from_secs(seconds.into());
        let overdue = |(writer, since): &(LongWriter, Instant)| {
            (now.duration_since(*since) >= patience).then(|| writer.clone())
        };
        let overdue: Vec<LongWriter> = self.standing.iter().filter_map(overdue).collect();
        if overdue.is_empty() && !self.asked {
            return Ok(());
        }
        let writers = overdue.clone();
        let answer = ask_until_answered(self.context, &CutoverQuery::Cancel { writers }).await?;
        self.asked = !overdue.is_empty();
        match answer {
            CutoverAnswer::Granted => self.end(&overdue).await,
            CutoverAnswer::AwaitingOperator | CutoverAnswer::Released => Ok(()),
            other @ (CutoverAnswer::Begun { .. }
            | CutoverAnswer::Flipped { .. }
            | CutoverAnswer::AlreadyFlipped { .. }
            | CutoverAnswer::Refused { .. }) => {
                Err(refused("ask for leave to cancel writers", &other))
            }
        }
    }

    async fn end(&mut self, writers: &[LongWriter]) -> Result<(), StepError> {
        for writer in writers {
            let before = self.cancelled.iter().find(|(known, _)| known.is(writer));
            let waited = before.map(|(_, at)| at.elapsed());
            if waited.is_some_and(|waited| waited < CANCEL_PATIENCE) {
                continue;
            }
            let token = &self.parties.sides.token;
            if long_writers::end_writer(self.losing, token, writer, waited.is_some()).await? {
                tracing::warn!(pid = writer.pid, shard = %writer.shard, "a writer was ended as the operator allowed");
            }
            if waited.is_none() {
                self.cancelled.push((writer.clone(), Instant::now()));
            }
        }
        Ok(())
    }

    /// A standby that does not follow closely would be waited for in vain behind the seal.
    async fn standby(&self) -> Result<Option<String>, StepError> {
        let ignored = &self.context.dispatch.options.ignore_standbys;
        let flushed = standbys::flushed(self.losing).await?;
        let deadline = Instant::now() + STANDBY_PATIENCE;
        loop {
            let behind = standbys::behind(self.losing, Some(flushed), ignored).await?;
            let first = behind.into_iter().next();
            if first.is_none() || Instant::now() >= deadline {
                return Ok(first);
            }
            tokio::time::sleep(STANDBY_POLL).await;
        }
    }
}
