//! The store in memory, for tests: the same contract without PostgreSQL, gone with its process.
//!
//! One lock around everything makes each call one transaction.

use super::{
    AgentRecord, Answer, Change, CleanupRecord, Event, MapVersionRecord, Migration, NewEvent,
    NewMigration, Sealed, ShardRecord, Snapshot, Step, Store, StoreError,
};
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use plans::id::{AgentName, InstanceId, MapName, MigrationId, ShardName, StepId};
use plans::shard_map::ShardMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// A store that lives as long as its value.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    incarnation: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    shards: BTreeMap<ShardName, ShardRecord>,
    maps: BTreeMap<MapName, Vec<(ShardMap, MapVersionRecord)>>,
    migrations: BTreeMap<MigrationId, Snapshot>,
    events: BTreeMap<MigrationId, Vec<Event>>,
    cleanup: BTreeMap<MigrationId, Vec<CleanupRecord>>,
    agents: BTreeMap<AgentName, AgentRecord>,
    sealed: BTreeSet<MigrationId>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self {
            incarnation: uuid::Uuid::new_v4().to_string(),
            state: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in another test thread does not make the map of maps wrong.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn answer<'a, T: Send + 'a>(
        &self,
        act: impl FnOnce(&mut State) -> Result<T, StoreError>,
    ) -> Answer<'a, T> {
        let result = act(&mut self.state());
        Box::pin(std::future::ready(result))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    fn current(&self, map: &MapName) -> Option<&ShardMap> {
        let versions = self.maps.get(map)?;
        versions.last().map(|(map, _)| map)
    }

    fn add_version(&mut self, map: &ShardMap, by: &str) -> Result<(), StoreError> {
        for mapping in &map.mappings {
            if !self.shards.contains_key(&mapping.shard) {
                return Err(missing("shard", mapping.shard.as_str()));
            }
        }
        let record = MapVersionRecord {
            version: map.version,
            created_at: Utc::now(),
            by: by.to_owned(),
            migration: map.migration.clone(),
            mappings: map.mappings.clone(),
        };
        let versions = self.maps.entry(map.name.clone()).or_default();
        versions.push((map.clone(), record));
        Ok(())
    }

    fn journal(&mut self, id: &MigrationId, events: &[NewEvent]) {
        let journal = self.events.entry(id.clone()).or_default();
        for (event, seq) in events.iter().zip(journal.len() as i64 + 1..) {
            journal.push(Event {
                seq,
                at: event.at,
                actor: event.actor.clone(),
                kind: event.kind.clone(),
                step: event.step.clone(),
                data: event.data.clone(),
            });
        }
    }

    fn apply(&mut self, change: &Change) -> bool {
        let id = &change.migration.id;
        let Some(stored) = self.migrations.get_mut(id) else {
            return false;
        };
        if stored.migration.revision != change.from_revision {
            return false;
        }
        stored.migration = change.migration.clone();
        stored.migration.revision = change.from_revision + 1;
        for step in &change.steps {
            upsert(&mut stored.steps, step);
        }
        match &change.migration.owner {
            None => stored.lease_until = None,
            Some(_) => stored.lease_until = change.lease_until.or(stored.lease_until),
        }
        self.journal(id, &change.events);
        true
    }

    fn admit(&mut self, new: &NewMigration) -> Result<Snapshot, StoreError> {
        let plan = &new.plan;
        let current = self
            .current(&plan.map)
            .ok_or_else(|| missing("map", plan.map.as_str()))?
            .version;
        let mut all = self.migrations.values();
        if let Some(other) = all.find(|s| s.migration.meets(&plan.map, &plan.moving.keys)) {
            return Err(StoreError::KeysMoving {
                migration: other.migration.id.clone(),
            });
        }
        if current != plan.map_version {
            return Err(StoreError::MapVersion {
                map: plan.map.clone(),
                current: current.0,
                expected: plan.map_version.0,
            });
        }
        if self.migrations.contains_key(&new.id) {
            return Err(exists("migration", new.id.as_str()));
        }
        let snapshot = new.snapshot();
        self.migrations.insert(new.id.clone(), snapshot.clone());
        self.journal(&new.id, &[new.event()]);
        Ok(snapshot)
    }

    fn remove_shard(&mut self, name: &ShardName) -> Result<(), StoreError> {
        let mut versions = self.maps.values().flatten();
        let user = versions.find(|(map, _)| map.mappings.iter().any(|m| &m.shard == name));
        if let Some((map, _)) = user {
            return Err(StoreError::ShardInUse {
                shard: name.clone(),
                map: map.name.clone(),
            });
        }
        let gone = self.shards.remove(name);
        gone.map(|_| ())
            .ok_or_else(|| missing("shard", name.as_str()))
    }
}

impl Store for MemoryStore {
    fn incarnation(&self) -> &str {
        &self.incarnation
    }

    fn ping(&self) -> Answer<'_, ()> {
        self.answer(|_| Ok(()))
    }

    fn add_shard<'a>(&'a self, name: &'a ShardName, dsn: &'a str) -> Answer<'a, ShardRecord> {
        self.answer(|state| {
            if state.shards.contains_key(name) {
                return Err(exists("shard", name.as_str()));
            }
            let record = ShardRecord {
                name: name.clone(),
                dsn: dsn.to_owned(),
                created_at: Utc::now(),
            };
            state.shards.insert(name.clone(), record.clone());
            Ok(record)
        })
    }

    fn shards(&self) -> Answer<'_, Vec<ShardRecord>> {
        self.answer(|state| Ok(state.shards.values().cloned().collect()))
    }

    fn remove_shard<'a>(&'a self, name: &'a ShardName) -> Answer<'a, ()> {
        self.answer(|state| state.remove_shard(name))
    }

    fn create_map<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> Answer<'a, ()> {
        self.answer(|state| {
            if state.maps.contains_key(&map.name) {
                return Err(exists("map", map.name.as_str()));
            }
            state.add_version(map, by)
        })
    }

    fn maps(&self) -> Answer<'_, Vec<ShardMap>> {
        self.answer(|state| {
            let names = state.maps.keys();
            Ok(names
                .filter_map(|name| state.current(name))
                .cloned()
                .collect())
        })
    }

    fn map<'a>(&'a self, name: &'a MapName) -> Answer<'a, Option<ShardMap>> {
        self.answer(|state| Ok(state.current(name).cloned()))
    }

    fn history<'a>(&'a self, name: &'a MapName) -> Answer<'a, Vec<MapVersionRecord>> {
        self.answer(|state| {
            let versions = state.maps.get(name).into_iter().flatten();
            Ok(versions.map(|(_, record)| record.clone()).collect())
        })
    }

    fn submit<'a>(&'a self, new: &'a NewMigration) -> Answer<'a, Snapshot> {
        self.answer(|state| state.admit(new))
    }

    fn load<'a>(&'a self, id: &'a MigrationId) -> Answer<'a, Option<Snapshot>> {
        self.answer(|state| Ok(state.migrations.get(id).cloned()))
    }

    fn unfinished(&self) -> Answer<'_, Vec<Snapshot>> {
        self.answer(|state| {
            let all = state.migrations.values();
            let open = all.filter(|snapshot| snapshot.migration.finished_at.is_none());
            let mut open: Vec<Snapshot> = open.cloned().collect();
            open.sort_by_key(|snapshot| snapshot.migration.created_at);
            Ok(open)
        })
    }

    fn list(&self, limit: i64) -> Answer<'_, Vec<Migration>> {
        self.answer(|state| {
            let all = state.migrations.values();
            let mut all: Vec<Migration> = all.map(|s| s.migration.clone()).collect();
            all.sort_by_key(|migration| std::cmp::Reverse(migration.created_at));
            all.truncate(usize::try_from(limit).unwrap_or_default());
            Ok(all)
        })
    }

    fn commit<'a>(&'a self, change: &'a Change) -> Answer<'a, bool> {
        self.answer(|state| {
            if state.sealed.contains(&change.migration.id) {
                return Err(StoreError::Busy);
            }
            Ok(state.apply(change))
        })
    }

    fn seal<'a>(&'a self, id: &'a MigrationId) -> Answer<'a, Box<dyn Sealed>> {
        self.answer(|state| {
            let snapshot = state.migrations.get(id).cloned();
            let snapshot = snapshot.ok_or_else(|| missing("migration", id.as_str()))?;
            let map = state.current(&snapshot.migration.plan.map).cloned();
            let map = map.ok_or_else(|| missing("map", id.as_str()))?;
            if !state.sealed.insert(id.clone()) {
                return Err(StoreError::Busy);
            }
            let sealed: Box<dyn Sealed> = Box::new(MemorySealed {
                store: self.clone(),
                snapshot,
                map,
            });
            Ok(sealed)
        })
    }

    fn extend_lease<'a>(
        &'a self,
        id: &'a MigrationId,
        instance: &'a InstanceId,
        until: DateTime<Utc>,
        progress: Option<(&'a StepId, &'a serde_json::Value)>,
    ) -> Answer<'a, bool> {
        self.answer(|state| {
            let Some(stored) = state.migrations.get_mut(id) else {
                return Ok(false);
            };
            let owner = stored.migration.owner.as_ref();
            if owner.is_none_or(|owner| &owner.instance != instance) {
                return Ok(false);
            }
            stored.lease_until = stored.lease_until.max(Some(until));
            if let Some((id, figures)) = progress {
                for step in stored.steps.iter_mut().filter(|step| &step.id == id) {
                    step.progress = Some(figures.clone());
                }
            }
            Ok(true)
        })
    }

    fn events<'a>(&'a self, id: &'a MigrationId, after: i64, limit: i64) -> Answer<'a, Vec<Event>> {
        self.answer(|state| {
            let all = state.events.get(id).into_iter().flatten();
            let later = all.filter(|event| event.seq > after);
            let limit = usize::try_from(limit).unwrap_or_default();
            Ok(later.take(limit).cloned().collect())
        })
    }

    fn add_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
    ) -> Answer<'a, ()> {
        self.answer(|state| {
            let kept = state.cleanup.entry(id.clone()).or_default();
            for record in records {
                let fresh = CleanupRecord {
                    done_at: None,
                    ..record.clone()
                };
                match kept.iter_mut().find(|old| same_object(old, record)) {
                    Some(old) => *old = fresh,
                    None => kept.push(fresh),
                }
            }
            Ok(())
        })
    }

    fn finish_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
        at: DateTime<Utc>,
    ) -> Answer<'a, ()> {
        self.answer(|state| {
            for kept in state.cleanup.get_mut(id).into_iter().flatten() {
                if records.iter().any(|record| same_object(kept, record)) {
                    kept.done_at = kept.done_at.or(Some(at));
                }
            }
            Ok(())
        })
    }

    fn cleanup<'a>(&'a self, id: &'a MigrationId) -> Answer<'a, Vec<CleanupRecord>> {
        self.answer(|state| Ok(state.cleanup.get(id).cloned().unwrap_or_default()))
    }

    fn see_agent<'a>(
        &'a self,
        agent: &'a AgentName,
        instance: &'a InstanceId,
        at: DateTime<Utc>,
    ) -> Answer<'a, bool> {
        self.answer(|state| {
            let record = AgentRecord {
                name: agent.clone(),
                instance: instance.clone(),
                last_seen: at,
            };
            let before = state.agents.insert(agent.clone(), record);
            Ok(before.is_none_or(|before| &before.instance != instance))
        })
    }

    fn agents(&self) -> Answer<'_, Vec<AgentRecord>> {
        self.answer(|state| Ok(state.agents.values().cloned().collect()))
    }
}

#[derive(Debug)]
struct MemorySealed {
    store: MemoryStore,
    snapshot: Snapshot,
    map: ShardMap,
}

impl Sealed for MemorySealed {
    fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn map(&self) -> &ShardMap {
        &self.map
    }

    fn flip<'a>(self: Box<Self>, change: &'a Change, map: &'a ShardMap) -> Answer<'a, ()>
    where
        Self: 'a,
    {
        self.store.clone().answer(move |state| {
            if !state.apply(change) {
                return Err(StoreError::Busy);
            }
            state.add_version(map, change.migration.id.as_str())
        })
    }

    fn release(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Drop for MemorySealed {
    fn drop(&mut self) {
        self.store
            .state()
            .sealed
            .remove(&self.snapshot.migration.id);
    }
}

fn upsert(steps: &mut Vec<Step>, step: &Step) {
    match steps.iter_mut().find(|old| old.id == step.id) {
        Some(old) => *old = step.clone(),
        None => steps.push(step.clone()),
    }
}

fn same_object(a: &CleanupRecord, b: &CleanupRecord) -> bool {
    (&a.shard, &a.kind, &a.name) == (&b.shard, &b.kind, &b.name)
}

fn exists(what: &'static str, name: &str) -> StoreError {
    let name = name.to_owned();
    StoreError::Exists { what, name }
}

fn missing(what: &'static str, name: &str) -> StoreError {
    let name = name.to_owned();
    StoreError::Missing { what, name }
}
