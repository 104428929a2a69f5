//! While a migration holds, the former owner's copy of the moving keys becomes equal to the owner's.
//!
//! Order: the application pauses, both copies are compared again and again until they are equal, it goes on.

use super::run::FaultRun;
use crate::api::Api;
use crate::error::DemoError;
use crate::ledger::Ledger;
use crate::workload::Workload;
use std::time::{Duration, Instant};

const LEVEL_LIMIT: Duration = Duration::from_secs(60);
/// Clients finish what they are at; one may be waiting for a server.
const PAUSE_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// What a comparison needs.
pub(super) struct ComparisonLevel<'l> {
    pub(super) run: &'l FaultRun<'l>,
    pub(super) api: &'l Api,
    pub(super) ledger: &'l Ledger,
    pub(super) workload: &'l Workload,
}

impl ComparisonLevel<'_> {
    /// Tables that still differ when they had time enough to become equal.
    pub(super) async fn differing(&self) -> Result<u64, DemoError> {
        let differing = match self.pause().await {
            Ok(()) => self.compare().await,
            Err(error) => Err(error),
        };
        self.workload.resume();
        differing
    }

    /// Returns when no client has anything under way.
    pub(super) async fn pause(&self) -> Result<(), DemoError> {
        let paused = tokio::time::timeout(PAUSE_LIMIT, self.workload.pause()).await;
        paused.map_err(|_| DemoError::Stalled {
            what: "a pause of the clients".to_owned(),
            seconds: PAUSE_LIMIT.as_secs(),
        })
    }

    async fn compare(&self) -> Result<u64, DemoError> {
        let begun = Instant::now();
        loop {
            let checked = self.run.verdict(self.api, self.ledger, true).await;
            let late = begun.elapsed() > LEVEL_LIMIT;
            match checked {
                Ok(checked) if checked.diverged == 0 || late => {
                    let (tables, seconds) = (checked.diverged, begun.elapsed().as_secs_f64());
                    self.run.story.write(&format!(
                        "{tables} tables differ between both copies after {seconds:.1} s"
                    ));
                    return Ok(tables);
                }
                Err(error) if late => return Err(error),
                // Whoever was disturbed may still be on its way back.
                Ok(_) | Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }
}
