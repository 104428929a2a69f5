//! Shards and maps in memory.

use super::state::MemoryState;
use super::{exists, missing};
use crate::store::pieces::{AllowedOwners, MapDelta, count};
use crate::store::{
    MapVersionRecord, NewShard, SettingsRecord, ShardRecord, ShardUpdate, StoreError,
};
use chrono::Utc;
use plans::id::{MapName, MapVersion, MigrationId, ShardName};
use plans::shard_map::ShardMap;

impl MemoryState {
    /// Returns the version in force of a map with the settings in force.
    pub(super) fn current(&self, name: &MapName) -> Option<ShardMap> {
        let (map, _) = self.maps.get(name)?.versions.last()?;
        self.at_version(name, map.version)
    }

    pub(super) fn at_version(&self, name: &MapName, version: MapVersion) -> Option<ShardMap> {
        let kept = self.maps.get(name)?;
        let mut versions = kept.versions.iter();
        let (map, _) = versions.find(|(map, _)| map.version == version)?;
        Some(ShardMap {
            settings: kept.settings.last()?.settings.clone(),
            ..map.clone()
        })
    }

    pub(super) fn version_in_force(&self, name: &MapName) -> Result<MapVersion, StoreError> {
        let map = self.current(name);
        let map = map.ok_or_else(|| missing("map", name.as_str()))?;
        Ok(map.version)
    }

    /// Fails for the first shard that is not registered.
    pub(super) fn registered<'a>(
        &self,
        mut names: impl Iterator<Item = &'a ShardName>,
    ) -> Result<(), StoreError> {
        let absent = names.find(|name| !self.shards.contains_key(*name));
        absent.map_or(Ok(()), |name| Err(missing("shard", name.as_str())))
    }

    pub(super) fn add_shard(&mut self, new: &NewShard) -> Result<ShardRecord, StoreError> {
        if self.shards.contains_key(&new.name) {
            return Err(exists("shard", new.name.as_str()));
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
        let shard = shard.ok_or_else(|| missing("shard", update.name.as_str()))?;
        shard.labels = update.labels.clone();
        shard.capacity = update.capacity;
        shard.space = update.space;
        if let Some(dsn) = &update.dsn {
            shard.dsn.clone_from(dsn);
        }
        self.shard(&update.name)
            .ok_or_else(|| missing("shard", update.name.as_str()))
    }

    /// Returns a registered shard with the identity of its database, if that is known.
    pub(super) fn shard(&self, name: &ShardName) -> Option<ShardRecord> {
        let shard = self.shards.get(name)?.clone();
        let server = self.servers.get(&shard.number);
        let identity = server.map(|server| server.server.clone());
        Some(ShardRecord { identity, ..shard })
    }

    pub(super) fn remove_shard(&mut self, name: &ShardName) -> Result<(), StoreError> {
        self.registered(std::iter::once(name))?;
        let mut in_force = self.maps.values().filter_map(|kept| kept.versions.last());
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

    pub(super) fn create_map(&mut self, map: &ShardMap, by: &str) -> Result<(), StoreError> {
        if self.maps.contains_key(&map.name) {
            return Err(exists("map", map.name.as_str()));
        }
        self.add_version(map, None, by)?;
        let kept = self.maps.entry(map.name.clone()).or_default();
        kept.settings.push(SettingsRecord {
            map: map.name.clone(),
            revision: 1,
            settings: map.settings.clone(),
            by: by.to_owned(),
            created_at: Utc::now(),
        });
        Ok(())
    }

    pub(super) fn put_version(
        &mut self,
        map: &ShardMap,
        by: &str,
        owners: AllowedOwners,
    ) -> Result<(), StoreError> {
        self.lock(&map.name)?;
        let before = self.current(&map.name);
        let before = before.ok_or_else(|| missing("map", map.name.as_str()))?;
        if before.version.next() != map.version {
            return Err(StoreError::MapVersion {
                map: map.name.clone(),
                current: before.version.0,
                expected: map.version.0 - 1,
            });
        }
        let reassigned = MapDelta::between(&before, map).reassigned(before.empty_key_set());
        let moved = self.moved_by(&map.name, &reassigned);
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
        let delta = match self.current(&map.name) {
            Some(before) => MapDelta::between(&before, map),
            None => MapDelta::first(map),
        };
        self.registered(delta.added.iter().map(|piece| &piece.shard))?;
        let kept = self.maps.entry(map.name.clone()).or_default();
        let pieces = kept.versions.last().map_or(0, |(_, record)| record.pieces);
        let (added, removed) = (count(&delta.added), count(&delta.removed));
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
        kept.versions.push((map, record));
        Ok(())
    }

    pub(super) fn put_settings(&mut self, new: &SettingsRecord) -> Result<(), StoreError> {
        self.lock(&new.map)?;
        let kept = self.maps.get_mut(&new.map);
        let kept = kept.ok_or_else(|| missing("map", new.map.as_str()))?;
        let current = kept.settings.last().map_or(0, |record| record.revision);
        if new.revision != current + 1 {
            return Err(StoreError::SettingsRevision {
                map: new.map.clone(),
                current,
                expected: new.revision - 1,
            });
        }
        kept.settings.push(new.clone());
        Ok(())
    }
}
