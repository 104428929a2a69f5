//! Checks a change in a dry run, with the rules of the controller and the present state of the controller.
//!
//! Rules that need a shard or a lock are not checked, for example to which database a connection string leads.

use super::client::Client;
use super::error::CliError;
use crate::controller::{
    ControlError, MapEdit, NewMap, ShardChange, check_new_shard, check_shard_change, settings_after,
};
use crate::store::{NewShard, ShardRecord, StoreError};
use crate::view::OperationView;
use plans::id::{MapName, ShardName};
use plans::plan::{Plan, PlannedMove};
use plans::shard_map::{MapSettings, ShardMap};
use serde_json::Value;

/// The names that are in use.
#[derive(Debug)]
pub(super) struct KnownNames {
    shards: Vec<ShardName>,
    maps: Vec<MapName>,
}

impl KnownNames {
    pub(super) async fn read(client: &Client) -> Result<Self, CliError> {
        let shards: Vec<ShardRecord> = client.get("/api/v1/shards").await?;
        let maps: Vec<ShardMap> = client.get("/api/v1/maps").await?;
        Ok(Self::of(&shards, &maps))
    }

    pub(super) fn of(shards: &[ShardRecord], maps: &[ShardMap]) -> Self {
        Self {
            shards: shards.iter().map(|shard| shard.name.clone()).collect(),
            maps: maps.iter().map(|map| map.name.clone()).collect(),
        }
    }

    /// Checks a shard that is to be registered, and marks its name as used.
    pub(super) fn register(&mut self, new: &NewShard) -> Result<(), CliError> {
        check_new_shard(new)?;
        if self.shards.contains(&new.name) {
            return Err(exists("shard", new.name.as_str()));
        }
        self.shards.push(new.name.clone());
        Ok(())
    }

    /// Checks a map that is to be created, and marks its name as used. Returns version 1 of the map.
    pub(super) fn create(&mut self, new: &NewMap) -> Result<ShardMap, CliError> {
        let map = new.clone().into_map(&self.shards)?;
        if self.maps.contains(&new.name) {
            return Err(exists("map", new.name.as_str()));
        }
        self.maps.push(new.name.clone());
        Ok(map)
    }
}

/// Checks the change of a registered shard.
pub(super) async fn shard_change(
    client: &Client,
    name: &str,
    change: &ShardChange,
) -> Result<(), CliError> {
    let _: ShardRecord = client.get(&format!("/api/v1/shards/{name}")).await?;
    Ok(check_shard_change(&ShardName::from(name), change)?)
}

/// Checks the removal of a shard.
pub(super) async fn shard_removal(client: &Client, name: &str) -> Result<(), CliError> {
    let shard: ShardRecord = client.get(&format!("/api/v1/shards/{name}")).await?;
    let maps: Vec<ShardMap> = client.get("/api/v1/maps").await?;
    match maps
        .into_iter()
        .find(|map| map.shards().contains(&shard.name))
    {
        None => Ok(()),
        Some(map) => Err(ControlError::from(StoreError::ShardInUse {
            shard: shard.name,
            map: map.name,
        })
        .into()),
    }
}

/// The number of operations among which a dry run looks for one of the map. The controller looks among all.
const MAX_OPERATIONS: u32 = 1000;

/// Checks the removal of a map.
pub(super) async fn map_removal(client: &Client, name: &MapName) -> Result<(), CliError> {
    let path = "/api/v1/operations";
    let (operations, _) = client.newest::<OperationView>(path, MAX_OPERATIONS).await?;
    let mut of_map = operations.into_iter().rev().filter(|o| &o.map == name);
    match of_map.next() {
        None => Ok(()),
        Some(first) => Err(ControlError::from(StoreError::MapMoved {
            map: name.clone(),
            migration: first.id,
        })
        .into()),
    }
}

/// Returns the settings of a map after a change.
pub(super) fn settings(map: &ShardMap, change: &Value) -> Result<MapSettings, CliError> {
    Ok(settings_after(map, change)?)
}

/// Returns the map after an edit.
pub(super) async fn edit(
    client: &Client,
    map: &ShardMap,
    edit: MapEdit,
) -> Result<ShardMap, CliError> {
    let known = KnownNames::read(client).await?;
    Ok(edit.apply_to(map, &known.shards)?)
}

/// Parses a plan, and checks whether the controller would accept it according to the map.
pub(super) async fn plan(client: &Client, text: &str, queue: bool) -> Result<Plan, CliError> {
    let plan = Plan::parse(text).map_err(ControlError::from)?;
    let map: ShardMap = client.get(&format!("/api/v1/maps/{}", plan.map)).await?;
    let mut changed = Vec::new();
    if plan.incarnation != map.incarnation {
        changed.push(format!(
            "the plan was created for the control store {}, this is store {}",
            plan.incarnation, map.incarnation
        ));
    }
    let owned = |planned: &PlannedMove| {
        let moving = &planned.moving;
        map.owned_by(&moving.source).covers(&moving.keys)
    };
    if map.version != plan.map_version && !queue && !plan.moves.iter().all(owned) {
        changed.push(format!(
            "map {} is at version {}, the plan was created for version {}",
            map.name, map.version, plan.map_version
        ));
    }
    match changed.is_empty() {
        true => Ok(plan),
        false => Err(ControlError::Stale { changed }.into()),
    }
}

fn exists(what: &'static str, name: &str) -> CliError {
    let name = name.to_owned();
    ControlError::from(StoreError::Exists { what, name }).into()
}
