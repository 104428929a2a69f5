//! Agents, and the processes that have their names, as the store keeps them.

use super::StoreFuture;
use crate::access::SecretDigest;
use chrono::{DateTime, Utc};
use plans::id::{AgentName, InstanceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An agent that has sent a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRecord {
    /// The name of the agent.
    pub name: AgentName,
    /// The process that has this name.
    pub instance: InstanceId,
    /// When the process sent its last request.
    pub last_seen: DateTime<Utc>,
    /// The host on which the process runs, if the process reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// A process of an agent that sends a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProcess {
    /// The name of the agent.
    pub name: AgentName,
    /// The random id of the process.
    pub instance: InstanceId,
    /// The newest protocol version that the process supports, if it reports one.
    pub protocol: Option<u32>,
    /// The host on which the process runs, if it reports it.
    pub host: Option<String>,
    /// The digest of the secret key that its requests carry.
    pub key: Option<SecretDigest>,
    /// The digests of the keys of earlier processes that this one replaces.
    pub outlived: Vec<SecretDigest>,
}

impl AgentProcess {
    /// Creates the description of a process that reports only its name and its id.
    #[must_use]
    pub fn of(name: &AgentName, instance: &InstanceId) -> Self {
        Self {
            name: name.clone(),
            instance: instance.clone(),
            protocol: None,
            host: None,
            key: None,
            outlived: Vec::new(),
        }
    }
}

/// The result of a process's request for an agent's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registered {
    /// The process already has the name.
    Known,
    /// The process has the name from now on.
    New,
    /// Another process has the name, and may still be running.
    InUse(AgentRecord),
}

/// The agents, and the processes that have their names.
pub trait AgentStore: Send + Sync + std::fmt::Debug {
    /// Records that an agent's process sent a request at `at`, if the process has the agent's name or may take it over.
    ///
    /// A process may take the name over from a process that was last observed before `silent_since`, or whose key is
    /// among the keys in `process.outlived`. Only the key proves this, because every client can read the instance id. A
    /// process that has the name must present the key with which it registered.
    fn note_agent<'a>(
        &'a self,
        process: &'a AgentProcess,
        at: DateTime<Utc>,
        silent_since: Option<DateTime<Utc>>,
    ) -> StoreFuture<'a, Registered>;

    /// Returns all agents, ordered by name.
    fn agents(&self) -> StoreFuture<'_, Vec<AgentRecord>>;

    /// Removes the record of an agent. The change is durable when the call returns. An agent of this name that sends a
    /// request later is recorded again.
    ///
    /// Fails with [`StoreError::AgentAlive`](super::StoreError::AgentAlive) unless the last request of the agent arrived
    /// before `silent_since`, and with [`StoreError::AgentAssigned`](super::StoreError::AgentAssigned) while an
    /// unfinished migration is assigned to it.
    fn remove_agent<'a>(
        &'a self,
        name: &'a AgentName,
        silent_since: DateTime<Utc>,
    ) -> StoreFuture<'a, ()>;
}
