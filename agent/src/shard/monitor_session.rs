//! A session that only looks at a shard; a shard that does not answer is asked again a little later.

use std::time::Duration;

use connect::Connected;
use tokio::time::{Instant, timeout};

use crate::error::StepError;
use crate::shard::database::Shard;

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(1);
/// Before a shard that did not answer is asked again.
const AGAIN: Duration = Duration::from_secs(2);

/// A session that probes one shard.
pub(crate) struct MonitorSession {
    pub(crate) shard: Shard,
    role: &'static str,
    session: Option<Connected>,
    again_at: Instant,
}

impl MonitorSession {
    /// Its session does this; it is opened with the first look.
    pub(crate) fn new(shard: Shard, role: &'static str) -> Self {
        Self {
            shard,
            role,
            session: None,
            again_at: Instant::now(),
        }
    }

    /// What is seen; nothing where the shard does not answer, which the step itself will meet.
    pub(crate) async fn look<T>(
        &mut self,
        look: impl AsyncFnOnce(&Connected) -> Result<T, StepError>,
    ) -> Option<T> {
        if self.session.is_none() && Instant::now() < self.again_at {
            return None;
        }
        match timeout(ANSWER, self.ask(look)).await {
            Ok(Ok(seen)) => return Some(seen),
            Ok(Err(error)) => tracing::debug!(%error, role = self.role, "a look failed"),
            Err(_) => {
                tracing::debug!(shard = %self.shard.name, role = self.role, "no answer to a look");
            }
        }
        self.session = None;
        self.again_at = Instant::now() + AGAIN;
        None
    }

    async fn ask<T>(
        &mut self,
        look: impl AsyncFnOnce(&Connected) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        let session = match self.session.take() {
            Some(session) => session,
            None => self.shard.session(self.role).await?,
        };
        let seen = look(&session).await?;
        self.session = Some(session);
        Ok(seen)
    }
}
