//! Deals with those that are gone: a controller that starts again, a process that its successor replaces.
//!
//! Nothing is remembered outside the store but seals, figures and surveys, and none of them is needed.

use super::{ControlError, Controller, clock};
use plans::id::{AgentName, InstanceId};
use serde_json::json;

impl Controller {
    /// Writes into the journal of each unfinished migration that a controller took it up.
    pub(super) async fn tell_started(&self) -> Result<(), ControlError> {
        self.inner.fleet.forget();
        for snapshot in self.inner.store.unfinished().await?.iter() {
            let id = &snapshot.migration.id;
            let told = self.change(id, "controller", |draft| {
                draft.note("controller.started", None, json!({}));
                Ok(())
            });
            told.await?;
        }
        Ok(())
    }

    /// Notes that an agent spoke; what an older process of it held is free at once.
    pub(super) async fn see(
        &self,
        agent: &AgentName,
        instance: &InstanceId,
        protocol: Option<u32>,
    ) -> Result<(), ControlError> {
        let store = &self.inner.store;
        let seen = store.see_agent(agent, instance, protocol, clock());
        if !seen.await? {
            return Ok(());
        }
        tracing::info!(%agent, "agent connected");
        for snapshot in store.unfinished().await?.iter() {
            let owner = snapshot.migration.owner.as_ref();
            if owner.is_none_or(|o| &o.agent != agent || &o.instance == instance) {
                continue;
            }
            let id = &snapshot.migration.id;
            self.forget_attempts(id).await;
            let freed = self.change(id, "controller", |draft| {
                let owner = draft.snapshot().migration.owner.clone();
                if owner.is_some_and(|o| &o.agent == agent && &o.instance != instance) {
                    draft.disown("a new process of the agent took its place")?;
                }
                Ok(())
            });
            freed.await?;
        }
        Ok(())
    }
}
