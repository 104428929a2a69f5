//! What comes in: shards, maps, requests that become plans, plans that become migrations.

use super::dispatch::shard_ref;
use super::{ControlError, Controller, clock};
use crate::store::{NewMigration, ShardRecord, Snapshot, StoreError};
use plans::id::{MapName, MapVersion, MigrationId, ShardName};
use plans::key_set::{KeySet, KeyType};
use plans::plan::{Move, Plan};
use plans::planner::{self, Outline};
use plans::request::Request;
use plans::shard_map::{Mapping, MappingState, ShardMap, Strategy};
use plans::survey::{Survey, SurveyTask};
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A map to make.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewMap {
    /// Its name.
    pub name: MapName,
    /// How keys are divided.
    pub strategy: Strategy,
    /// Types of the key's columns.
    pub key: Vec<KeyType>,
    /// Who owns what.
    pub mappings: Vec<NewMapping>,
}

/// A mapping of a map to make.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewMapping {
    /// The keys.
    pub keys: KeySet,
    /// Their owner.
    pub shard: ShardName,
}

impl Controller {
    /// Registers a shard.
    ///
    /// # Errors
    /// [`ControlError::InlinePassword`], an empty field, or a name that is taken.
    pub async fn add_shard(
        &self,
        name: &ShardName,
        dsn: &str,
    ) -> Result<ShardRecord, ControlError> {
        check_name("shard", name.as_str())?;
        if dsn.trim().is_empty() {
            return Err(invalid("the connection string is empty"));
        }
        if has_inline_password(dsn) {
            return Err(ControlError::InlinePassword {
                shard: name.to_string(),
            });
        }
        Ok(self.inner.store.add_shard(name, dsn).await?)
    }

    /// Makes version 1 of a map.
    ///
    /// # Errors
    /// An unknown shard, an overlap, an empty key set, or a name that is taken.
    pub async fn create_map(&self, new: NewMap, actor: &str) -> Result<ShardMap, ControlError> {
        check_name("map", new.name.as_str())?;
        if new.key.len() != 1 {
            return Err(invalid("the key of a map has one column in this version"));
        }
        if new.mappings.is_empty() {
            return Err(invalid("the map has no mapping"));
        }
        let shards = self.inner.store.shards().await?;
        for mapping in &new.mappings {
            shard_ref(&shards, &mapping.shard)?;
        }
        let mappings = new.mappings.into_iter().map(|mapping| Mapping {
            keys: mapping.keys,
            shard: mapping.shard,
            state: MappingState::Active,
        });
        let map = ShardMap {
            name: new.name,
            strategy: new.strategy,
            key: new.key,
            version: MapVersion(1),
            incarnation: self.inner.store.incarnation().to_owned(),
            migration: None,
            mappings: mappings.collect(),
        };
        let map = map.validated()?;
        self.inner.store.create_map(&map, actor).await?;
        self.announce();
        Ok(map)
    }

    /// A map with the marks of what is being moved.
    ///
    /// # Errors
    /// [`StoreError::Missing`], or what the store says.
    pub async fn map(&self, name: &MapName) -> Result<ShardMap, ControlError> {
        let store = &self.inner.store;
        // Migrations first: a flip in between leaves a mark for a moment rather than losing one.
        let unfinished = store.unfinished().await?;
        let map = store.map(name).await?;
        let mut map = map.ok_or_else(|| ControlError::missing("map", name.as_str()))?;
        for snapshot in &unfinished {
            snapshot.migration.mark(&mut map);
        }
        Ok(map)
    }

    /// Makes a plan of a request, with the eyes of an agent.
    ///
    /// # Errors
    /// A request that cannot be read or does not fit, refusing findings, or no agent to look.
    pub async fn plan(&self, text: &str) -> Result<Plan, ControlError> {
        let request = Request::parse(text)?;
        let map = self.map(request.map()).await?;
        let outline = planner::outline(&request, &map)?;
        let Request::Split(split) = &request;
        let survey = self
            .survey(&outline, split.tables.clone(), split.ignore.clone(), &map)
            .await?;
        Ok(planner::plan(&request, &map, &survey)?)
    }

    /// Admits a plan that is still true.
    ///
    /// # Errors
    /// [`ControlError::Stale`], or [`StoreError::KeysMoving`] naming the other migration.
    pub async fn submit(&self, text: &str, actor: &str) -> Result<Snapshot, ControlError> {
        let plan = Plan::parse(text)?;
        self.check_current(&plan).await?;
        let new = NewMigration {
            id: new_id(),
            plan,
            by: actor.to_owned(),
            at: clock(),
        };
        let submitted = self.inner.store.submit(&new).await;
        let snapshot = submitted.map_err(|error| {
            if let StoreError::MapVersion {
                map,
                current,
                expected,
            } = &error
            {
                return stale(version_changed(map, *current, *expected));
            }
            error.into()
        })?;
        self.announce();
        tracing::info!(migration = %new.id, actor, "submitted");
        Ok(snapshot)
    }

    /// Refuses keys that move already, another store, another map version, another schema.
    async fn check_current(&self, plan: &Plan) -> Result<(), ControlError> {
        let store = &self.inner.store;
        let keys = &plan.moving.keys;
        let unfinished = store.unfinished().await?;
        let mut others = unfinished.iter().map(|snapshot| &snapshot.migration);
        if let Some(other) = others.find(|other| other.meets(&plan.map, keys)) {
            let migration = other.id.clone();
            return Err(StoreError::KeysMoving { migration }.into());
        }
        let map = self.map(&plan.map).await?;
        let mut changed = Vec::new();
        if plan.incarnation != store.incarnation() {
            changed.push(format!(
                "it was made for the control store {}, this is {}",
                plan.incarnation,
                store.incarnation()
            ));
        }
        if map.version != plan.map_version {
            changed.push(version_changed(
                &plan.map,
                map.version.0,
                plan.map_version.0,
            ));
        }
        if !changed.is_empty() {
            return Err(ControlError::Stale { changed });
        }
        let Move { source, target, .. } = &plan.moving;
        let outline = Outline {
            source: source.clone(),
            target: target.clone(),
            keys: keys.clone(),
        };
        let tables = plan.moving.tables.iter();
        let tables = tables.map(|table| (table.table.to_string(), table.key_column.clone()));
        let survey = self
            .survey(&outline, tables.collect(), Vec::new(), &map)
            .await?;
        if survey.schema_fingerprint == plan.schema_fingerprint {
            return Ok(());
        }
        Err(stale(format!(
            "the tables on shard {source} were changed: their fingerprint was {}, it is {}",
            plan.schema_fingerprint, survey.schema_fingerprint
        )))
    }

    async fn survey(
        &self,
        outline: &Outline,
        tables: BTreeMap<String, String>,
        ignore: Vec<String>,
        map: &ShardMap,
    ) -> Result<Survey, ControlError> {
        let shards = self.inner.store.shards().await?;
        let task = SurveyTask {
            id: uuid::Uuid::new_v4().to_string(),
            source: shard_ref(&shards, &outline.source)?,
            target: shard_ref(&shards, &outline.target)?,
            tables,
            ignore,
            keys: outline.keys.clone(),
            key_type: map.key.first().copied().unwrap_or(KeyType::Bigint),
        };
        let limit = self.inner.settings.survey_wait;
        self.inner
            .surveys
            .ask(task, limit, || self.announce())
            .await
    }
}

fn stale(changed: String) -> ControlError {
    ControlError::Stale {
        changed: vec![changed],
    }
}

fn version_changed(map: &MapName, current: i64, expected: i64) -> String {
    format!("it was made for map {map} version {expected}, which is now at version {current}")
}

fn invalid(what: &str) -> ControlError {
    ControlError::Invalid {
        what: what.to_owned(),
    }
}

/// Names stand in URLs and in messages.
fn check_name(what: &str, name: &str) -> Result<(), ControlError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.is_empty() && name.len() <= 63 && name.chars().all(plain) {
        return Ok(());
    }
    Err(ControlError::Invalid {
        what: format!("{what} name {name:?} is not made of 1 to 63 letters, digits, _ - ."),
    })
}

/// True when a password is written out in the connection string.
fn has_inline_password(dsn: &str) -> bool {
    if let Some((_, rest)) = dsn.split_once("://") {
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let user = place.rsplit_once('@').map(|(user, _)| user);
        let password = user.and_then(|user| user.split_once(':'));
        return password.is_some_and(|(_, word)| !word.is_empty() && !word.starts_with("${"))
            || names_password(query);
    }
    names_password(dsn)
}

fn names_password(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.match_indices("password").any(|(at, word)| {
        let after = lower[at + word.len()..].trim_start();
        let value = after.strip_prefix('=').map(str::trim_start);
        value.is_some_and(|value| {
            let value = value.strip_prefix('\'').unwrap_or(value);
            !value.is_empty() && !value.starts_with("${")
        })
    })
}

/// `m` and nine random letters or digits.
fn new_id() -> MigrationId {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut rng = rand::rng();
    let tail = (0..9).map(|_| char::from(DIGITS[rng.random_range(0..DIGITS.len())]));
    MigrationId(std::iter::once('m').chain(tail).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_references_may_stand_for_a_password() {
        for fine in [
            "host=a user=b",
            "host=a password=${env:X}",
            "host=a password='${file:/a b}'",
            "postgres://u@h/d",
            "postgres://u:${file:/x}@h/d",
            "host=a passfile=/x",
        ] {
            assert!(!has_inline_password(fine), "{fine}");
        }
        for bad in [
            "host=a password=x",
            "host=a password = 'x'",
            "postgres://u:secret@h/d",
            "postgres://h/d?user=u&password=x",
        ] {
            assert!(has_inline_password(bad), "{bad}");
        }
    }

    #[test]
    fn new_ids_are_migration_ids() {
        assert!(MigrationId::parse(new_id().as_str()).is_ok());
        assert_eq!(new_id().as_str().len(), 10);
    }
}
