//! Recovery: a controller starts again, or a new process of an agent replaces an earlier one.
//!
//! Seals, figures and inspections are lost with the process; the controller can continue without them.

use super::{ControlError, Controller, clock, delta};
use crate::store::{AgentProcess, Registered};
use plans::id::{AgentName, InstanceId};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A call of a known agent process is written to the store at most once in this time.
const KNOWN_FOR: Duration = Duration::from_secs(2);

/// The text for the host of a process that reports no host, because it uses an older protocol.
const UNNAMED: &str = "(unknown)";

/// The process of each agent, with the time at which it was written to the store. They are valid only while this
/// controller leads.
#[derive(Debug, Default)]
pub(super) struct KnownProcesses {
    processes: Mutex<ProcessTimes>,
    /// When this controller became the leader. Earlier the agents called another controller, so their silence before
    /// this time means nothing.
    since: Mutex<Option<Instant>>,
}

type ProcessTimes = HashMap<AgentName, (AgentProcess, Instant)>;

/// Returns whether `process` contains nothing that `known` does not contain.
fn covers(known: &AgentProcess, process: &AgentProcess) -> bool {
    let protocol = process.protocol.is_none() || process.protocol == known.protocol;
    let host = process.host.is_none() || process.host == known.host;
    (&known.instance, known.key) == (&process.instance, process.key) && protocol && host
}

impl KnownProcesses {
    fn with<T>(&self, act: impl FnOnce(&mut ProcessTimes) -> T) -> T {
        let mut processes = self.processes.lock();
        act(processes
            .as_mut()
            .unwrap_or_else(|poisoned| poisoned.get_mut()))
    }

    /// Returns whether the process was written to the store a short time ago, with the same properties.
    fn is_fresh(&self, process: &AgentProcess, now: Instant) -> bool {
        self.with(|known| {
            let last = known.get(&process.name);
            last.is_some_and(|(known, at)| covers(known, process) && now - *at < KNOWN_FOR)
        })
    }

    fn note_written(&self, process: &AgentProcess, now: Instant) {
        self.with(|known| known.insert(process.name.clone(), (process.clone(), now)));
    }

    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that this controller leads now, so that agents call it.
    pub(super) fn note_lead(&self) {
        *self.since() = Some(Instant::now());
    }

    /// Forgets all processes, because another controller receives their calls from now on.
    pub(super) fn clear(&self) {
        *self.since() = None;
        self.with(HashMap::clear);
    }

    /// Forgets the process of one agent.
    pub(super) fn forget(&self, agent: &AgentName) {
        self.with(|known| known.remove(agent));
    }

    /// Returns whether this controller has led for at least `lease`, so that each live agent has had the time to call
    /// it.
    pub(super) fn has_listened(&self, lease: Duration) -> bool {
        self.since().is_some_and(|since| since.elapsed() >= lease)
    }
}

impl Controller {
    /// Records in the journal of each unfinished migration that a controller has started.
    pub(super) async fn note_start(&self) -> Result<(), ControlError> {
        self.inner.fleet.forget();
        for snapshot in self.inner.store.unfinished().await?.iter() {
            let id = &snapshot.migration.id;
            let noted = self.change(id, "controller", |draft| {
                draft.record("controller.started", None, json!({}));
                Ok(())
            });
            noted.await?;
        }
        Ok(())
    }

    /// Returns how long a process must be silent before another process may use its name: the lease, and the delay with
    /// which heartbeats are written to the store.
    pub(super) fn required_silence(&self) -> Duration {
        self.inner.settings.lease + KNOWN_FOR
    }

    /// Records a call of an agent process. If it is a new process of the agent, the migrations of the earlier process
    /// become free immediately.
    ///
    /// # Errors
    /// [`ControlError::NameInUse`] while another process uses the name and may be alive.
    pub(super) async fn register(&self, process: &AgentProcess) -> Result<(), ControlError> {
        match self.register_process(process).await? {
            Registered::Known | Registered::New => Ok(()),
            Registered::InUse(other) => {
                let named = |host: Option<String>| host.unwrap_or_else(|| UNNAMED.to_owned());
                Err(ControlError::NameInUse {
                    agent: process.name.clone(),
                    theirs: named(other.host),
                    ours: named(process.host.clone()),
                    silence: self.required_silence(),
                })
            }
        }
    }

    /// Does the same as [`Controller::register`], and returns the result.
    pub(super) async fn register_process(
        &self,
        process: &AgentProcess,
    ) -> Result<Registered, ControlError> {
        let now = Instant::now();
        if self.inner.known_processes.is_fresh(process, now) {
            return Ok(Registered::Known);
        }
        let (at, silence) = (clock(), self.required_silence());
        let listened = self.inner.known_processes.has_listened(silence);
        let silent_since = listened.then(|| at - delta(silence));
        let registering = self.inner.store.note_agent(process, at, silent_since);
        let registered = registering.await?;
        if let Registered::InUse(_) = registered {
            return Ok(registered);
        }
        if registered == Registered::New {
            self.release_older_processes(&process.name, &process.instance)
                .await?;
        }
        self.inner.known_processes.note_written(process, now);
        Ok(registered)
    }

    /// Returns whether this process still uses the name of its agent.
    pub(super) fn has_name(&self, agent: &AgentName, instance: &InstanceId) -> bool {
        self.inner.known_processes.with(|known| {
            let known = known.get(agent);
            known.is_some_and(|(known, _)| &known.instance == instance)
        })
    }

    /// Ends the leases of earlier processes of the agent, so that its new process can claim their migrations.
    async fn release_older_processes(
        &self,
        agent: &AgentName,
        instance: &InstanceId,
    ) -> Result<(), ControlError> {
        let store = &self.inner.store;
        tracing::info!(%agent, "agent connected");
        self.inner.inspections.give_up_of_earlier(agent, instance);
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
                    draft.remove_owner("a new process of the agent replaced it")?;
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
    use crate::access::SecretDigest;

    fn process(name: &str, instance: &str, protocol: Option<u32>) -> AgentProcess {
        AgentProcess {
            name: name.into(),
            instance: instance.into(),
            protocol,
            host: protocol.map(|_| "db1".to_owned()),
            key: Some(SecretDigest([1; 32])),
            outlived: Vec::new(),
        }
    }

    #[test]
    fn only_the_process_that_called_last_is_known_and_only_for_a_while() {
        let (known, now) = (KnownProcesses::default(), Instant::now());
        let (first, second) = (process("a", "a1", Some(3)), process("a", "a2", Some(3)));
        known.note_written(&first, now);
        let late = KNOWN_FOR - Duration::from_millis(1);
        assert!(known.is_fresh(&first, now + late));
        assert!(known.is_fresh(&process("a", "a1", None), now));
        assert!(!known.is_fresh(&process("a", "a1", Some(4)), now));
        let forged = AgentProcess {
            key: None,
            ..first.clone()
        };
        assert!(!known.is_fresh(&forged, now));
        assert!(!known.is_fresh(&first, now + KNOWN_FOR));
        assert!(!known.is_fresh(&second, now));
        assert!(!known.is_fresh(&process("b", "a1", Some(3)), now));
        known.note_written(&second, now);
        assert!(!known.is_fresh(&first, now));
        known.clear();
        assert!(!known.is_fresh(&second, now));
    }

    #[test]
    fn silence_counts_only_after_a_controller_has_led_for_a_while() {
        let known = KnownProcesses::default();
        assert!(!known.has_listened(Duration::ZERO));
        known.note_lead();
        assert!(known.has_listened(Duration::ZERO));
        assert!(!known.has_listened(Duration::from_secs(3600)));
        known.clear();
        assert!(!known.has_listened(Duration::ZERO));
    }
}
