//! The list of all maps: how each one divides its keys, over how many shards, and which migrations change it.

use super::bars::{Bar, Palette};
use super::page::{DashboardPage, Fragment, PageError};
use super::shards::KeyTotal;
use crate::access::{Caller, RouteAccess};
use crate::controller::{ControlError, Controller, MarkedMap};
use crate::store::Snapshot;
use crate::view::figures::count;
use askama::Template;
use axum::Extension;
use axum::extract::State;
use plans::id::ShardName;
use plans::shard_map::ShardMap;
use std::collections::HashSet;
use std::sync::Arc;

/// The maximum number of listed maps.
const MAX_MAPS: usize = 100;

/// The list.
#[derive(Template)]
#[template(path = "maps/list.html")]
struct MapsList {
    rows: Vec<MapsListRow>,
    hidden: usize,
    /// The first shard of the fleet, for the example of a map; `None`: no shard is registered.
    first_shard: Option<String>,
    may_administer: bool,
}

struct MapsListRow {
    name: String,
    strategy: &'static str,
    version: String,
    shards: String,
    keys: String,
    /// The number of unfinished migrations.
    moving: usize,
    bar: Bar,
}

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
) -> Result<DashboardPage, PageError> {
    Ok(DashboardPage {
        title: "Maps".to_owned(),
        live: Some("/live/maps".to_owned()),
        fragments: fragments(&controller, &caller).await?,
        caller: Some(caller),
    })
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(
    controller: &Controller,
    caller: &Caller,
) -> Result<Vec<Fragment>, ControlError> {
    let store = controller.store();
    let (maps, shards) = (store.maps().await?, store.shards().await?);
    let unfinished = store.unfinished().await?;
    let first_shard = shards.first().map(|shard| shard.name.to_string());
    let palette = Palette::of(shards.into_iter().map(|shard| shard.name));
    let hidden = maps.len().saturating_sub(MAX_MAPS);
    let rows = maps.into_iter().take(MAX_MAPS);
    let list = MapsList {
        rows: rows.map(|map| row(map, &unfinished, &palette)).collect(),
        hidden,
        first_shard,
        may_administer: caller.may(RouteAccess::Administer),
    };
    Ok(vec![Fragment::new("maps", &list)])
}

fn row(map: Arc<ShardMap>, unfinished: &[Arc<Snapshot>], palette: &Palette) -> MapsListRow {
    let shards: HashSet<&ShardName> = map.mappings.iter().map(|m| &m.shard).collect();
    let shards = shards.len();
    let mut keys = KeyTotal::default();
    map.mappings
        .iter()
        .for_each(|mapping| keys.add(&mapping.keys));
    let moving = unfinished
        .iter()
        .filter(|snapshot| snapshot.migration.plan.map == map.name);
    MapsListRow {
        name: map.name.to_string(),
        strategy: map.strategy.name(),
        version: map.version.to_string(),
        shards: count(i64::try_from(shards).unwrap_or(i64::MAX)),
        keys: keys.text(),
        moving: moving.count(),
        bar: Bar::with_moving_keys(&MarkedMap::new(map, unfinished), palette),
    }
}
