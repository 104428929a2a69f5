//! The watchdog: a process of its own that outlives the agent and takes our name out when nobody confirms.
//!
//! It never puts a name in. It ends when the agent says so, when a newer owner has the migration, when the
//! migration is not there any more, or when the agent is gone and the name is out.

use std::process::Stdio;
use std::time::Duration;

use connect::Connected;
use plans::fleet::ShardRef;
use plans::id::{Epoch, MapVersion, MigrationId};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::hang::{AbsentSince, HangingCommits};
use super::keeper::KeeperSpec;
use super::{LOOK_EVERY, ROLE, RunningWatchdog};
use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;
use crate::shard::dual_write::{self, OwnershipProof};
use crate::shard::epoch::{self, EpochToken};

/// What it is to watch, as JSON.
pub(crate) const ENVIRONMENT: &str = "SHARDWRIGHT_WATCH_DUAL_WRITE";
/// The line by which it says that it watches.
const READY: &str = "watching";
/// The line by which the agent says that the phase is over.
const OVER: &[u8] = b"over\n";
/// How long a start or an end may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Without an agent a shard that cannot be reached is given up after this.
const FORLORN: Duration = Duration::from_secs(3600);
/// Between two tries to reach the shard.
const RECONNECT: Duration = Duration::from_millis(500);

/// What a watchdog watches.
#[derive(Debug, Serialize, Deserialize)]
struct WatchdogTask {
    shard: ShardRef,
    migration: MigrationId,
    epoch: Epoch,
    limit_ms: u64,
}

impl RunningWatchdog {
    /// Starts one for the stream of `spec`; it watches when this returns.
    pub(super) async fn start(spec: &KeeperSpec, limit: Duration) -> Result<Self, StepError> {
        let what = format!(
            "shard {}: starting the watchdog of dual-write",
            spec.origin.name
        );
        let task = WatchdogTask {
            shard: ShardRef {
                name: spec.origin.name.as_str().into(),
                number: 0,
                dsn: spec.origin.dsn.expose().to_owned(),
                identity: spec.origin.identity.clone(),
            },
            migration: spec.token.migration.clone(),
            epoch: spec.token.epoch,
            limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
        };
        let program = &spec.how.watchdog;
        let mut process = Command::new(&program.path)
            .args(&program.arguments)
            .env(ENVIRONMENT, serde_json::json!(task).to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Whatever is meant for the agent's group is not meant for it.
            .process_group(0)
            .spawn()
            .at(&what)?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let (Some(tell), Some(said)) = (stdin, stdout) else {
            return Err(StepError::passing("dual_write.watchdog", what));
        };
        let ready = async {
            let mut lines = BufReader::new(said).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if line == READY {
                    return true;
                }
            }
            false
        };
        if tokio::time::timeout(PATIENCE, ready).await != Ok(true) {
            let _ = process.start_kill();
            return Err(StepError::passing(
                "dual_write.watchdog",
                format!("{what}: it did not begin to watch"),
            ));
        }
        Ok(Self { process, tell })
    }

    pub(super) fn runs(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// There is nothing to watch any more.
    pub(super) async fn end(mut self) {
        let _ = self.tell.write_all(OVER).await;
        let _ = self.tell.flush().await;
        if tokio::time::timeout(PATIENCE, self.process.wait())
            .await
            .is_err()
        {
            let _ = self.process.start_kill();
        }
    }
}

/// What the other end of its standard input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentPresence {
    There,
    Gone,
}

/// Watches what the environment says, until that is over.
///
/// # Errors
/// When the environment does not say what to watch. The shard's errors are waited out.
pub async fn watch_for_ever() -> anyhow::Result<()> {
    let text = std::env::var(ENVIRONMENT)?;
    let task: WatchdogTask = serde_json::from_str(&text)?;
    let shard = Shard::new(&task.shard, &task.migration, task.epoch)?;
    let token = EpochToken {
        migration: task.migration,
        epoch: task.epoch,
        until: MapVersion(i64::MAX),
    };
    let mut sight = WatchdogState {
        name: shard.application_name(ROLE),
        shard,
        token,
        limit: Duration::from_millis(task.limit_ms),
        session: None,
        hangs: HangingCommits::default(),
        absence: AbsentSince::default(),
        unreachable: AbsentSince::default(),
    };
    let mut ready = tokio::io::stdout();
    ready.write_all(format!("{READY}\n").as_bytes()).await?;
    ready.flush().await?;
    let mut heard = listen();
    let mut agent = AgentPresence::There;
    loop {
        tokio::select! {
            biased;
            said = &mut heard, if agent == AgentPresence::There => match said {
                Ok(AgentMessage::Over) => return Ok(()),
                Err(_) => agent = AgentPresence::Gone,
            },
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        if sight.pass(agent).await {
            return Ok(());
        }
    }
}

/// What the agent says, once.
enum AgentMessage {
    /// There is nothing to watch any more.
    Over,
}

/// Hears the agent; a thread of its own, since a read of standard input cannot be given up.
fn listen() -> oneshot::Receiver<AgentMessage> {
    let (tell, heard) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        if read.is_ok() && line.as_bytes() == OVER {
            let _ = tell.send(AgentMessage::Over);
        }
    });
    heard
}

struct WatchdogState {
    shard: Shard,
    token: EpochToken,
    /// The agent's walsender.
    name: String,
    limit: Duration,
    session: Option<Connected>,
    hangs: HangingCommits,
    absence: AbsentSince,
    unreachable: AbsentSince,
}

impl WatchdogState {
    /// True when there is nothing to watch any more.
    async fn pass(&mut self, agent: AgentPresence) -> bool {
        let seen = self.look(agent).await;
        let reached = !matches!(&seen, Err(error) if !error.is_superseded());
        let away = self.unreachable.look(reached, Instant::now());
        match seen {
            Ok(over) => over,
            Err(error) if error.is_superseded() => true,
            Err(_) => {
                self.session = None;
                tokio::time::sleep(RECONNECT).await;
                agent == AgentPresence::Gone && away >= FORLORN
            }
        }
    }

    async fn look(&mut self, agent: AgentPresence) -> Result<bool, StepError> {
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
        let look = dual_write::probe(session, &self.name).await?;
        if !look.is_named {
            self.hangs.forget();
            self.absence.forget();
            if agent == AgentPresence::There {
                return Ok(false);
            }
            // The agent may have been killed before the server took over what it had written.
            dual_write::remove_names(session, &self.token, OwnershipProof::Owner).await?;
            return Ok(true);
        }
        let now = Instant::now();
        let waited = self.hangs.look(&look.waiting_commits, now);
        let hung = waited.max(self.absence.look(look.is_streaming, now));
        if hung >= self.limit {
            dual_write::remove_names(session, &self.token, OwnershipProof::Owner).await?;
        }
        Ok(false)
    }
}
