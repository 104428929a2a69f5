//! The data of the store in memory: operations, migrations and the locks of sealed migrations.

use super::missing_error;
use crate::access::SecretDigest;
use crate::store::{
    AgentProcess, AgentRecord, AuditRecord, CleanupRecord, ConversionRecord, EarlierCommand, Event,
    FigureReading, Leader, MapVersionRecord, Migration, MigrationChange, NewEvent, NewOperation,
    OperationRecord, OwnerBeat, Registered, SessionRecord, SettingsRecord, ShardRecord, Snapshot,
    Step, StoreError, TokenRecord,
};
use chrono::{DateTime, Utc};
use plans::fleet::StandbySlot;
use plans::id::{AgentName, InstanceId, MapName, MapVersion, MigrationId, ShardName};
use plans::inspection::inventory::ObservedServer;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct MemoryState {
    pub(super) leader: Option<Leader>,
    pub(super) shards: BTreeMap<ShardName, ShardRecord>,
    pub(super) last_number: i32,
    pub(super) maps: BTreeMap<MapName, MapHistory>,
    /// The conversions of maps, oldest first.
    pub(super) conversions: Vec<ConversionRecord>,
    pub(super) operations: BTreeMap<MigrationId, NewOperation>,
    pub(super) migrations: BTreeMap<MigrationId, Snapshot>,
    pub(super) events: BTreeMap<MigrationId, Vec<Event>>,
    pub(super) readings: BTreeMap<MigrationId, Vec<FigureReading>>,
    pub(super) cleanup: BTreeMap<MigrationId, Vec<CleanupRecord>>,
    /// Each agent, with the digest of its process's key.
    pub(super) agents: BTreeMap<AgentName, (AgentRecord, Option<SecretDigest>)>,
    pub(super) audit: Vec<AuditRecord>,
    pub(super) tokens: Vec<TokenRecord>,
    pub(super) sessions: BTreeMap<SecretDigest, SessionRecord>,
    /// Commands with an idempotency key, with the time at which each began.
    pub(super) keyed_commands: BTreeMap<SecretDigest, (DateTime<Utc>, EarlierCommand)>,
    pub(super) servers: BTreeMap<i32, ObservedServer>,
    /// The recorded slots of standbys, oldest first.
    pub(super) standby_slots: Vec<StandbySlot>,
    /// For each time of a sample, the imbalance by each measure.
    pub(super) imbalance: BTreeMap<DateTime<Utc>, BTreeMap<String, f64>>,
    /// For each hook and migration: the number of the last event of which the hook was notified, and the revision.
    pub(super) hooks: BTreeMap<String, BTreeMap<MigrationId, (i64, i64)>>,
    /// Sealed migrations with their maps, which are locked too.
    pub(super) sealed: BTreeMap<MigrationId, MapName>,
}

/// All versions of one map, and all revisions of its settings, oldest first.
#[derive(Debug, Default)]
pub(super) struct MapHistory {
    pub(super) versions: Vec<(ShardMap, MapVersionRecord)>,
    /// The first version of the map. Those before it belong to a removed map of this name.
    pub(super) first_version: MapVersion,
    pub(super) is_removed: bool,
    pub(super) settings: Vec<SettingsRecord>,
}

impl MemoryState {
    /// Returns the registered shards that occur in any version of the map or in any migration of it.
    pub(super) fn shards_of_map(&self, name: &MapName) -> Vec<ShardName> {
        let versions = self
            .maps
            .get(name)
            .into_iter()
            .flat_map(|kept| &kept.versions);
        let mut named: BTreeSet<ShardName> = versions.flat_map(|(map, _)| map.shards()).collect();
        let plans = self.migrations.values().map(|s| &s.migration.plan);
        for plan in plans.filter(|plan| &plan.map == name) {
            named.extend([plan.moving.source.clone(), plan.moving.target.clone()]);
        }
        named.retain(|shard| self.shards.contains_key(shard));
        named.into_iter().collect()
    }

    /// Fails with `Busy` while a sealed migration locks the map, and while the map is being converted.
    pub(super) fn check_unlocked(&self, map: &MapName) -> Result<(), StoreError> {
        self.check_not_converting(map)?;
        let is_locked = self.sealed.values().any(|sealed| sealed == map);
        if is_locked {
            Err(StoreError::Busy)
        } else {
            Ok(())
        }
    }

    /// Returns an unfinished migration that moves some of `keys`, if one exists.
    pub(super) fn migration_moving(&self, map: &MapName, keys: &KeySet) -> Option<MigrationId> {
        let mut all = self.migrations.values();
        let other = all.find(|s| s.migration.moves_any_of(map, keys))?;
        Some(other.migration.id.clone())
    }

    pub(super) fn submit(&mut self, new: &NewOperation) -> Result<Vec<Snapshot>, StoreError> {
        let plan = &new.plan;
        self.check_unlocked(&plan.map)?;
        let current = self.version_in_force(&plan.map)?;
        if !new.queue {
            let mut moves = plan.moves.iter();
            let other = moves.find_map(|m| self.migration_moving(&plan.map, &m.moving.keys));
            if let Some(migration) = other {
                return Err(StoreError::KeysMoving { migration });
            }
            if current != new.map_version {
                return Err(StoreError::MapVersion {
                    map: plan.map.clone(),
                    current: current.0,
                    expected: new.map_version.0,
                });
            }
        }
        let moves = plan.moves.iter();
        let names: BTreeSet<&ShardName> = moves
            .flat_map(|m| [&m.moving.source, &m.moving.target])
            .collect();
        self.check_registered(names.into_iter())?;
        let snapshots = new.snapshots();
        let mut ids = snapshots.iter().map(|s| &s.migration.id);
        let existing = ids.find(|id| self.migrations.contains_key(*id));
        let existing = existing.or_else(|| self.operations.get(&new.id).map(|o| &o.id));
        if let Some(id) = existing {
            return Err(StoreError::Exists {
                what: "migration",
                name: id.to_string(),
            });
        }
        self.operations.insert(new.id.clone(), new.clone());
        for snapshot in &snapshots {
            let id = &snapshot.migration.id;
            self.migrations.insert(id.clone(), snapshot.clone());
            self.append_events(id, &[new.event()]);
        }
        Ok(snapshots)
    }

    pub(super) fn operation(&self, id: &MigrationId) -> Option<OperationRecord> {
        let operation = self.operations.get(id)?;
        let all = self.migrations.values().map(|s| &s.migration);
        let mut migrations: Vec<Migration> = all.filter(|m| &m.operation == id).cloned().collect();
        migrations.sort_by_key(|m| m.ordinal);
        Some(OperationRecord {
            id: id.clone(),
            plan: operation.plan.clone(),
            queued: operation.queue,
            override_reason: operation.override_reason.clone(),
            submitted_by: operation.by.clone(),
            created_at: operation.at,
            migrations,
        })
    }

    fn append_events(&mut self, id: &MigrationId, events: &[NewEvent]) {
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

    /// Applies a change if the migration still has its revision. Returns `false`, and changes nothing, if it has not.
    pub(super) fn apply(&mut self, change: &MigrationChange) -> Result<bool, StoreError> {
        let id = &change.migration.id;
        let stored = self.migrations.get(id);
        if stored.is_none_or(|stored| stored.migration.revision != change.from_revision) {
            return Ok(false);
        }
        if let Some(migration) = self.rival(&change.migration) {
            return Err(StoreError::KeysMoving { migration });
        }
        let Some(stored) = self.migrations.get_mut(id) else {
            return Ok(false);
        };
        stored.migration = change.migration.clone();
        stored.migration.revision = change.from_revision + 1;
        for step in &change.steps {
            upsert_step(&mut stored.steps, step);
        }
        match &change.migration.owner {
            None => stored.lease_until = None,
            Some(_) => stored.lease_until = change.lease_until.or(stored.lease_until),
        }
        self.append_events(id, &change.events);
        Ok(true)
    }

    /// Extends one lease. Returns `false` if another process holds it.
    pub(super) fn extend_lease(
        &mut self,
        instance: &InstanceId,
        until: DateTime<Utc>,
        beat: &OwnerBeat,
    ) -> bool {
        let Some(stored) = self.migrations.get_mut(&beat.migration) else {
            return false;
        };
        let owner = stored.migration.owner.as_ref();
        if owner.is_none_or(|owner| &owner.instance != instance) {
            return false;
        }
        stored.lease_until = stored.lease_until.max(Some(until));
        if let Some((id, figures)) = &beat.figures {
            for step in stored.steps.iter_mut().filter(|step| &step.id == id) {
                step.progress = Some(figures.clone());
            }
        }
        let readings = self.readings.entry(beat.migration.clone()).or_default();
        readings.extend(beat.reading.clone());
        true
    }

    /// Registers a process under its agent's name if it may have the name.
    pub(super) fn note_agent(
        &mut self,
        process: &AgentProcess,
        at: DateTime<Utc>,
        silent_since: Option<DateTime<Utc>>,
    ) -> Registered {
        let known = self.agents.get(&process.name);
        let is_same_process = known.is_some_and(|(known, _)| known.instance == process.instance);
        if let Some((known, key)) = known {
            let is_free = if is_same_process {
                key.is_none() || *key == process.key
            } else {
                silent_since.is_some_and(|since| known.last_seen < since)
                    || key.is_some_and(|key| process.outlived.contains(&key))
            };
            if !is_free {
                return Registered::InUse(known.clone());
            }
        }
        let host = known
            .filter(|_| is_same_process)
            .and_then(|(known, _)| known.host.clone());
        let record = AgentRecord {
            name: process.name.clone(),
            instance: process.instance.clone(),
            last_seen: at,
            host: process.host.clone().or(host),
        };
        self.agents
            .insert(process.name.clone(), (record, process.key));
        if is_same_process {
            Registered::Known
        } else {
            Registered::New
        }
    }

    pub(super) fn remove_agent(
        &mut self,
        name: &AgentName,
        silent_since: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let known = self.agents.get(name);
        let (known, _) = known.ok_or_else(|| missing_error("agent", name.as_str()))?;
        if known.last_seen >= silent_since {
            return Err(StoreError::AgentAlive {
                agent: name.clone(),
                last_seen: known.last_seen,
            });
        }
        let mut all = self.migrations.values().map(|s| &s.migration);
        let assigned = all.find(|m| {
            let owner = m.owner.as_ref().map(|owner| &owner.agent);
            m.finished_at.is_none() && owner == Some(name)
        });
        if let Some(m) = assigned {
            return Err(StoreError::AgentAssigned {
                agent: name.clone(),
                migration: m.id.clone(),
            });
        }
        self.agents.remove(name);
        Ok(())
    }

    pub(super) fn add_cleanup(&mut self, id: &MigrationId, records: &[CleanupRecord]) {
        let known = self.cleanup.entry(id.clone()).or_default();
        for record in records {
            let fresh = CleanupRecord {
                done_at: None,
                ..record.clone()
            };
            match known.iter_mut().find(|old| same_object(old, record)) {
                Some(old) => *old = fresh,
                None => known.push(fresh),
            }
        }
    }

    pub(super) fn finish_cleanup(
        &mut self,
        id: &MigrationId,
        records: &[CleanupRecord],
        at: DateTime<Utc>,
    ) {
        for kept in self.cleanup.get_mut(id).into_iter().flatten() {
            if records.iter().any(|record| same_object(kept, record)) {
                kept.done_at = kept.done_at.or(Some(at));
            }
        }
    }

    /// Returns another started migration that moves some of the keys of `m`, if `m` has started.
    fn rival(&self, m: &Migration) -> Option<MigrationId> {
        let mut others = self.migrations.values().map(|s| &s.migration);
        let other = others.find(|other| {
            other.id != m.id
                && other.holds_keys()
                && other.moves_any_of(&m.plan.map, &m.plan.moving.keys)
        });
        other.filter(|_| m.holds_keys()).map(|m| m.id.clone())
    }

    /// Marks a migration as sealed, and returns it with its map.
    pub(super) fn seal(&mut self, id: &MigrationId) -> Result<(Snapshot, ShardMap), StoreError> {
        let snapshot = self.migrations.get(id).cloned();
        let snapshot = snapshot.ok_or_else(|| missing_error("migration", id.as_str()))?;
        let name = &snapshot.migration.plan.map;
        let map = self.map_in_force(name);
        let map = map.ok_or_else(|| missing_error("map", name.as_str()))?;
        self.check_unlocked(name)?;
        self.sealed.insert(id.clone(), name.clone());
        Ok((snapshot, map))
    }
}

fn upsert_step(steps: &mut Vec<Step>, step: &Step) {
    match steps.iter_mut().find(|old| old.id == step.id) {
        Some(old) => *old = step.clone(),
        None => steps.push(step.clone()),
    }
}

fn same_object(a: &CleanupRecord, b: &CleanupRecord) -> bool {
    (&a.shard, &a.kind, &a.name) == (&b.shard, &b.kind, &b.name)
}
