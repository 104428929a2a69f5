//! A cutover in which an agent stands still for longer than the write-blocked window may last.
//!
//! Order: the agent waits at the moment, the source is asked for a harmless write until it takes one, then the agent goes
//! on. Nothing is killed: the attempt has to end by itself, and the next one has to succeed.

use super::Run;
use super::follow::Follower;
use super::hand::Hand;
use super::progress::say;
use crate::error::DemoError;
use crate::fleet::SOURCE;
use crate::options::Moment;
use crate::points;
use crate::report::{Report, StalledCutover};
use std::time::{Duration, Instant};

/// Far beyond any budget of the demo.
const GIVE_UP: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

impl Run<'_> {
    pub(super) async fn stall(
        &self,
        moment: Moment,
        hand: &Hand,
        follower: &mut Follower<'_>,
        report: &mut Report,
    ) -> Result<(), DemoError> {
        let point = points::of_moment(moment);
        let arrival = follower.meet(hand, &point).await?;
        let source = self.application(SOURCE).await?;
        let begun = Instant::now();
        let mut taken_after = None;
        while begun.elapsed() < GIVE_UP && taken_after.is_none() {
            match self.try_write(&source).await? {
                None => taken_after = Some(begun.elapsed().as_millis()),
                Some(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        drop(arrival);
        say("the agent that stood still goes on");
        report.stall = Some(StalledCutover {
            fail_point: point.name,
            source_open_after_ms: taken_after.and_then(|after| u64::try_from(after).ok()),
            released: Vec::new(),
        });
        Ok(())
    }
}
