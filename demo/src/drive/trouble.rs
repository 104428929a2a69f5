//! A failure on the target, and its repair.
//!
//! An agent waits in the middle of the step, the failure is caused, and the agent continues. Then the migration fails
//! with a reason, or waits for an unreachable target. Finally the failure is repaired.

use super::DemoRun;
use super::follow::Follower;
use super::held_points::HeldPoints;
use super::kill::blocking;
use super::progress::print_line;
use crate::error::DemoError;
use crate::options::{Trouble, TroubleKind};
use crate::points;
use crate::report::{RunReport, TroubleReport};
use cluster::Shutdown;
use connect::{Connected, Session};
use plans::sql::quote_literal;
use plans::state::step::StepState;
use rand::Rng;
use std::time::{Duration, Instant};

impl DemoRun<'_> {
    /// Causes the failure, waits until the migration has failed or, for an outage, its duration has passed, and repairs
    /// the failure.
    pub(super) async fn trouble(
        &self,
        trouble: Trouble,
        held_points: &HeldPoints,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<(), DemoError> {
        let arrival = follower
            .until_arrival(held_points, &points::of_step(trouble.step))
            .await?;
        let session = self.target_session().await?;
        print_line(&format!(
            "causing a failure of the target: {}",
            trouble.kind
        ));
        let begun = Instant::now();
        self.cause(trouble.kind, &session).await?;
        drop(arrival);
        let mut troubled = TroubleReport {
            kind: trouble.kind.to_string(),
            step: trouble.step,
            failed_step: None,
            failure: None,
            lasted_ms: 0,
            retained_peak_bytes: None,
        };
        if trouble.kind == TroubleKind::Outage {
            troubled.retained_peak_bytes = Some(self.observe_log(begun).await?);
        } else {
            let (failed, failure) = follower.until_failed().await?;
            let step = failed.steps.iter();
            let mut step = step.filter(|step| step.state == StepState::Failed);
            troubled.failed_step = step.next().map(|step| step.kind);
            troubled.failure = Some(failure);
        }
        troubled.lasted_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        report.troubles.push(troubled);
        self.wait_for_acknowledged(self.ledger.tally().acknowledged + self.goal(4))
            .await?;
        print_line(&format!(
            "repairing the failure of the target: {}",
            trouble.kind
        ));
        self.repair(trouble.kind, &session).await
    }

    /// Waits while the target is unreachable. Returns the greatest number of bytes of log that the source retained for
    /// a slot.
    async fn observe_log(&self, since: Instant) -> Result<i64, DemoError> {
        const RETAINED_BYTES: &str = "select coalesce(max(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn)), 0)::bigint \
            from pg_catalog.pg_replication_slots where starts_with(slot_name::text, 'shardwright_')";
        let session = self.admin_session(0).await?;
        let mut peak = 0;
        while since.elapsed() < Duration::from_secs(self.options.outage_s.into()) {
            let row = session.query_one(RETAINED_BYTES, &[]).await;
            let row = row.map_err(|source| crate::shop::ShopError::Statement {
                action: "read how much log the source retains",
                source,
            })?;
            peak = peak.max(row.get(0));
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok(peak)
    }

    async fn cause(&self, kind: TroubleKind, session: &Connected) -> Result<(), DemoError> {
        match kind {
            TroubleKind::Password => {
                let other = format!("{:032x}", rand::rng().random::<u128>());
                run(session, &set_password(&other)).await?;
                let end = "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity \
                    where starts_with(application_name, 'shardwright/')";
                run(session, end).await
            }
            TroubleKind::Disk => {
                // The server begins a new log file, which is allocated completely. Therefore rows fail for lack of
                // space, and not log records.
                run(session, "select pg_catalog.pg_switch_wal()").await?;
                let write = "select pg_catalog.pg_logical_emit_message(true, 'demo', 'room')";
                run(session, write).await?;
                self.fleet.fill_disk()
            }
            TroubleKind::Down | TroubleKind::Outage => {
                let server = self.fleet.target();
                blocking(move || server.stop(Shutdown::Fast)).await
            }
        }
    }

    async fn repair(&self, kind: TroubleKind, session: &Connected) -> Result<(), DemoError> {
        match kind {
            TroubleKind::Password => {
                let password = self.fleet.target_password()?;
                run(session, &set_password(&password)).await
            }
            // A server without space for its log has also ended. It is started like a server that was stopped.
            TroubleKind::Disk | TroubleKind::Down | TroubleKind::Outage => {
                self.fleet.empty_disk()?;
                let server = self.fleet.target();
                blocking(move || server.start()).await
            }
        }
    }

    async fn target_session(&self) -> Result<Connected, DemoError> {
        self.admin_session(1).await
    }

    async fn admin_session(&self, shard: usize) -> Result<Connected, DemoError> {
        let (_, dsn) = self.fleet.admins()?.remove(shard);
        let session = connect::connect(&dsn, &Session::named("demo")).await;
        Ok(session.map_err(crate::shop::ShopError::from)?)
    }
}

fn set_password(password: &str) -> String {
    format!("alter role postgres password {}", quote_literal(password))
}

async fn run(session: &Connected, sql: &str) -> Result<(), DemoError> {
    let done = session.batch_execute(sql).await;
    let done = done.map_err(|source| crate::shop::ShopError::Statement {
        action: "cause or repair a failure of the target",
        source,
    });
    Ok(done?)
}
