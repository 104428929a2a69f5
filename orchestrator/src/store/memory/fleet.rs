//! Shards and maps in memory.

use super::MemoryStore;
use super::state::MemoryState;
use super::{exists_error, missing_error};
use crate::store::pieces::{AllowedOwners, MapDelta, piece_count};
use crate::store::{
    MapStore, MapVersionRecord, NewShard, SettingsRecord, ShardRecord, ShardStore, ShardUpdate,
    StoreError, StoreFuture,
};
use chrono::Utc;
use plans::fleet::StandbySlot;
use plans::id::{MapName, MapVersion, MigrationId, ShardName};
use plans::inspection::inventory::ObservedServer;
use plans::shard_map::ShardMap;
use std::sync::Arc;

impl MemoryState {
    /// Returns the version in force of a map with the settings in force.
    pub(super) fn map_in_force(&self, name: &MapName) -> Option<ShardMap> {
        let (map, _) = self.maps.get(name)?.versions.last()?;
        self.at_version(name, map.version)
    }

    pub(super) fn at_version(&self, name: &MapName, version: MapVersion) -> Option<ShardMap> {
        let history = self.maps.get(name).filter(|history| !history.is_removed)?;
        let mut versions = history.versions.iter();
        let (map, _) =
            versions.find(|(map, _)| map.version == version && version >= history.first_version)?;
        Some(ShardMap {
            settings: history.settings.last()?.settings.clone(),
            ..map.clone()
        })
    }

    pub(super) fn version_in_force(&self, name: &MapName) -> Result<MapVersion, StoreError> {
        let map = self.map_in_force(name);
        let map = map.ok_or_else(|| missing_error("map", name.as_str()))?;
        Ok(map.version)
    }

    /// Fails for the first shard that is not registered.
    pub(super) fn check_registered<'a>(
        &self,
        mut names: impl Iterator<Item = &'a ShardName>,
    ) -> Result<(), StoreError> {
        let absent = names.find(|name| !self.shards.contains_key(*name));
        absent.map_or(Ok(()), |name| Err(missing_error("shard", name.as_str())))
    }

    pub(super) fn add_shard(&mut self, new: &NewShard) -> Result<ShardRecord, StoreError> {
        if self.shards.contains_key(&new.name) {
            return Err(exists_error("shard", new.name.as_str()));
        }
        self.last_number += 1;
        let record = ShardRecord {
            name: new.name.clone(),
            number: self.last_number,
            dsn: new.dsn.clone(),
            labels: new.labels.clone(),
            capacity: new.capacity,
            space: new.space,
            created_at: Utc::now(),
            identity: None,
        };
        self.shards.insert(new.name.clone(), record.clone());
        Ok(record)
    }

    pub(super) fn update_shard(&mut self, update: &ShardUpdate) -> Result<ShardRecord, StoreError> {
        let shard = self.shards.get_mut(&update.name);
        let shard = shard.ok_or_else(|| missing_error("shard", update.name.as_str()))?;
        shard.labels = update.labels.clone();
        shard.capacity = update.capacity;
        shard.space = update.space;
        if let Some(dsn) = &update.dsn {
            shard.dsn.clone_from(dsn);
        }
        self.shard(&update.name)
            .ok_or_else(|| missing_error("shard", update.name.as_str()))
    }

    /// Returns a registered shard with the identity of its database, if that is known.
    pub(super) fn shard(&self, name: &ShardName) -> Option<ShardRecord> {
        let shard = self.shards.get(name)?.clone();
        let server = self.servers.get(&shard.number);
        let identity = server.map(|server| server.server.clone());
        Some(ShardRecord { identity, ..shard })
    }

    pub(super) fn remove_shard(&mut self, name: &ShardName) -> Result<(), StoreError> {
        self.check_registered(std::iter::once(name))?;
        let mut in_force = self
            .maps
            .values()
            .filter_map(|history| history.versions.last());
        let user = in_force.find(|(map, _)| map.mappings.iter().any(|m| &m.shard == name));
        if let Some((map, _)) = user {
            return Err(StoreError::ShardInUse {
                shard: name.clone(),
                map: map.name.clone(),
            });
        }
        let mut open = self.migrations.values().map(|s| &s.migration);
        let mover = open.find(|m| {
            let moving = &m.plan.moving;
            m.finished_at.is_none() && [&moving.source, &moving.target].contains(&name)
        });
        if let Some(m) = mover {
            return Err(StoreError::ShardMoving {
                shard: name.clone(),
                migration: m.id.clone(),
            });
        }
        if let Some(removed) = self.shards.remove(name) {
            self.servers.remove(&removed.number);
        }
        Ok(())
    }

    pub(super) fn create_map(
        &mut self,
        map: &ShardMap,
        by: &str,
    ) -> Result<MapVersion, StoreError> {
        if self.map_in_force(&map.name).is_some() {
            return Err(exists_error("map", map.name.as_str()));
        }
        let removed = self.maps.get(&map.name);
        let last = removed.and_then(|history| Some(history.versions.last()?.0.version));
        let map = &ShardMap {
            version: last.map_or(MapVersion(1), MapVersion::next),
            ..map.clone()
        };
        self.add_version(map, None, by)?;
        let history = self.maps.entry(map.name.clone()).or_default();
        history.is_removed = false;
        history.first_version = map.version;
        let revisions = history.settings.last().map_or(0, |last| last.revision);
        history.settings.push(SettingsRecord {
            map: map.name.clone(),
            revision: revisions + 1,
            settings: map.settings.clone(),
            by: by.to_owned(),
            created_at: Utc::now(),
        });
        Ok(map.version)
    }

    pub(super) fn remove_map(&mut self, name: &MapName, by: &str) -> Result<(), StoreError> {
        self.check_not_converting(name)?;
        let map = self.map_in_force(name);
        let map = map.ok_or_else(|| missing_error("map", name.as_str()))?;
        let mut migrations = self.migrations.values().map(|s| &s.migration);
        if let Some(first) = migrations.find(|m| &m.plan.map == name) {
            return Err(StoreError::MapMoved {
                map: name.clone(),
                migration: first.id.clone(),
            });
        }
        let empty = ShardMap {
            version: map.version.next(),
            mappings: Vec::new(),
            ..map
        };
        self.add_version(&empty, None, by)?;
        let history = self.maps.entry(name.clone()).or_default();
        history.is_removed = true;
        Ok(())
    }

    pub(super) fn put_version(
        &mut self,
        map: &ShardMap,
        by: &str,
        owners: AllowedOwners,
    ) -> Result<(), StoreError> {
        self.check_unlocked(&map.name)?;
        let before = self.map_in_force(&map.name);
        let before = before.ok_or_else(|| missing_error("map", map.name.as_str()))?;
        if before.version.next() != map.version {
            return Err(StoreError::MapVersion {
                map: map.name.clone(),
                current: before.version.0,
                expected: map.version.0 - 1,
            });
        }
        let reassigned = MapDelta::between(&before, map).reassigned_keys(before.empty_key_set());
        let moved = self.migration_moving(&map.name, &reassigned);
        if let Some(migration) = moved.filter(|_| owners == AllowedOwners::Checked) {
            return Err(StoreError::KeysMoving { migration });
        }
        self.add_version(map, None, by)
    }

    pub(super) fn add_version(
        &mut self,
        map: &ShardMap,
        migration: Option<&MigrationId>,
        by: &str,
    ) -> Result<(), StoreError> {
        let delta = match self.map_in_force(&map.name) {
            Some(before) => MapDelta::between(&before, map),
            None => MapDelta::first(map),
        };
        self.check_registered(delta.added.iter().map(|piece| &piece.shard))?;
        let history = self.maps.entry(map.name.clone()).or_default();
        let pieces = history
            .versions
            .last()
            .map_or(0, |(_, record)| record.pieces);
        let (added, removed) = (piece_count(&delta.added), piece_count(&delta.removed));
        let record = MapVersionRecord {
            version: map.version,
            created_at: Utc::now(),
            by: by.to_owned(),
            migration: migration.cloned(),
            pieces: pieces + added - removed,
            added,
            removed,
        };
        let map = ShardMap {
            migration: migration.cloned(),
            ..map.clone()
        };
        history.versions.push((map, record));
        Ok(())
    }

    pub(super) fn put_settings(&mut self, new: &SettingsRecord) -> Result<(), StoreError> {
        self.check_unlocked(&new.map)?;
        let history = self.maps.get_mut(&new.map);
        let history = history.ok_or_else(|| missing_error("map", new.map.as_str()))?;
        let current = history.settings.last().map_or(0, |record| record.revision);
        if new.revision != current + 1 {
            return Err(StoreError::SettingsRevision {
                map: new.map.clone(),
                current,
                expected: new.revision - 1,
            });
        }
        history.settings.push(new.clone());
        Ok(())
    }
}

impl ShardStore for MemoryStore {
    fn add_shard<'a>(&'a self, new: &'a NewShard) -> StoreFuture<'a, ShardRecord> {
        self.write(|state| state.add_shard(new))
    }

    fn update_shard<'a>(&'a self, update: &'a ShardUpdate) -> StoreFuture<'a, ShardRecord> {
        self.write(|state| state.update_shard(update))
    }

    fn shards(&self) -> StoreFuture<'_, Vec<ShardRecord>> {
        self.run(|state| {
            Ok(state
                .shards
                .keys()
                .filter_map(|name| state.shard(name))
                .collect())
        })
    }

    fn shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, Option<ShardRecord>> {
        self.run(|state| Ok(state.shard(name)))
    }

    fn remove_shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, ()> {
        self.write(|state| state.remove_shard(name))
    }

    fn add_standby_slot<'a>(&'a self, slot: &'a StandbySlot) -> StoreFuture<'a, ()> {
        self.write(|state| {
            if state
                .standby_slots
                .iter()
                .any(|known| known.slot == slot.slot)
            {
                return Err(exists_error("standby slot", &slot.slot));
            }
            state.standby_slots.push(slot.clone());
            Ok(())
        })
    }

    fn standby_slots(&self) -> StoreFuture<'_, Vec<StandbySlot>> {
        self.run(|state| Ok(state.standby_slots.clone()))
    }

    fn remove_standby_slot<'a>(&'a self, slot: &'a str) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.standby_slots.retain(|known| known.slot != slot);
            Ok(())
        })
    }

    fn servers(&self) -> StoreFuture<'_, Vec<ObservedServer>> {
        self.run(|state| Ok(state.servers.values().cloned().collect()))
    }

    fn put_server<'a>(&'a self, server: &'a ObservedServer) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.servers.insert(server.number, server.clone());
            Ok(())
        })
    }
}

impl MapStore for MemoryStore {
    fn create_map<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, MapVersion> {
        self.write(|state| state.create_map(map, by))
    }

    fn remove_map<'a>(&'a self, name: &'a MapName, by: &'a str) -> StoreFuture<'a, ()> {
        self.write(|state| state.remove_map(name, by))
    }

    fn put_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()> {
        self.write(|state| state.put_version(map, by, AllowedOwners::Checked))
    }

    fn put_proven_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()> {
        self.write(|state| state.put_version(map, by, AllowedOwners::Proven))
    }

    fn maps(&self) -> StoreFuture<'_, Vec<Arc<ShardMap>>> {
        self.run(|state| {
            let names = state.maps.keys();
            let maps = names.filter_map(|name| state.map_in_force(name));
            Ok(maps.map(Arc::new).collect())
        })
    }

    fn map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Option<Arc<ShardMap>>> {
        self.run(|state| Ok(state.map_in_force(name).map(Arc::new)))
    }

    fn map_at<'a>(
        &'a self,
        name: &'a MapName,
        version: MapVersion,
    ) -> StoreFuture<'a, Option<Arc<ShardMap>>> {
        self.run(|state| Ok(state.at_version(name, version).map(Arc::new)))
    }

    fn history<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<MapVersionRecord>> {
        self.run(|state| {
            let history = state.maps.get(name).filter(|history| !history.is_removed);
            let versions = history.into_iter().flat_map(|history| {
                let is_own = |record: &&MapVersionRecord| record.version >= history.first_version;
                history
                    .versions
                    .iter()
                    .map(|(_, record)| record)
                    .filter(is_own)
            });
            Ok(versions.cloned().collect())
        })
    }

    fn shards_of_map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<ShardName>> {
        self.run(|state| Ok(state.shards_of_map(name)))
    }

    fn put_settings<'a>(&'a self, new: &'a SettingsRecord) -> StoreFuture<'a, ()> {
        self.write(|state| state.put_settings(new))
    }

    fn settings<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<SettingsRecord>> {
        self.run(|state| {
            let history = state.maps.get(name).into_iter();
            let revisions = history.flat_map(|history| history.settings.iter().rev());
            Ok(revisions.cloned().collect())
        })
    }
}
