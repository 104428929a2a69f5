//! Synchronous dual-write: while a stream is level, its walsender is one more synchronous standby of the shard
//! that takes the writes, so that an acknowledged write is on both shards (R22).
//!
//! The keeper runs beside the stream and puts our name in and out of `synchronous_standby_names`.
//! Whenever nothing is confirmed for longer than the limit it is taken out and writes go on: by the keeper, and by
//! the watchdog, a process of its own, when the keeper is gone or stopped.
//! Absent: the confirming itself, which is the stream's.

mod hang;
mod keeper;
mod watchdog;

use std::path::PathBuf;
use std::time::Duration;

use tokio::process::{Child, ChildStdin};

use crate::error::StepError;
use crate::shard::database::Shard;
use crate::shard::dual_write::{OwnershipProof, remove_names};
use crate::shard::epoch::EpochToken;

pub(crate) use keeper::{DualWriteKeeper, KeeperSpec};
#[cfg(test)]
pub(crate) use watchdog::ENVIRONMENT;
pub use watchdog::watch_for_ever;

/// What the walsender of a stream that counts is for, in its `application_name`.
pub(crate) const ROLE: &str = "dual-write";
/// Between two looks at the shard whose commits wait.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How a stream's dual-write is kept synchronous.
#[derive(Debug, Clone)]
pub(crate) struct DualWrite {
    /// A commit waits for the other shard no longer than about this.
    pub(crate) limit: Duration,
    pub(crate) watchdog: WatchdogProgram,
}

/// A program that becomes the watchdog; what it is to watch comes by its environment.
#[derive(Debug, Clone)]
pub(crate) struct WatchdogProgram {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
}

impl WatchdogProgram {
    /// This very program, as the agent's command line has it.
    pub(crate) fn agent() -> Self {
        Self {
            path: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("shardwright-agent")),
            arguments: vec!["watch-dual-write".to_owned()],
        }
    }
}

/// A running watchdog. Dropping this leaves it to take us out once our walsender is gone.
#[derive(Debug)]
struct RunningWatchdog {
    process: Child,
    /// A line in it says that there is nothing to watch any more; its end does not.
    tell: ChildStdin,
}

/// Takes names of this migration out of a shard's setting that an owner before us left there.
pub(crate) async fn repair(
    shard: &Shard,
    token: &EpochToken,
    proof: OwnershipProof,
) -> Result<(), StepError> {
    let session = shard.session("dual-write-repair").await?;
    crate::shard::dual_write::prepare_session(&session)
        .await
        .map_err(|error| {
            StepError::passing(
                "dual_write.session",
                format!("shard {}: {error}", shard.name),
            )
        })?;
    if remove_names(&session, token, proof).await? {
        tracing::warn!(shard = %shard.name, migration = %token.migration, "dual-write was left synchronous by an owner that is gone");
    }
    session.close().await;
    Ok(())
}
