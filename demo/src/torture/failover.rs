//! The failover of a server to its standby: a synchronous one, or an asynchronous one that lags.
//!
//! A lagging standby of the source would lose acknowledged writes of the clients, which the checker would count. So the
//! clients are paused, and an operator writes rows instead that no client knows. PostgreSQL loses these; if the target still
//! had one of them at the end, the checker would count it as a row that no transaction wrote.

use super::mode::RunMode;
use super::operator_sql;
use super::planned_fault::PlannedFault;
use super::standby::Standby;
use crate::drive::crash;
use crate::error::DemoError;
use crate::options::Process;
use fail_point::Arrival;
use std::time::{Duration, Instant};

/// How long a standby lags before it is promoted.
const LAG: Duration = Duration::from_secs(2);
/// The time limit until the target has the rows that the source will lose. During the copy it does not get them.
const APPLY_LIMIT: Duration = Duration::from_secs(3);
const PAUSE_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl PlannedFault {
    /// Kills the server and promotes its synchronous standby.
    pub(super) async fn fail_over(&self, arrival: Arrival) -> Result<(), DemoError> {
        let (Some((cluster, shard)), Some(standby)) = (self.affected_server(), &self.standby)
        else {
            return Ok(());
        };
        let has_slot = RunMode::of(&self.case, self.seed) != RunMode::Offline;
        if has_slot && self.case.stream_advances_slot() {
            standby.wait_for_slot().await?;
        }
        crash(&cluster, shard, &self.ledger).await?;
        drop(arrival);
        standby.promote().await
    }

    /// Kills the server and promotes a standby that lacks the changes of the last seconds. The process waits at the place
    /// until then, so that the map cannot flip before; the change stream continues.
    pub(super) async fn fail_over_to_lagging(&self, arrival: Arrival) -> Result<(), DemoError> {
        let (Some((cluster, shard)), Some(standby)) = (self.affected_server(), &self.standby)
        else {
            return Ok(());
        };
        if self.case.component == Process::Source {
            self.lose_rows(standby).await?;
        } else {
            standby.disconnect().await?;
            tokio::time::sleep(LAG).await;
        }
        crash(&cluster, shard, &self.ledger).await?;
        drop(arrival);
        let promoted = standby.promote().await;
        self.clients.resume();
        promoted
    }

    /// Pauses the clients, disconnects the standby, and writes rows that only the source has.
    async fn lose_rows(&self, standby: &Standby) -> Result<(), DemoError> {
        let paused = tokio::time::timeout(PAUSE_LIMIT, self.clients.pause()).await;
        paused.map_err(|_| DemoError::Stalled {
            what: "a pause of the clients".to_owned(),
            seconds: PAUSE_LIMIT.as_secs(),
        })?;
        // A standby that lagged before would lose writes of the clients.
        standby.catch_up().await?;
        standby.disconnect().await?;
        let shards = self.fleet.admins()?;
        operator_sql::write_lost_rows(&shards[0].1).await?;
        let begun = Instant::now();
        // The target may have no table yet.
        while begun.elapsed() < APPLY_LIMIT
            && operator_sql::count_lost_rows(&shards[1].1)
                .await
                .unwrap_or_default()
                == 0
        {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let applied = operator_sql::count_lost_rows(&shards[1].1).await;
        self.run_log.write(&format!(
            "the source loses 20 rows; the target has {} of them",
            applied.unwrap_or_default()
        ));
        Ok(())
    }
}
