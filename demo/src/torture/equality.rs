//! Checks that during the hold the old owner's rows of the moving keys become equal to the new owner's.
//!
//! The application pauses, and the rows of both shards are compared until they are equal. Then the application
//! continues.

use super::run::FaultRun;
use crate::api::Api;
use crate::error::DemoError;
use crate::ledger::Ledger;
use crate::workload::Workload;
use std::time::{Duration, Instant};

/// The time within which the rows of both shards must become equal.
const EQUALITY_LIMIT: Duration = Duration::from_secs(60);
/// The time limit for clients to finish their transactions. A transaction may have to wait for a server.
const PAUSE_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The comparison of both shards' rows during a hold, with the data that it needs.
pub(super) struct EqualityCheck<'l> {
    pub(super) run: &'l FaultRun<'l>,
    pub(super) api: &'l Api,
    pub(super) ledger: &'l Ledger,
    pub(super) workload: &'l Workload,
}

impl EqualityCheck<'_> {
    /// Returns the number of tables that still differ after the time in which they must become equal.
    pub(super) async fn differing(&self) -> Result<u64, DemoError> {
        let differing = match self.pause().await {
            Ok(()) => self.compare().await,
            Err(error) => Err(error),
        };
        self.workload.resume();
        differing
    }

    /// Pauses the clients. Returns when no client has an open transaction.
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
            let checked = self.run.run_checker(self.api, self.ledger, true).await;
            let limit_passed = begun.elapsed() > EQUALITY_LIMIT;
            match checked {
                Ok(checked) if checked.diverged == 0 || limit_passed => {
                    let (tables, seconds) = (checked.diverged, begun.elapsed().as_secs_f64());
                    self.run.run_log.write(&format!(
                        "{tables} tables differ between both copies after {seconds:.1} s"
                    ));
                    return Ok(tables);
                }
                Err(error) if limit_passed => return Err(error),
                // Clients that were disturbed may still be reconnecting.
                Ok(_) | Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }
}
