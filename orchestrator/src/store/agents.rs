//! Agents, and the processes that have their names, as the store keeps them.

use crate::access::SecretDigest;
use chrono::{DateTime, Utc};
use plans::id::{AgentName, InstanceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An agent that has spoken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRecord {
    /// Its name.
    pub name: AgentName,
    /// Its process.
    pub instance: InstanceId,
    /// When it spoke last.
    pub last_seen: DateTime<Utc>,
    /// Where its process runs, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// A process of an agent that speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProcess {
    /// The agent.
    pub name: AgentName,
    /// Which process of it.
    pub instance: InstanceId,
    /// The newest protocol that it speaks, where it says so.
    pub protocol: Option<u32>,
    /// Where it runs, where it says so.
    pub host: Option<String>,
    /// Of what its calls show.
    pub key: Option<SecretDigest>,
    /// Of the keys of processes that it has outlived.
    pub outlived: Vec<SecretDigest>,
}

impl AgentProcess {
    /// A process that says no more than who it is.
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

/// What became of a process that wants an agent's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registered {
    /// It has the name already.
    Known,
    /// It has the name from now on.
    New,
    /// Another process has it, and may live.
    InUse(AgentRecord),
}
