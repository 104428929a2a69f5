//! The watchdog: a separate process that outlives the agent. It removes the stream's name when the stream confirms
//! nothing for too long.
//!
//! It never adds a name. It ends when
//! - the agent requests it,
//! - a newer owner has the migration,
//! - the migration no longer exists, or
//! - the agent has ended and the name is removed.

use std::process::Stdio;
use std::time::Duration;

use connect::Connected;
use futures::future::BoxFuture;
use plans::failure::StepCode;
use plans::fleet::ShardRef;
use plans::id::{Epoch, MapVersion, MigrationId};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::hang::{AbsenceTimer, WaitingCommits};
use super::keeper::KeeperSpec;
use super::{PROBE_INTERVAL, RunningWatchdog, STANDBY_ROLE};
use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;
use crate::shard::dual_write::{self, OwnershipProof};
use crate::shard::epoch::{self, EpochToken};

/// The environment variable with the watchdog's task, as JSON.
pub(crate) const TASK_VARIABLE: &str = "SHARDWRIGHT_WATCH_DUAL_WRITE";
/// The line by which the watchdog reports that it watches.
const READY: &str = "watching";
/// The line by which the agent requests the watchdog to end.
const END_LINE: &[u8] = b"over\n";
/// The time limit for the start and the end of a watchdog.
const START_END_TIMEOUT: Duration = Duration::from_secs(5);
/// If the agent has ended, the watchdog ends when the shard has been unreachable for this time.
const UNREACHABLE_LIMIT: Duration = Duration::from_secs(3600);
/// The interval between two attempts to reach the shard.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(500);

/// The task of a watchdog.
#[derive(Debug, Serialize, Deserialize)]
struct WatchdogTask {
    shard: ShardRef,
    migration: MigrationId,
    epoch: Epoch,
    /// See [`super::DualWrite::limit`].
    limit_ms: u64,
}

impl RunningWatchdog {
    /// Starts a watchdog for the stream of `spec`; returns when it watches.
    pub(super) async fn start(spec: &KeeperSpec, limit: Duration) -> Result<Self, StepError> {
        let what = format!(
            "shard {}: starting the watchdog of dual-write",
            spec.upstream.name
        );
        let task = WatchdogTask {
            shard: ShardRef {
                name: spec.upstream.name.as_str().into(),
                number: 0,
                dsn: spec.upstream.dsn.expose().to_owned(),
                identity: spec.upstream.identity.clone(),
            },
            migration: spec.token.migration.clone(),
            epoch: spec.token.epoch,
            limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
        };
        let program = &spec.dual_write.watchdog;
        let mut process = Command::new(&program.path)
            .args(&program.arguments)
            .env(TASK_VARIABLE, serde_json::json!(task).to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Signals to the agent's process group must not reach the watchdog.
            .process_group(0)
            .spawn()
            .at(&what)?;
        let pipes = (process.stdin.take(), process.stdout.take());
        let (Some(stdin), Some(output)) = pipes else {
            return Err(StepError::passing(StepCode::DualWriteWatchdog, what));
        };
        let ready = async {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if line == READY {
                    return true;
                }
            }
            false
        };
        if tokio::time::timeout(START_END_TIMEOUT, ready).await != Ok(true) {
            let _ = process.start_kill();
            return Err(StepError::passing(
                StepCode::DualWriteWatchdog,
                format!("{what}: the watchdog did not report that it watches"),
            ));
        }
        Ok(Self { process, stdin })
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Requests the watchdog to end, and waits until it has ended.
    pub(super) async fn end(mut self) {
        let _ = self.stdin.write_all(END_LINE).await;
        let _ = self.stdin.flush().await;
        if tokio::time::timeout(START_END_TIMEOUT, self.process.wait())
            .await
            .is_err()
        {
            let _ = self.process.start_kill();
        }
    }
}

/// Whether the agent still runs. When it ends, the watchdog's standard input is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentPresence {
    Present,
    Gone,
}

/// Runs the watchdog for the task in the environment, until it must end.
///
/// # Errors
/// An error if the environment has no valid task. After an error of the shard the watchdog tries again.
pub fn run_watchdog() -> BoxFuture<'static, anyhow::Result<()>> {
    Box::pin(watch())
}

async fn watch() -> anyhow::Result<()> {
    let text = std::env::var(TASK_VARIABLE)?;
    let task: WatchdogTask = serde_json::from_str(&text)?;
    let shard = Shard::new(&task.shard, &task.migration, task.epoch)?;
    let token = EpochToken {
        migration: task.migration,
        epoch: task.epoch,
        until: MapVersion(i64::MAX),
    };
    let mut state = WatchdogState {
        name: shard.application_name(STANDBY_ROLE),
        shard,
        token,
        limit: Duration::from_millis(task.limit_ms),
        session: None,
        waiting_commits: WaitingCommits::default(),
        walsender_absence: AbsenceTimer::default(),
        shard_absence: AbsenceTimer::default(),
    };
    let mut stdout = tokio::io::stdout();
    stdout.write_all(format!("{READY}\n").as_bytes()).await?;
    stdout.flush().await?;
    let mut message = receive_agent_message();
    let mut agent = AgentPresence::Present;
    loop {
        tokio::select! {
            biased;
            received = &mut message, if agent == AgentPresence::Present => match received {
                Ok(AgentMessage::EndWatch) => return Ok(()),
                Err(_) => agent = AgentPresence::Gone,
            },
            () = tokio::time::sleep(PROBE_INTERVAL) => {}
        }
        if state.probe_or_reconnect(agent).await {
            return Ok(());
        }
    }
}

/// The only message that the agent sends to the watchdog.
enum AgentMessage {
    /// The watchdog must end.
    EndWatch,
}

/// Returns the channel for the message of the agent. A separate thread reads it, since a read of standard input cannot
/// be cancelled. If the input ends without the message, the channel is closed.
fn receive_agent_message() -> oneshot::Receiver<AgentMessage> {
    let (send, message) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        if read.is_ok() && line.as_bytes() == END_LINE {
            let _ = send.send(AgentMessage::EndWatch);
        }
    });
    message
}

/// The state of a watchdog.
struct WatchdogState {
    shard: Shard,
    token: EpochToken,
    /// The `application_name` of the agent's walsender.
    name: String,
    limit: Duration,
    session: Option<Connected>,
    waiting_commits: WaitingCommits,
    /// The time for which probes have not found the walsender.
    walsender_absence: AbsenceTimer,
    /// The time for which the shard has been unreachable.
    shard_absence: AbsenceTimer,
}

impl WatchdogState {
    /// Probes the shard once, and handles an error. Returns whether the watchdog must end.
    async fn probe_or_reconnect(&mut self, agent: AgentPresence) -> bool {
        let probed = self.probe_and_react(agent).await;
        let reached = !matches!(&probed, Err(error) if !error.is_superseded());
        let unreachable_for = self.shard_absence.observe(reached, Instant::now());
        match probed {
            Ok(must_end) => must_end,
            Err(error) if error.is_superseded() => true,
            Err(_) => {
                self.session = None;
                tokio::time::sleep(RECONNECT_INTERVAL).await;
                agent == AgentPresence::Gone && unreachable_for >= UNREACHABLE_LIMIT
            }
        }
    }

    /// Probes the shard once. Removes the name if the stream confirms nothing for too long. If the agent has ended and
    /// the name is not in force, removes it from the configuration file. Returns whether the watchdog must end.
    async fn probe_and_react(&mut self, agent: AgentPresence) -> Result<bool, StepError> {
        let shard = self.shard.name.clone();
        let what = format!("shard {shard}: watching dual-write");
        if self.session.is_none() {
            let session = self.shard.session("dual-write-watch").await?;
            dual_write::prepare_session(&session).await.at(&what)?;
            self.session = Some(session);
        }
        let Some(session) = self.session.as_ref() else {
            return Ok(false);
        };
        if !epoch::is_current(session, &self.token).await? {
            return Ok(true);
        }
        let status = dual_write::probe(session, &self.name).await?;
        if !status.is_named {
            self.waiting_commits.clear();
            self.walsender_absence.clear();
            if agent == AgentPresence::Present {
                return Ok(false);
            }
            // The agent may have been killed before the server reloaded the setting that it had written.
            dual_write::remove_names(session, &self.token, OwnershipProof::Owner).await?;
            return Ok(true);
        }
        let now = Instant::now();
        let waited = self.waiting_commits.observe(&status.waiting_commits, now);
        let longest_wait = waited.max(self.walsender_absence.observe(status.is_streaming, now));
        if longest_wait >= self.limit {
            dual_write::remove_names(session, &self.token, OwnershipProof::Owner).await?;
        }
        Ok(false)
    }
}
