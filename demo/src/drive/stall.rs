//! A cutover in which an agent is stopped for longer than the write-blocked window may last.
//!
//! The agent waits at the moment. A write that changes nothing is tried on the source until the source accepts it; then
//! the agent continues. Nothing is killed: the agent must give the attempt up, and the next attempt must succeed.

use super::DemoRun;
use super::follow::Follower;
use super::held_points::HeldPoints;
use super::progress::print_line;
use crate::error::DemoError;
use crate::fleet::SOURCE;
use crate::options::CutoverMoment;
use crate::points;
use crate::report::{RunReport, StalledCutover};
use std::time::{Duration, Instant};

/// How long the demo waits until the source accepts a write. It is much longer than any budget of the demo.
const ACCEPT_LIMIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

impl DemoRun<'_> {
    pub(super) async fn stall(
        &self,
        moment: CutoverMoment,
        held_points: &HeldPoints,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<(), DemoError> {
        let point = points::of_moment(moment);
        let arrival = follower.until_arrival(held_points, &point).await?;
        let source = self.application_session(SOURCE).await?;
        let begun = Instant::now();
        let mut accepted_after = None;
        while begun.elapsed() < ACCEPT_LIMIT && accepted_after.is_none() {
            match self.try_write(&source).await? {
                None => accepted_after = Some(begun.elapsed().as_millis()),
                Some(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        drop(arrival);
        print_line("the stopped agent continues");
        report.stall = Some(StalledCutover {
            fail_point: point.name,
            source_open_after_ms: accepted_after.and_then(|after| u64::try_from(after).ok()),
            give_up_reasons: Vec::new(),
        });
        Ok(())
    }
}
