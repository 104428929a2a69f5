//! Maps: made, read, changed by hand. Owners change by migrations only; by hand come keys that nobody owns yet.

use super::marked::MarkedMap;
use super::shards::{check_name, invalid};
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

/// A map to make.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMap {
    /// Its name.
    pub name: MapName,
    /// How keys are divided.
    pub strategy: Strategy,
    /// Types of the key's columns.
    pub key: Vec<KeyType>,
    /// Virtual shards of a hash map; 4096 unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u32>,
    /// Tables, rules, sequences.
    #[serde(default)]
    pub settings: MapSettings,
    /// Who owns what.
    pub mappings: Vec<NewMapping>,
}

/// A mapping of a map to make.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMapping {
    /// The keys.
    pub keys: KeySet,
    /// Their owner.
    pub shard: ShardName,
}

/// A change of a map by hand.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "edit", rename_all = "snake_case", deny_unknown_fields)]
pub enum MapEdit {
    /// Adjacent mappings of one shard become one.
    Join {},
    /// Keys that nobody owns get an owner.
    Assign {
        /// Who owns what from now on.
        mappings: Vec<NewMapping>,
    },
}

impl NewMap {
    /// Version 1 of the map among the shards `known`, of no control store yet.
    ///
    /// # Errors
    /// An unknown shard, an overlap, an empty key set, or contradictory settings.
    pub(crate) fn into_map(self, known: &[ShardName]) -> Result<ShardMap, ControlError> {
        check_name("map", self.name.as_str())?;
        if self.mappings.is_empty() && self.strategy != Strategy::List {
            return Err(invalid("the map has no mapping"));
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
            mappings: self.mappings.into_iter().map(active).collect(),
        };
        let mut map = map.validated()?;
        map.settings = checked(self.settings, &map)?;
        Ok(map)
    }
}

impl MapEdit {
    /// The map after the edit, its version unchanged, among the shards `known`.
    ///
    /// # Errors
    /// Keys that have an owner, or an unknown shard.
    pub(crate) fn applied(
        self,
        map: &ShardMap,
        known: &[ShardName],
    ) -> Result<ShardMap, ControlError> {
        let mut next = map.clone();
        if let Self::Assign { mappings } = self {
            check_shards(&mappings, known)?;
            next.mappings.extend(mappings.into_iter().map(active));
            next = next.validated()?;
        }
        Ok(next.joined())
    }
}

/// A map's settings with what `change` names in the place of what there is; a null takes a field away, and a table that
/// the change lists under `tables` or `through` leaves the lists that it does not name.
///
/// # Errors
/// Unknown or contradictory settings.
pub(crate) fn settings_after(map: &ShardMap, change: &Value) -> Result<MapSettings, ControlError> {
    let mut merged = serde_json::to_value(&map.settings).unwrap_or_default();
    let (Some(all), Value::Object(change)) = (merged.as_object_mut(), change) else {
        return Err(invalid("settings are an object"));
    };
    for (field, value) in change {
        if value.is_null() {
            all.remove(field);
        } else {
            all.insert(field.clone(), value.clone());
        }
    }
    let mut settings: MapSettings = serde_json::from_value(merged)
        .map_err(|error| invalid(&format!("the settings cannot be read: {error}")))?;
    settings.remove_from_other_lists(|list| change.contains_key(list));
    checked(settings, map)
}

fn check_shards(mappings: &[NewMapping], known: &[ShardName]) -> Result<(), ControlError> {
    let missing = mappings
        .iter()
        .find(|mapping| !known.contains(&mapping.shard));
    missing.map_or(Ok(()), |mapping| {
        Err(ControlError::missing("shard", mapping.shard.as_str()))
    })
}

/// What an audit line calls a map.
pub(super) fn object(map: &MapName) -> String {
    format!("map {map}")
}

impl Controller {
    /// Makes version 1 of a map.
    ///
    /// # Errors
    /// An unknown shard, an overlap, an empty key set, contradictory settings, or a name that is taken.
    pub async fn create_map(&self, new: NewMap, actor: &str) -> Result<ShardMap, ControlError> {
        let shards = self.inner.store.shards().await?;
        let names: Vec<ShardName> = shards.into_iter().map(|shard| shard.name).collect();
        let mut map = new.into_map(&names)?;
        self.inner
            .store
            .incarnation()
            .clone_into(&mut map.incarnation);
        self.inner.store.create_map(&map, actor).await?;
        let data = json!({ "strategy": map.strategy, "mappings": map.mappings.len() });
        self.audit(actor, "map.created", object(&map.name), data)
            .await?;
        self.announce();
        Ok(map)
    }

    /// A map with the marks of what is being moved, as one of its own.
    ///
    /// # Errors
    /// As [`Controller::marked_map`].
    pub async fn map(&self, name: &MapName) -> Result<ShardMap, ControlError> {
        Ok(self.marked_map(name).await?.into_map())
    }

    /// A map with the marks of what is being moved; nothing of it is copied.
    ///
    /// # Errors
    /// [`crate::store::StoreError::Missing`], or what the store says.
    pub async fn marked_map(&self, name: &MapName) -> Result<MarkedMap, ControlError> {
        // Migrations first: a flip in between leaves a mark for a moment rather than losing one.
        let unfinished = self.inner.store.unfinished().await?;
        Ok(MarkedMap::new(self.bare_map(name).await?, &unfinished))
    }

    /// A map as the store has it.
    ///
    /// # Errors
    /// As [`Controller::marked_map`].
    pub async fn bare_map(&self, name: &MapName) -> Result<Arc<ShardMap>, ControlError> {
        let map = self.inner.store.map(name).await?;
        map.ok_or_else(|| ControlError::missing("map", name.as_str()))
    }

    /// A version of a map.
    ///
    /// # Errors
    /// An unknown map or version, or what the store says.
    pub async fn map_at(
        &self,
        name: &MapName,
        version: MapVersion,
    ) -> Result<ShardMap, ControlError> {
        self.bare_map(name).await?;
        let map = self.inner.store.map_at(name, version).await?;
        map.ok_or_else(|| ControlError::missing("version", &format!("{version} of map {name}")))
    }

    /// What changed from one version of a map to another.
    ///
    /// # Errors
    /// As [`Controller::map_at`].
    pub async fn map_difference(
        &self,
        name: &MapName,
        from: MapVersion,
        to: MapVersion,
    ) -> Result<Vec<Difference>, ControlError> {
        let before = self.map_at(name, from).await?;
        let after = self.map_at(name, to).await?;
        Ok(difference(&before, &after))
    }

    /// The mapping that a key of a map belongs to, and the key as the map has it.
    ///
    /// # Errors
    /// [`ControlError::Unmapped`], or a key that is none of the map's.
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

    /// Makes the next version of a map by hand; the same version where nothing changes.
    ///
    /// # Errors
    /// Keys that have an owner or are being moved, an unknown shard, or somebody else's new version.
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
        let mut next = edit.applied(&map, &names)?;
        if next.mappings == map.mappings {
            return Ok(Arc::unwrap_or_clone(map));
        }
        next.version = map.version.next();
        next.migration = None;
        self.inner.store.put_version(&next, actor).await?;
        self.audit(actor, "map.edited", object(name), data).await?;
        self.announce();
        Ok(next)
    }

    /// Changes some of a map's settings: what `change` names replaces what there is, and a table that it lists under
    /// `tables` or `through` leaves the lists that it does not name.
    ///
    /// # Errors
    /// Unknown or contradictory settings, or somebody else's change at the same time.
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
        let record = SettingsRecord {
            map: name.clone(),
            revision: revision + 1,
            settings,
            by: actor.to_owned(),
            created_at: clock(),
        };
        self.inner.store.put_settings(&record).await?;
        self.audit(actor, "map.set", object(name), change).await?;
        self.announce();
        Ok(record.settings)
    }
}

fn active(new: NewMapping) -> Mapping {
    Mapping {
        keys: new.keys,
        shard: new.shard,
        state: MappingState::Active,
    }
}

/// Settings whose rules name keys as the map has them, without contradictions.
fn checked(mut settings: MapSettings, map: &ShardMap) -> Result<MapSettings, ControlError> {
    let problems = settings.problems();
    if !problems.is_empty() {
        return Err(invalid(&problems.join("; ")));
    }
    let columns = |columns: &plans::shard_map::KeyColumns| columns.0.len();
    let mut tables = settings.tables.iter();
    if let Some((table, found)) = tables.find(|(_, found)| columns(found) != map.key.len()) {
        let (named, needed) = (columns(found), map.key.len());
        return Err(invalid(&format!(
            "table {table} names {named} key column(s), the key of map {} has {needed}",
            map.name
        )));
    }
    for rule in &mut settings.rules {
        let keys = rule
            .keys
            .take()
            .map(|keys| map.accepted(keys))
            .transpose()?;
        rule.keys = keys;
    }
    Ok(settings)
}
