//! Conversions of the store in memory.

use super::state::MemoryState;
use super::{MemoryStore, missing_error};
use crate::store::{ConversionRecord, ConversionStore, SettingsRecord, StoreError, StoreFuture};
use chrono::{DateTime, Utc};
use plans::id::{MapName, MigrationId};
use plans::shard_map::ShardMap;

impl MemoryState {
    /// Fails while the map is being converted.
    pub(super) fn check_not_converting(&self, map: &MapName) -> Result<(), StoreError> {
        let mut conversions = self.conversions.iter();
        let unfinished = conversions.find(|c| &c.map == map && c.finished_at.is_none());
        unfinished.map_or(Ok(()), |conversion| {
            Err(StoreError::Converting {
                map: map.clone(),
                conversion: conversion.id.clone(),
            })
        })
    }

    fn begin_conversion(
        &mut self,
        new: &ConversionRecord,
        revision: i64,
    ) -> Result<(), StoreError> {
        self.check_unlocked(&new.map)?;
        let current = self.map_in_force(&new.map);
        let current = current.ok_or_else(|| missing_error("map", new.map.as_str()))?;
        if current.version != new.before {
            return Err(StoreError::MapVersion {
                map: new.map.clone(),
                current: current.version.0,
                expected: new.before.0,
            });
        }
        let history = self.maps.get(&new.map);
        let in_force = history.and_then(|history| Some(history.settings.last()?.revision));
        let in_force = in_force.unwrap_or(0);
        if in_force != revision {
            return Err(StoreError::SettingsRevision {
                map: new.map.clone(),
                current: in_force,
                expected: revision,
            });
        }
        let mut migrations = self.migrations.values().map(|s| &s.migration);
        let unfinished = migrations.find(|m| m.plan.map == new.map && m.finished_at.is_none());
        if let Some(unfinished) = unfinished {
            return Err(StoreError::KeysMoving {
                migration: unfinished.id.clone(),
            });
        }
        self.conversions.push(new.clone());
        Ok(())
    }

    /// Returns the unfinished conversion with this id.
    fn unfinished_conversion(
        &mut self,
        id: &MigrationId,
    ) -> Result<&mut ConversionRecord, StoreError> {
        let mut conversions = self.conversions.iter_mut();
        let found = conversions.find(|c| &c.id == id && c.finished_at.is_none());
        found.ok_or_else(|| StoreError::ConversionEnded {
            conversion: id.clone(),
        })
    }

    fn put_converted(
        &mut self,
        conversion: &ConversionRecord,
        map: &ShardMap,
    ) -> Result<(), StoreError> {
        let version = conversion.before.next();
        let own = self.unfinished_conversion(&conversion.id)?;
        if own.epoch != conversion.epoch || own.version.is_some() {
            return Err(StoreError::ConversionEnded {
                conversion: conversion.id.clone(),
            });
        }
        let map = ShardMap {
            version,
            ..map.clone()
        };
        self.add_version(&map, None, &conversion.by)?;
        let history = self.maps.entry(map.name.clone()).or_default();
        let revision = history.settings.last().map_or(0, |last| last.revision);
        history.settings.push(SettingsRecord {
            map: map.name.clone(),
            revision: revision + 1,
            settings: map.settings.clone(),
            by: conversion.by.clone(),
            created_at: Utc::now(),
        });
        self.unfinished_conversion(&conversion.id)?.version = Some(version);
        Ok(())
    }
}

impl ConversionStore for MemoryStore {
    fn begin_conversion<'a>(
        &'a self,
        new: &'a ConversionRecord,
        revision: i64,
    ) -> StoreFuture<'a, ()> {
        self.write(|state| state.begin_conversion(new, revision))
    }

    fn take_conversion<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, ConversionRecord> {
        self.write(|state| {
            let conversion = state.unfinished_conversion(id)?;
            conversion.epoch.0 += 1;
            Ok(conversion.clone())
        })
    }

    fn put_converted<'a>(
        &'a self,
        conversion: &'a ConversionRecord,
        map: &'a ShardMap,
    ) -> StoreFuture<'a, ()> {
        self.write(|state| state.put_converted(conversion, map))
    }

    fn finish_conversion<'a>(
        &'a self,
        conversion: &'a ConversionRecord,
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, ()> {
        self.write(|state| {
            let own = state.unfinished_conversion(&conversion.id);
            if let Some(own) = own.ok().filter(|own| own.epoch == conversion.epoch) {
                own.finished_at = Some(at);
            }
            Ok(())
        })
    }

    fn conversions(&self) -> StoreFuture<'_, Vec<ConversionRecord>> {
        self.run(|state| Ok(state.conversions.iter().rev().cloned().collect()))
    }
}
