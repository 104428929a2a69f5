//! The page of a map: a bar and a table of the owners of keys; shards, tables and rules; and every version.

mod diff;
mod keys;
mod settings;
mod shards;
mod versions;

use super::bars::Palette;
use super::page::{DashboardPage, Fragment, PageError};
use crate::access::Caller;
use crate::controller::{ControlError, Controller};
use axum::Extension;
use axum::extract::{Path, State};
pub(super) use diff::compare;
use keys::MapKeysView;
use plans::id::MapName;
use settings::MapSettingsView;
use shards::MapShardsView;
use versions::MapVersionsView;

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<DashboardPage, PageError> {
    let name = MapName(name);
    Ok(DashboardPage {
        title: format!("Map {name}"),
        live: Some(format!("/live/maps/{name}")),
        fragments: fragments(&controller, &name).await?,
        caller: Some(caller),
    })
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(
    controller: &Controller,
    name: &MapName,
) -> Result<Vec<Fragment>, ControlError> {
    let marked = controller.marked_map(name).await?;
    let map = marked.bare();
    let fleet = controller.store().shards().await?;
    let palette = Palette::of(fleet.iter().map(|shard| shard.name.clone()));
    let versions = MapVersionsView::read(controller, map, &palette).await?;
    Ok(vec![
        Fragment::new("ranges", &MapKeysView::new(&marked, &palette)),
        Fragment::new("shards", &MapShardsView::new(map, &fleet, &palette)),
        Fragment::new("settings", &MapSettingsView::new(map)),
        Fragment::new("versions", &versions),
    ])
}
