//! Synchronous dual-write: while a stream is level (almost without lag), its walsender is an additional synchronous
//! standby of the upstream shard, so that an acknowledged write is on both shards (R22).
//!
//! The keeper runs concurrently with the stream. It adds the stream's name to `synchronous_standby_names` and removes
//! it again.
//! If the stream confirms nothing for longer than the limit, the name is removed, and writes continue without the wait.
//! The keeper removes the name; if the agent's process has ended or is stopped, the watchdog does, a separate process.
//! The stream itself confirms commits, outside of this module.

mod hang;
mod keeper;
mod watchdog;

use std::path::PathBuf;
use std::time::Duration;

use plans::failure::StepCode;
use tokio::process::{Child, ChildStdin};

use crate::error::StepError;
use crate::shard::database::Shard;
use crate::shard::dual_write::{OwnershipProof, remove_names};
use crate::shard::epoch::EpochToken;

pub(crate) use keeper::{DualWriteKeeper, KeeperSpec};
#[cfg(test)]
pub(crate) use watchdog::TASK_VARIABLE;
pub use watchdog::run_watchdog;

/// The role in the `application_name` of a walsender that is a synchronous standby.
pub(crate) const STANDBY_ROLE: &str = "dual-write";
/// The interval between two probes of the shard whose commits wait.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// The configuration of a stream's synchronous dual-write.
#[derive(Debug, Clone)]
pub(crate) struct DualWrite {
    /// The name is removed when a commit has waited for the downstream shard for this time.
    pub(crate) limit: Duration,
    pub(crate) watchdog: WatchdogProgram,
}

/// The program of the watchdog. It receives its task in an environment variable.
#[derive(Debug, Clone)]
pub(crate) struct WatchdogProgram {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
}

impl WatchdogProgram {
    /// Returns the agent's own program, with the subcommand of the watchdog.
    pub(crate) fn agent() -> Self {
        Self {
            path: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("shardwright-agent")),
            arguments: vec!["watch-dual-write".to_owned()],
        }
    }
}

/// A running watchdog. If the value is dropped, the watchdog continues, and removes the name when the walsender has
/// ended.
#[derive(Debug)]
struct RunningWatchdog {
    process: Child,
    /// The watchdog's standard input. A line on it requests the watchdog to end; the end of the input does not.
    stdin: ChildStdin,
}

/// Opens a session on a shard, and removes the names of this migration from its `synchronous_standby_names`. Logs a
/// warning if an earlier owner of the migration had left one.
pub(crate) async fn connect_and_remove_names(
    shard: &Shard,
    token: &EpochToken,
    proof: OwnershipProof,
) -> Result<(), StepError> {
    let session = shard.session("dual-write-repair").await?;
    crate::shard::dual_write::prepare_session(&session)
        .await
        .map_err(|error| {
            StepError::passing(
                StepCode::DualWriteSession,
                format!("shard {}: {error}", shard.name),
            )
        })?;
    if remove_names(&session, token, proof).await? {
        tracing::warn!(shard = %shard.name, migration = %token.migration, "an earlier owner of the migration left dual-write synchronous; its name is removed");
    }
    session.close().await;
    Ok(())
}
