//! Stops a process at a fail point, and kills it or the server that it uses.
//!
//! The socket exists before the programs start. When the process waits at the fail point, the kill is carried out. Then
//! waiting processes are released, and the killed process starts again without fail points.

use super::follow;
use super::progress::print_line;
use crate::api::Api;
use crate::error::DemoError;
use crate::fleet::{Fleet, SOURCE, TARGET};
use crate::ledger::Ledger;
use crate::options::{Kill, Options, Process};
use crate::points::{self, PassedPoint};
use crate::report::KilledProcess;
use crate::shop::ShopError;
use cluster::Cluster;
use connect::Session;
use fail_point::{Arrival, Rendezvous};
use plans::id::ShardName;
use plans::step::StepKind;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

const RESTART_AFTER: Duration = Duration::from_millis(200);
/// The interval at which the size of the target's tables is read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The maximum time for which the size is read.
const GROWTH_TIMEOUT: Duration = Duration::from_secs(60);

/// The size of the application's tables in bytes. The tables grow before the copy's transaction commits.
const TABLE_SIZE: &str = "select coalesce(sum(pg_catalog.pg_relation_size(oid)), 0)::bigint \
    from pg_catalog.pg_class where relkind = 'r' and relnamespace not in (
      select oid from pg_catalog.pg_namespace
      where nspname in ('pg_catalog', 'information_schema', 'pg_toast', 'shardwright'))";

/// A kill that is prepared.
#[derive(Debug)]
pub(super) struct PlannedKill {
    kill: Kill,
    point: PassedPoint,
    meeting: Rendezvous,
}

/// A kill that waits for its fail point, or is in progress.
#[derive(Debug, Default)]
pub(super) struct PendingKill {
    /// The result if the kill does not happen.
    not_fired: Option<KilledProcess>,
    task: Option<JoinHandle<Result<KilledProcess, DemoError>>>,
}

impl PlannedKill {
    /// Creates the socket, if the options require a kill.
    pub(super) fn prepare(options: &Options, fleet: &Fleet) -> Result<Option<Self>, DemoError> {
        let Some(kill) = options.kill else {
            return Ok(None);
        };
        let path = fleet.dir().join("strike");
        Ok(Some(Self {
            kill,
            point: points::of_kill(kill),
            meeting: Rendezvous::bind(path).map_err(DemoError::io("make a socket"))?,
        }))
    }

    /// Returns the fail point, and the text that arms it.
    pub(super) fn armed(&self) -> (PassedPoint, String) {
        (self.point.clone(), self.meeting.arms(&self.point.name))
    }

    /// Waits for the process in a background task.
    pub(super) fn start(self, fleet: &Arc<Fleet>, ledger: &Arc<Ledger>, api: Api) -> PendingKill {
        let not_fired = KilledProcess::not_fired(self.kill, &self.point.name);
        let kill = ProcessKill {
            kill: self.kill,
            not_fired: not_fired.clone(),
            fleet: Arc::clone(fleet),
            ledger: Arc::clone(ledger),
            api,
        };
        PendingKill {
            not_fired: Some(not_fired),
            task: Some(tokio::spawn(kill.run(self.meeting))),
        }
    }
}

impl PendingKill {
    /// Returns the result of the kill. If it is not complete by now, it is given up.
    pub(super) async fn result(mut self) -> Result<Option<KilledProcess>, DemoError> {
        match self.task.take() {
            Some(task) if task.is_finished() => {
                let ended = task.await.map_err(std::io::Error::other);
                ended.map_err(DemoError::io("kill a process"))?.map(Some)
            }
            Some(task) => {
                task.abort();
                Ok(self.not_fired.clone())
            }
            None => Ok(self.not_fired.clone()),
        }
    }
}

impl Drop for PendingKill {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// A kill, from the wait at the fail point to the restart.
#[derive(Debug)]
struct ProcessKill {
    kill: Kill,
    not_fired: KilledProcess,
    fleet: Arc<Fleet>,
    ledger: Arc<Ledger>,
    api: Api,
}

impl ProcessKill {
    async fn run(self, meeting: Rendezvous) -> Result<KilledProcess, DemoError> {
        let arrival = meeting
            .arrived()
            .await
            .map_err(DemoError::io("wait for a process at a fail point"))?;
        // Other processes with this fail point are released immediately.
        drop(meeting);
        print_line(&format!(
            "{} waits at {}: killing {} with SIGKILL",
            arrival.pid, arrival.name, self.kill.process
        ));
        let killed = match self.kill.process {
            Process::Agent | Process::Controller => self.kill_program(arrival).await?,
            Process::Source => self.kill_server(arrival, Some(SOURCE)).await?,
            Process::Target => self.kill_server(arrival, Some(TARGET)).await?,
            Process::Store => self.kill_server(arrival, None).await?,
        };
        let after = killed.elapsed();
        print_line(&format!("{} started again", self.kill.process));
        let was_copying = (self.kill.process, self.kill.step) == (Process::Agent, StepKind::Copy);
        let first_row_after_ms = match was_copying {
            true => self.time_to_first_row(killed).await?,
            false => None,
        };
        follow::ready(&self.api).await?;
        Ok(KilledProcess {
            fired: true,
            restarted_after_ms: milliseconds(after),
            first_row_after_ms,
            ..self.not_fired
        })
    }

    /// Waits until the copy writes its next row, which the growth of the target's tables shows. Returns the time since
    /// the kill in milliseconds, or `None` after `GROWTH_TIMEOUT`.
    async fn time_to_first_row(&self, killed: Instant) -> Result<Option<u64>, DemoError> {
        let target = self.fleet.admins()?.remove(1).1;
        let session = connect::connect(&target, &Session::named("observer")).await;
        let session = session.map_err(ShopError::from)?;
        let size = async || {
            let row = session.query_one(TABLE_SIZE, &[]).await;
            row.map(|row| row.get::<_, i64>(0))
                .map_err(|source| ShopError::Statement {
                    action: "read the size of the target's tables",
                    source,
                })
        };
        let before = size().await?;
        while killed.elapsed() < GROWTH_TIMEOUT {
            if size().await? > before {
                return Ok(Some(milliseconds(killed.elapsed())));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(None)
    }

    async fn kill_program(&self, arrival: Arrival) -> Result<Instant, DemoError> {
        self.fleet.kill_program(arrival.pid).await?;
        let killed = Instant::now();
        tokio::time::sleep(RESTART_AFTER).await;
        self.fleet.restart_programs().await?;
        Ok(killed)
    }

    async fn kill_server(
        &self,
        arrival: Arrival,
        shard: Option<&str>,
    ) -> Result<Instant, DemoError> {
        let Some(cluster) = self.fleet.server(self.kill.process) else {
            return Ok(Instant::now());
        };
        crash(&cluster, shard, &self.ledger).await?;
        let killed = Instant::now();
        drop(arrival);
        tokio::time::sleep(RESTART_AFTER).await;
        blocking(move || cluster.start()).await?;
        Ok(killed)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Kills a server. If it is a shard's server, the ledger records the kill, because it may lose acknowledged commits
/// that were not flushed.
pub(crate) async fn crash(
    cluster: &Arc<Cluster>,
    shard: Option<&str>,
    ledger: &Ledger,
) -> Result<(), DemoError> {
    let shard = shard.map(ShardName::from);
    if let Some(shard) = &shard {
        let begun = ledger.begin_crash(shard);
        begun.map_err(DemoError::io("write the ledger"))?;
    }
    let server = Arc::clone(cluster);
    blocking(move || server.kill()).await?;
    if let Some(shard) = &shard {
        ledger.end_crash(shard);
    }
    Ok(())
}

/// Runs a blocking function that starts or stops a server.
pub(crate) async fn blocking(
    work: impl FnOnce() -> Result<(), cluster::ClusterError> + Send + 'static,
) -> Result<(), DemoError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(std::io::Error::other);
    Ok(done.map_err(DemoError::io("wait for a server"))??)
}
