//! Shard maps: created, read, and changed by hand. Only migrations change the owner of keys. An operator can only
//! assign keys that have no owner yet.

use super::marked::MarkedMap;
use super::shards::{check_name, invalid_error};
use super::{ControlError, Controller, clock};
use crate::store::SettingsRecord;
use plans::id::{MapName, MapVersion, ShardName};
use plans::key::{Key, KeyType, accept};
use plans::key_set::KeySet;
use plans::shard_map::{
    DEFAULT_BUCKETS, Difference, MapSettings, Mapping, MappingState, ShardMap, Strategy, difference,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// A map to create.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMap {
    /// The name of the map.
    pub name: MapName,
    /// How the keys are divided: by range, hash or list.
    pub strategy: Strategy,
    /// The types of the key columns.
    pub key: Vec<KeyType>,
    /// The number of virtual shards of a hash map. Default: 4096.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u32>,
    /// Tables, rules, sequences and other settings.
    #[serde(default)]
    pub settings: MapSettings,
    /// The owner of each key set.
    pub mappings: Vec<NewMapping>,
}

/// A mapping: a key set and its owner.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMapping {
    /// The keys.
    pub keys: KeySet,
    /// The shard that owns the keys.
    pub shard: ShardName,
}

/// A change of a map by hand.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "edit", rename_all = "snake_case", deny_unknown_fields)]
pub enum MapEdit {
    /// Joins adjacent mappings of the same shard.
    Join {},
    /// Changes the number of virtual shards of a hash map. Each key keeps its owner.
    Buckets {
        /// The new number, a power of two.
        buckets: u32,
    },
    /// Assigns keys that have no owner to shards.
    Assign {
        /// The new owner of each key set.
        mappings: Vec<NewMapping>,
    },
}

impl NewMap {
    /// Returns version 1 of the map, without the id of a control store. `known` are the registered shards.
    ///
    /// # Errors
    /// An unknown shard, keys with two owners, an empty key set, or contradictory settings.
    pub(crate) fn into_map(self, known: &[ShardName]) -> Result<ShardMap, ControlError> {
        check_name("map", self.name.as_str())?;
        if self.mappings.is_empty() && self.strategy != Strategy::List {
            return Err(invalid_error("the map has no mapping"));
        }
        check_shards(&self.mappings, known)?;
        let hash = self.strategy == Strategy::Hash;
        let map = ShardMap {
            name: self.name,
            strategy: self.strategy,
            key: self.key,
            buckets: self
                .buckets
                .unwrap_or(if hash { DEFAULT_BUCKETS } else { 0 }),
            version: MapVersion(1),
            incarnation: String::new(),
            migration: None,
            settings: MapSettings::default(),
            mappings: self.mappings.into_iter().map(active_mapping).collect(),
        };
        let mut map = map.validated()?;
        map.settings = checked_settings(self.settings, &map)?;
        Ok(map)
    }
}

impl MapEdit {
    /// Returns the map after the change, with the same version number. `known` are the registered shards.
    ///
    /// # Errors
    /// The keys have an owner already, a shard is unknown, or the number of virtual shards is impossible.
    pub(crate) fn apply_to(
        self,
        map: &ShardMap,
        known: &[ShardName],
    ) -> Result<ShardMap, ControlError> {
        let next = match self {
            Self::Join {} => map.clone(),
            Self::Buckets { buckets } => map.with_bucket_count(buckets)?,
            Self::Assign { mappings } => {
                check_shards(&mappings, known)?;
                check_unmapped(map, &mappings)?;
                let mut next = map.clone();
                next.mappings
                    .extend(mappings.into_iter().map(active_mapping));
                next.validated()?
            }
        };
        Ok(next.joined())
    }
}

/// Fails for a single key of a hash map whose virtual shard has an owner: as an exception it would get another owner, and its
/// rows would stay. Other sets with an owner overlap a mapping, which the map itself refuses.
fn check_unmapped(map: &ShardMap, mappings: &[NewMapping]) -> Result<(), ControlError> {
    let mapped = map.mapped();
    for NewMapping { keys, .. } in mappings {
        let keys = map.accepted(keys.clone())?;
        let single = keys.minus(&keys.whole_buckets());
        if single.overlaps(&mapped) {
            let owned = single.intersection(&mapped);
            return Err(invalid_error(&format!(
                "a shard owns {owned} already: move the keys"
            )));
        }
    }
    Ok(())
}

/// Returns the settings of a map after a change. The fields of `change` replace the fields of the settings; a null
/// removes a field. A table that the change lists under `tables` or `through` is removed from the lists that the change
/// does not contain.
///
/// # Errors
/// The settings are unknown or contradictory.
pub(crate) fn settings_after(map: &ShardMap, change: &Value) -> Result<MapSettings, ControlError> {
    let mut merged = serde_json::to_value(&map.settings).unwrap_or_default();
    let (Some(all), Value::Object(change)) = (merged.as_object_mut(), change) else {
        return Err(invalid_error("the settings must be a JSON object"));
    };
    for (field, value) in change {
        if value.is_null() {
            all.remove(field);
        } else {
            all.insert(field.clone(), value.clone());
        }
    }
    let mut settings: MapSettings = serde_json::from_value(merged)
        .map_err(|error| invalid_error(&format!("the settings cannot be read: {error}")))?;
    let (before, after) = (map.settings.keyed_by, settings.keyed_by);
    if before != after {
        return Err(invalid_error(&format!(
            "map {} was created with `keyed_by: {}`, which cannot change to {}: create another map",
            map.name,
            before.name(),
            after.name()
        )));
    }
    settings.remove_from_other_lists(|list| change.contains_key(list));
    checked_settings(settings, map)
}

/// Returns an error if a mapping names a shard that is not registered.
pub(super) fn check_shards(
    mappings: &[NewMapping],
    known: &[ShardName],
) -> Result<(), ControlError> {
    let missing = mappings
        .iter()
        .find(|mapping| !known.contains(&mapping.shard));
    missing.map_or(Ok(()), |mapping| {
        Err(ControlError::missing("shard", mapping.shard.as_str()))
    })
}

/// Returns the name of a map in the audit trail.
pub(super) fn audit_object(map: &MapName) -> String {
    format!("map {map}")
}

impl Controller {
    /// Creates the first version of a map.
    ///
    /// # Errors
    /// An unknown shard, keys with two owners, an empty key set, contradictory settings, or a name that exists already.
    pub async fn create_map(&self, new: NewMap, actor: &str) -> Result<ShardMap, ControlError> {
        let shards = self.inner.store.shards().await?;
        let names: Vec<ShardName> = shards.into_iter().map(|shard| shard.name).collect();
        let mut map = new.into_map(&names)?;
        self.inner
            .store
            .incarnation()
            .clone_into(&mut map.incarnation);
        map.version = self.inner.store.create_map(&map, actor).await?;
        let data = json!({ "strategy": map.strategy, "mappings": map.mappings.len() });
        self.audit(actor, "map.created", audit_object(&map.name), data)
            .await?;
        self.announce();
        Ok(map)
    }

    /// Removes a map that has no migration.
    ///
    /// # Errors
    /// The map does not exist, or has moved keys.
    pub async fn remove_map(
        &self,
        name: &MapName,
        actor: &str,
        reason: Option<&str>,
    ) -> Result<(), ControlError> {
        self.inner.store.remove_map(name, actor).await?;
        let data = json!({ "reason": reason });
        self.audit(actor, "map.removed", audit_object(name), data)
            .await?;
        self.announce();
        Ok(())
    }

    /// Returns a copy of a map in which the mappings with moving keys are marked.
    ///
    /// # Errors
    /// The errors of [`Controller::marked_map`].
    pub async fn map(&self, name: &MapName) -> Result<ShardMap, ControlError> {
        Ok(self.marked_map(name).await?.into_map())
    }

    /// Returns a map, and which of its mappings have moving keys, without a copy of the map.
    ///
    /// # Errors
    /// [`crate::store::StoreError::Missing`], or an error of the store.
    pub async fn marked_map(&self, name: &MapName) -> Result<MarkedMap, ControlError> {
        // The migrations are read first. If a flip is committed between the two reads, a mark is shown once too often.
        // In the other order, a mark could be missing.
        let unfinished = self.inner.store.unfinished().await?;
        Ok(MarkedMap::new(self.bare_map(name).await?, &unfinished))
    }

    /// Returns a map as it is in the store, without marks.
    ///
    /// # Errors
    /// The errors of [`Controller::marked_map`].
    pub async fn bare_map(&self, name: &MapName) -> Result<Arc<ShardMap>, ControlError> {
        let map = self.inner.store.map(name).await?;
        map.ok_or_else(|| ControlError::missing("map", name.as_str()))
    }

    /// Returns the version `version` of a map, with the settings that are in force now.
    ///
    /// # Errors
    /// The map or the version does not exist, or the store failed.
    pub async fn map_at(
        &self,
        name: &MapName,
        version: MapVersion,
    ) -> Result<Arc<ShardMap>, ControlError> {
        let current = self.bare_map(name).await?;
        if current.version == version {
            return Ok(current);
        }
        let map = self.inner.store.map_at(name, version).await?;
        let missing = || ControlError::missing("version", &format!("{version} of map {name}"));
        map.ok_or_else(missing)
    }

    /// Returns the differences between two versions of a map.
    ///
    /// # Errors
    /// The errors of [`Controller::map_at`], or a conversion between the versions.
    pub async fn map_difference(
        &self,
        name: &MapName,
        from: MapVersion,
        to: MapVersion,
    ) -> Result<Vec<Difference>, ControlError> {
        let before = self.map_at(name, from).await?;
        let after = self.map_at(name, to).await?;
        if let Some(version) = self.converted_between(name, from, to).await? {
            return Err(invalid_error(&format!(
                "version {version} of map {name} divides the keys in another way than the version before: compare versions on one side of it"
            )));
        }
        Ok(difference(&before, &after))
    }

    /// Returns the mapping of a key, and the key in the form that the map uses.
    ///
    /// # Errors
    /// [`ControlError::Unmapped`] if no shard owns the key, or an error if the key does not have the types of the map.
    pub async fn locate(&self, name: &MapName, key: &Key) -> Result<(Key, Mapping), ControlError> {
        let marked = self.marked_map(name).await?;
        let map = marked.bare();
        let key = accept(&map.key, key).map_err(|source| plans::shard_map::MapError::Key {
            map: name.clone(),
            source,
        })?;
        let mut mappings = marked.mappings();
        let found = map.locate(&key);
        let mapping =
            mappings.find(|(mapping, _)| found.is_some_and(|found| std::ptr::eq(found, *mapping)));
        let mapping = mapping.map(|(mapping, state)| Mapping {
            state,
            ..mapping.clone()
        });
        let mapping = mapping.ok_or_else(|| ControlError::Unmapped {
            key: key.clone(),
            map: name.clone(),
            version: map.version,
        })?;
        Ok((key, mapping))
    }

    /// Fails if the change gives whole tables another key, or shares or ignores others, while a migration moves keys of the
    /// map: its tables could belong to two migrations then.
    async fn refuse_other_whole_tables(
        &self,
        map: &ShardMap,
        after: &MapSettings,
    ) -> Result<(), ControlError> {
        let before = &map.settings;
        let is_same = before.groups == after.groups
            && before.reference == after.reference
            && before.ignore == after.ignore;
        if before.keyed_by.is_column() || is_same {
            return Ok(());
        }
        let unfinished = self.inner.store.unfinished().await?;
        let mut moving = unfinished.iter().map(|snapshot| &snapshot.migration);
        match moving.find(|migration| migration.plan.map == map.name) {
            None => Ok(()),
            Some(migration) => Err(invalid_error(&format!(
                "migration {} moves keys of map {}: change `groups`, `reference` and `ignore` when it has ended",
                migration.id, map.name
            ))),
        }
    }

    /// Creates the next version of a map by a change by hand. Returns the current version if nothing changes.
    ///
    /// # Errors
    /// The keys have an owner or are moving, a shard is unknown, or another request has created a version in the
    /// meantime.
    pub async fn edit_map(
        &self,
        name: &MapName,
        edit: MapEdit,
        actor: &str,
    ) -> Result<ShardMap, ControlError> {
        let map = self.bare_map(name).await?;
        let data = serde_json::to_value(&edit).unwrap_or_default();
        let shards = self.inner.store.shards().await?;
        let names: Vec<ShardName> = shards.into_iter().map(|shard| shard.name).collect();
        let mut next = edit.apply_to(&map, &names)?;
        if next.mappings == map.mappings && next.buckets == map.buckets {
            return Ok(Arc::unwrap_or_clone(map));
        }
        next.version = map.version.next();
        next.migration = None;
        self.inner.store.put_version(&next, actor).await?;
        self.audit(actor, "map.edited", audit_object(name), data)
            .await?;
        self.announce();
        Ok(next)
    }

    /// Changes settings of a map. The fields of `change` replace the fields of the settings. A table that it lists
    /// under `tables` or `through` is removed from the lists that it does not contain.
    ///
    /// # Errors
    /// The settings are unknown or contradictory, or another request has changed them at the same time.
    pub async fn set_map(
        &self,
        name: &MapName,
        change: Value,
        actor: &str,
    ) -> Result<MapSettings, ControlError> {
        let map = self.bare_map(name).await?;
        let in_force = self.inner.store.settings(name).await?;
        let revision = in_force.first().map_or(0, |record| record.revision);
        let settings = settings_after(&map, &change)?;
        self.refuse_other_whole_tables(&map, &settings).await?;
        let record = SettingsRecord {
            map: name.clone(),
            revision: revision + 1,
            settings,
            by: actor.to_owned(),
            created_at: clock(),
        };
        self.inner.store.put_settings(&record).await?;
        self.audit(actor, "map.set", audit_object(name), change)
            .await?;
        self.announce();
        Ok(record.settings)
    }
}

pub(super) fn active_mapping(new: NewMapping) -> Mapping {
    Mapping {
        keys: new.keys,
        shard: new.shard,
        state: MappingState::Active,
    }
}

/// Checks settings for contradictions, and returns them with the keys of rules in the form that the map uses.
fn checked_settings(settings: MapSettings, map: &ShardMap) -> Result<MapSettings, ControlError> {
    let accepted = settings.accepted(map);
    accepted.map_err(|error| invalid_error(&error.problems.join("; ")))
}
