//! Deals with those that are gone: a controller that starts again, a process that its successor replaces.
//!
//! Nothing is remembered outside the store but seals, figures and surveys, and none of them is needed.

use super::{ControlError, Controller, clock};
use plans::id::{AgentName, InstanceId};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an agent that goes on speaking is not written down again.
const SEEN_FOR: Duration = Duration::from_secs(2);

/// Processes that were written down lately, by agent; they count only while this process leads.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<Processes>);

type Processes = HashMap<AgentName, (Process, Instant)>;

/// A process of an agent, and the protocol that it last said it speaks.
#[derive(Debug, Clone)]
struct Process {
    instance: InstanceId,
    protocol: Option<u32>,
}

impl Process {
    /// Nothing that `other` says is new.
    fn covers(&self, other: &Self) -> bool {
        let said = other.protocol.is_none() || other.protocol == self.protocol;
        self.instance == other.instance && said
    }
}

impl Seen {
    fn with<T>(&self, act: impl FnOnce(&mut Processes) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_fresh(&self, agent: &AgentName, process: &Process, now: Instant) -> bool {
        self.with(|seen| {
            let last = seen.get(agent);
            last.is_some_and(|(known, at)| known.covers(process) && now - *at < SEEN_FOR)
        })
    }

    fn keep(&self, agent: &AgentName, process: Process, now: Instant) {
        self.with(|seen| {
            seen.retain(|_, (_, at)| now - *at < SEEN_FOR);
            seen.insert(agent.clone(), (process, now));
        });
    }

    /// Other controllers see them from now on.
    pub(super) fn clear(&self) {
        self.with(HashMap::clear);
    }
}

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
        let now = Instant::now();
        let process = Process {
            instance: instance.clone(),
            protocol,
        };
        if self.inner.seen.is_fresh(agent, &process, now) {
            return Ok(());
        }
        let is_new = self
            .inner
            .store
            .see_agent(agent, instance, protocol, clock());
        if is_new.await? {
            self.free_older(agent, instance).await?;
        }
        self.inner.seen.keep(agent, process, now);
        Ok(())
    }

    async fn free_older(
        &self,
        agent: &AgentName,
        instance: &InstanceId,
    ) -> Result<(), ControlError> {
        let store = &self.inner.store;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_seen_lately_is_known_and_no_other_of_its_agent() {
        let (seen, now) = (Seen::default(), Instant::now());
        let [agent, other] = ["a", "b"].map(AgentName::from);
        let process = |instance: &str, protocol| Process {
            instance: InstanceId::from(instance),
            protocol,
        };
        let (first, second) = (process("a1", Some(3)), process("a2", Some(3)));
        seen.keep(&agent, first.clone(), now);
        let late = SEEN_FOR - Duration::from_millis(1);
        assert!(seen.is_fresh(&agent, &first, now + late));
        assert!(seen.is_fresh(&agent, &process("a1", None), now));
        assert!(!seen.is_fresh(&agent, &process("a1", Some(4)), now));
        assert!(!seen.is_fresh(&agent, &first, now + SEEN_FOR));
        assert!(!seen.is_fresh(&agent, &second, now) && !seen.is_fresh(&other, &first, now));
        seen.keep(&agent, second.clone(), now);
        assert!(!seen.is_fresh(&agent, &first, now));
        seen.clear();
        assert!(!seen.is_fresh(&agent, &second, now));
    }
}
