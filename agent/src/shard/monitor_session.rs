//! A session that only reads. If the shard does not answer, the session is closed and opened again later.

use std::time::Duration;

use connect::Connected;
use tokio::time::{Instant, timeout};

use crate::error::StepError;
use crate::shard::database::Shard;

/// Time limit of a probe.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause after a failed probe.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// A session that probes one shard.
pub(crate) struct MonitorSession {
    pub(crate) shard: Shard,
    role: &'static str,
    session: Option<Connected>,
    retry_at: Instant,
}

impl MonitorSession {
    /// Returns a monitor whose session has the role `role` in its name. The first probe opens the session.
    pub(crate) fn new(shard: Shard, role: &'static str) -> Self {
        Self {
            shard,
            role,
            session: None,
            retry_at: Instant::now(),
        }
    }

    /// Executes `probe`, and returns its result. Returns `None` if the shard does not answer: the step itself meets the
    /// same failure.
    pub(crate) async fn probe<T>(
        &mut self,
        probe: impl AsyncFnOnce(&Connected) -> Result<T, StepError>,
    ) -> Option<T> {
        if self.session.is_none() && Instant::now() < self.retry_at {
            return None;
        }
        match timeout(ANSWER_TIMEOUT, self.try_probe(probe)).await {
            Ok(Ok(result)) => return Some(result),
            Ok(Err(error)) => tracing::debug!(%error, role = self.role, "probe failed"),
            Err(_) => {
                tracing::debug!(shard = %self.shard.name, role = self.role, "probe timed out");
            }
        }
        self.session = None;
        self.retry_at = Instant::now() + RETRY_PAUSE;
        None
    }

    /// Executes `probe` on the session, which it opens if there is none. After an error there is no session.
    async fn try_probe<T>(
        &mut self,
        probe: impl AsyncFnOnce(&Connected) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        let session = match self.session.take() {
            Some(session) => session,
            None => self.shard.session(self.role).await?,
        };
        let result = probe(&session).await?;
        self.session = Some(session);
        Ok(result)
    }
}
