//! A session that only looks at a shard; a shard that does not answer is asked again a little later.

use std::time::Duration;

use connect::Connected;
use tokio::time::{Instant, timeout};

use crate::error::StepError;
use crate::shard::database::Shard;

/// Longest wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Before a shard that did not answer is asked again.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// A session that probes one shard.
pub(crate) struct MonitorSession {
    pub(crate) shard: Shard,
    role: &'static str,
    session: Option<Connected>,
    retry_at: Instant,
}

impl MonitorSession {
    /// Its session does this; it is opened with the first look.
    pub(crate) fn new(shard: Shard, role: &'static str) -> Self {
        Self {
            shard,
            role,
            session: None,
            retry_at: Instant::now(),
        }
    }

    /// What is seen; nothing where the shard does not answer, which the step itself will meet.
    pub(crate) async fn probe<T>(
        &mut self,
        probe: impl AsyncFnOnce(&Connected) -> Result<T, StepError>,
    ) -> Option<T> {
        if self.session.is_none() && Instant::now() < self.retry_at {
            return None;
        }
        match timeout(ANSWER_TIMEOUT, self.try_probe(probe)).await {
            Ok(Ok(result)) => return Some(result),
            Ok(Err(error)) => tracing::debug!(%error, role = self.role, "a look failed"),
            Err(_) => {
                tracing::debug!(shard = %self.shard.name, role = self.role, "no answer to a look");
            }
        }
        self.session = None;
        self.retry_at = Instant::now() + RETRY_PAUSE;
        None
    }

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
