//! A cutover in which an agent is stopped for longer than the write-blocked window may last.
//!
//! The agent waits at the moment. A harmless write is tried on the source until the source accepts it; then the agent
//! continues. Nothing is killed: the agent must give the attempt up, and the next attempt must succeed.

use super::DemoRun;
use super::follow::Follower;
use super::hand::PointHold;
use super::progress::print_line;
use crate::error::DemoError;
use crate::fleet::SOURCE;
use crate::options::CutoverMoment;
use crate::points;
use crate::report::{RunReport, StalledCutover};
use std::time::{Duration, Instant};

/// Much longer than any budget of the demo.
const GIVE_UP: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

impl DemoRun<'_> {
    pub(super) async fn stall(
        &self,
        moment: CutoverMoment,
        hand: &PointHold,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<(), DemoError> {
        let point = points::of_moment(moment);
        let arrival = follower.meet(hand, &point).await?;
        let source = self.application(SOURCE).await?;
        let begun = Instant::now();
        let mut claimed_after = None;
        while begun.elapsed() < GIVE_UP && claimed_after.is_none() {
            match self.try_write(&source).await? {
                None => claimed_after = Some(begun.elapsed().as_millis()),
                Some(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        drop(arrival);
        print_line("the agent that stood still goes on");
        report.stall = Some(StalledCutover {
            fail_point: point.name,
            source_open_after_ms: claimed_after.and_then(|after| u64::try_from(after).ok()),
            released: Vec::new(),
        });
        Ok(())
    }
}
