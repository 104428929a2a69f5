//! Removes the record of an agent that does not come back.
//!
//! The record is only a name and the process that had it last. The removal touches no shard, no token and no file of the
//! agent. An agent that sends a request after all is recorded again.

use super::{ControlError, Controller, clock, delta};
use crate::store::{AgentRecord, Snapshot, StoreError};
use chrono::{DateTime, Utc};
use plans::id::AgentName;
use plans::state::cutover::Ownership;
use serde_json::json;

impl Controller {
    /// Removes the record of an agent.
    ///
    /// # Errors
    /// The agent does not exist, may be running, has an unfinished migration, or has the only copy of captured changes.
    pub async fn remove_agent(
        &self,
        name: &AgentName,
        actor: &str,
        reason: Option<&str>,
    ) -> Result<(), ControlError> {
        let silent_since = self.silence_before(name).await?;
        self.check_spools(name).await?;
        self.inner.store.remove_agent(name, silent_since).await?;
        self.inner.known_processes.forget(name);
        let data = json!({ "reason": reason });
        self.audit(actor, "agent.removed", format!("agent {name}"), data)
            .await?;
        tracing::info!(agent = %name, actor, "agent removed");
        self.announce();
        Ok(())
    }

    /// Checks whether the record of an agent could be removed now, and returns the record. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Controller::remove_agent`].
    pub async fn try_remove_agent(&self, name: &AgentName) -> Result<AgentRecord, ControlError> {
        let silent_since = self.silence_before(name).await?;
        let agents = self.inner.store.agents().await?;
        let known = agents.into_iter().find(|agent| &agent.name == name);
        let known = known.ok_or_else(|| ControlError::missing("agent", name.as_str()))?;
        if known.last_seen >= silent_since {
            let (agent, last_seen) = (known.name, known.last_seen);
            return Err(StoreError::AgentAlive { agent, last_seen }.into());
        }
        let unfinished = self.inner.store.unfinished().await?;
        let is_assigned = |snapshot: &&std::sync::Arc<Snapshot>| {
            let owner = snapshot.migration.owner.as_ref();
            owner.is_some_and(|owner| &owner.agent == name)
        };
        if let Some(snapshot) = unfinished.iter().find(is_assigned) {
            return Err(StoreError::AgentAssigned {
                agent: known.name,
                migration: snapshot.migration.id.clone(),
            }
            .into());
        }
        self.check_spools(name).await?;
        Ok(known)
    }

    /// Returns the time before which the last request of a stopped agent must have arrived.
    ///
    /// # Errors
    /// [`ControlError::AgentUnobserved`] if this controller has led for a shorter time: the agent may run, and may not
    /// have found this controller yet.
    async fn silence_before(&self, name: &AgentName) -> Result<DateTime<Utc>, ControlError> {
        let silence = self.required_silence();
        if self.inner.known_processes.has_listened(silence) {
            return Ok(clock() - delta(silence));
        }
        let agents = self.inner.store.agents().await?;
        match agents.iter().any(|agent| &agent.name == name) {
            true => Err(ControlError::AgentUnobserved {
                agent: name.clone(),
                silence,
            }),
            false => Err(ControlError::missing("agent", name.as_str())),
        }
    }

    /// Fails if a migration that no agent has needs changes that only the spool of this agent may contain.
    async fn check_spools(&self, name: &AgentName) -> Result<(), ControlError> {
        for snapshot in self.inner.store.unfinished().await?.iter() {
            let m = &snapshot.migration;
            // After the flip no stream uses a spool. An owner has the changes itself, or captures them again.
            let has_spool = matches!(m.ownership, Ownership::Ready | Ownership::Fencing);
            if !has_spool || m.owner.is_some() {
                continue;
            }
            let readings = self.inner.store.readings(&m.id).await?;
            let stream = readings.last().and_then(|reading| reading.stream.as_ref());
            let bytes = stream.map_or(0, |stream| stream.spooled_bytes);
            if bytes > 0 && self.last_owner(snapshot).await?.as_ref() == Some(name) {
                return Err(ControlError::SpoolNeeded {
                    agent: name.clone(),
                    migration: m.id.clone(),
                    bytes,
                });
            }
        }
        Ok(())
    }

    /// Returns the agent that was the last owner of a migration without an owner, according to its journal.
    async fn last_owner(&self, snapshot: &Snapshot) -> Result<Option<AgentName>, ControlError> {
        let id = &snapshot.migration.id;
        let events = self.inner.store.events(id, 0, i64::MAX).await?;
        let mut lost = events.iter().rev().filter(|e| e.kind == "owner.lost");
        Ok(lost.find_map(|event| {
            let agent = event.data["owner"]["agent"].as_str()?;
            Some(AgentName::from(agent))
        }))
    }
}
