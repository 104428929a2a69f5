//! Deals with those that are gone: a controller that starts again, a process that its successor replaces.
//!
//! Nothing is remembered outside the store but seals, figures and surveys, and none of them is needed.

use super::{ControlError, Controller, clock, delta};
use crate::store::{AgentProcess, Registered};
use plans::id::{AgentName, InstanceId};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an agent that goes on speaking is not written down again.
const SEEN_FOR: Duration = Duration::from_secs(2);

/// What a process is told of another one that names no host: it speaks an older version.
const UNNAMED: &str = "(not named)";

/// Processes that have the name of their agent, with when they were written down; they count only while this process
/// leads.
#[derive(Debug, Default)]
pub(super) struct Seen {
    processes: Mutex<Processes>,
    /// Since when this process leads: agents could not be heard before.
    since: Mutex<Option<Instant>>,
}

type Processes = HashMap<AgentName, (AgentProcess, Instant)>;

/// Nothing that `said` says is new.
fn covers(known: &AgentProcess, said: &AgentProcess) -> bool {
    let protocol = said.protocol.is_none() || said.protocol == known.protocol;
    let host = said.host.is_none() || said.host == known.host;
    (&known.instance, known.key) == (&said.instance, said.key) && protocol && host
}

impl Seen {
    fn with<T>(&self, act: impl FnOnce(&mut Processes) -> T) -> T {
        let mut processes = self.processes.lock();
        act(processes
            .as_mut()
            .unwrap_or_else(|poisoned| poisoned.get_mut()))
    }

    fn is_fresh(&self, process: &AgentProcess, now: Instant) -> bool {
        self.with(|seen| {
            let last = seen.get(&process.name);
            last.is_some_and(|(known, at)| covers(known, process) && now - *at < SEEN_FOR)
        })
    }

    fn keep(&self, process: &AgentProcess, now: Instant) {
        self.with(|seen| seen.insert(process.name.clone(), (process.clone(), now)));
    }

    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process leads: agents speak to it from now on.
    pub(super) fn begin(&self) {
        *self.since() = Some(Instant::now());
    }

    /// Other controllers see them from now on.
    pub(super) fn clear(&self) {
        *self.since() = None;
        self.with(HashMap::clear);
    }

    /// Whether a live agent had the time to be heard, if it takes no longer than `lease`.
    fn has_listened(&self, lease: Duration) -> bool {
        self.since().is_some_and(|since| since.elapsed() >= lease)
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

    /// How long a process is silent before another one may have its name: a lease, and how late that is written down.
    fn silence(&self) -> Duration {
        self.inner.settings.lease + SEEN_FOR
    }

    /// Notes that a process of an agent spoke; what an older one of the same name held is free at once.
    ///
    /// # Errors
    /// [`ControlError::NameInUse`] while another process has the name and may live.
    pub(super) async fn register(&self, process: &AgentProcess) -> Result<(), ControlError> {
        match self.see(process).await? {
            Registered::Known | Registered::New => Ok(()),
            Registered::Taken(other) => {
                let named = |host: Option<String>| host.unwrap_or_else(|| UNNAMED.to_owned());
                Err(ControlError::NameInUse {
                    agent: process.name.clone(),
                    theirs: named(other.host),
                    ours: named(process.host.clone()),
                    silence: self.silence(),
                })
            }
        }
    }

    /// As [`Controller::register`], which says what became of it.
    pub(super) async fn see(&self, process: &AgentProcess) -> Result<Registered, ControlError> {
        let now = Instant::now();
        if self.inner.seen.is_fresh(process, now) {
            return Ok(Registered::Known);
        }
        let (at, silence) = (clock(), self.silence());
        let listened = self.inner.seen.has_listened(silence);
        let silent_since = listened.then(|| at - delta(silence));
        let seen = self.inner.store.see_agent(process, at, silent_since);
        let seen = seen.await?;
        if let Registered::Taken(_) = seen {
            return Ok(seen);
        }
        if seen == Registered::New {
            self.free_older(&process.name, &process.instance).await?;
        }
        self.inner.seen.keep(process, now);
        Ok(seen)
    }

    /// Whether this process has the name still, which it had when it was seen last.
    pub(super) fn has_name(&self, agent: &AgentName, instance: &InstanceId) -> bool {
        self.inner.seen.with(|seen| {
            let known = seen.get(agent);
            known.is_some_and(|(known, _)| &known.instance == instance)
        })
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
    use crate::access::Digest;

    fn process(name: &str, instance: &str, protocol: Option<u32>) -> AgentProcess {
        AgentProcess {
            name: name.into(),
            instance: instance.into(),
            protocol,
            host: protocol.map(|_| "db1".to_owned()),
            key: Some(Digest([1; 32])),
            outlived: Vec::new(),
        }
    }

    #[test]
    fn a_process_that_was_seen_lately_is_known_and_no_other_of_its_agent() {
        let (seen, now) = (Seen::default(), Instant::now());
        let (first, second) = (process("a", "a1", Some(3)), process("a", "a2", Some(3)));
        seen.keep(&first, now);
        let late = SEEN_FOR - Duration::from_millis(1);
        assert!(seen.is_fresh(&first, now + late));
        assert!(seen.is_fresh(&process("a", "a1", None), now));
        assert!(!seen.is_fresh(&process("a", "a1", Some(4)), now));
        let forged = AgentProcess {
            key: None,
            ..first.clone()
        };
        assert!(!seen.is_fresh(&forged, now));
        assert!(!seen.is_fresh(&first, now + SEEN_FOR));
        assert!(!seen.is_fresh(&second, now));
        assert!(!seen.is_fresh(&process("b", "a1", Some(3)), now));
        seen.keep(&second, now);
        assert!(!seen.is_fresh(&first, now));
        seen.clear();
        assert!(!seen.is_fresh(&second, now));
    }

    #[test]
    fn nobody_is_silent_to_a_controller_that_does_not_lead_or_has_only_begun() {
        let seen = Seen::default();
        assert!(!seen.has_listened(Duration::ZERO));
        seen.begin();
        assert!(seen.has_listened(Duration::ZERO));
        assert!(!seen.has_listened(Duration::from_secs(3600)));
        seen.clear();
        assert!(!seen.has_listened(Duration::ZERO));
    }
}
