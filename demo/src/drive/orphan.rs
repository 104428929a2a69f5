//! A cutover during which the controller and all agents are killed. It observes which shard accepts writes to the
//! moving keys meanwhile.
//!
//! An agent waits at the moment, and a session to each shard is opened. Then all programs are killed. Writes
//! that change nothing are tried on both shards. Finally all programs are started again.

use super::DemoRun;
use super::follow::Follower;
use super::held_points::HeldPoints;
use super::progress::print_line;
use crate::error::DemoError;
use crate::fleet::{SOURCE, TARGET};
use crate::options::CutoverMoment;
use crate::points;
use crate::report::{OrphanedCutover, RunReport};
use crate::shop::ShopError;
use connect::{Connected, Session};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a sealed source is observed.
const SEALED_OBSERVATION: Duration = Duration::from_secs(5);
/// The longest time in which a fenced source must open without a program. It is much longer than any budget of the
/// demo.
const OPEN_LIMIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

impl DemoRun<'_> {
    /// Kills all programs at `moment`, observes the shards, and starts the programs again.
    pub(super) async fn orphan(
        &self,
        moment: CutoverMoment,
        held_points: &HeldPoints,
        follower: &mut Follower<'_>,
        report: &mut RunReport,
    ) -> Result<(), DemoError> {
        let point = points::of_moment(moment);
        let arrival = follower.until_arrival(held_points, &point).await?;
        let source = self.application_session(SOURCE).await?;
        let target = self.application_session(TARGET).await?;
        print_line("killing the controller and both agents with SIGKILL");
        let killed_at = server_time_ms(&source).await?;
        let begun = Instant::now();
        self.fleet.kill_programs().await?;
        drop(arrival);
        let mut orphaned = OrphanedCutover {
            fail_point: point.name,
            source_open_after_ms: None,
            alone_ms: 0,
            source_refused: BTreeMap::new(),
            target_accepted: 0,
            target_refused: BTreeMap::new(),
        };
        let limit = if moment.expires() {
            OPEN_LIMIT
        } else {
            SEALED_OBSERVATION
        };
        while begun.elapsed() < limit && orphaned.source_open_after_ms.is_none() {
            match self.try_write(&target).await? {
                None => orphaned.target_accepted += 1,
                Some(code) => *orphaned.target_refused.entry(code).or_default() += 1,
            }
            match self.try_write(&source).await? {
                None => {
                    orphaned.source_open_after_ms = Some(server_time_ms(&source).await? - killed_at)
                }
                Some(code) => *orphaned.source_refused.entry(code).or_default() += 1,
            }
            tokio::time::sleep(PAUSE).await;
        }
        orphaned.alone_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        report.orphan = Some(orphaned);
        print_line("starting the controller and both agents again");
        self.fleet.restart_programs().await
    }

    pub(super) async fn application_session(&self, shard: &str) -> Result<Connected, DemoError> {
        let session = connect::connect(&self.fleet.app_dsn(shard)?, &Session::named("demo")).await;
        Ok(session.map_err(ShopError::from)?)
    }

    /// Commits a write to a moving row that changes nothing. Returns `None` if it was accepted, otherwise the SQLSTATE.
    pub(super) async fn try_write(&self, session: &Connected) -> Result<Option<String>, DemoError> {
        let moving = self.mix.moving.first().copied().unwrap_or_default();
        let sql = "update public.tenants set plan = plan where id = $1";
        match session.execute(sql, &[&moving]).await {
            Ok(_) => Ok(None),
            Err(error) => match error.code() {
                Some(code) => Ok(Some(code.code().to_owned())),
                None => Err(statement_error(error).into()),
            },
        }
    }
}

/// Returns the server's time in milliseconds.
async fn server_time_ms(session: &Connected) -> Result<i64, DemoError> {
    let sql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";
    let row = session.query_one(sql, &[]).await.map_err(statement_error)?;
    Ok(row.get(0))
}

fn statement_error(source: tokio_postgres::Error) -> ShopError {
    ShopError::Statement {
        action: "observe which shard accepts writes",
        source,
    }
}
