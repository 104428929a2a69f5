//! Agents in memory.

use super::MemoryStore;
use crate::store::{AgentProcess, AgentRecord, AgentStore, Registered, StoreFuture};
use chrono::{DateTime, Utc};
use plans::id::AgentName;

impl AgentStore for MemoryStore {
    fn note_agent<'a>(
        &'a self,
        process: &'a AgentProcess,
        at: DateTime<Utc>,
        silent_since: Option<DateTime<Utc>>,
    ) -> StoreFuture<'a, Registered> {
        self.write(|state| Ok(state.note_agent(process, at, silent_since)))
    }

    fn remove_agent<'a>(
        &'a self,
        name: &'a AgentName,
        silent_since: DateTime<Utc>,
    ) -> StoreFuture<'a, ()> {
        self.write(|state| state.remove_agent(name, silent_since))
    }

    fn agents(&self) -> StoreFuture<'_, Vec<AgentRecord>> {
        self.run(|state| {
            Ok(state
                .agents
                .values()
                .map(|(process, _)| process.clone())
                .collect())
        })
    }
}
