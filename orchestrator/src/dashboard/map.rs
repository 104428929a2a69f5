//! The page of a map: its picture, in which each piece leads to requests; the owners of keys; shards, tables and rules;
//! and every version.

mod bar;
mod changes;
mod conversion;
mod cuts;
mod diff;
mod figures;
mod key_column;
mod keys;
mod labels;
mod legend;
mod measure;
mod owned;
mod picture;
mod piece;
mod pieces;
mod pins;
mod query;
mod settings;
mod shards;
mod timeline;
mod versions;

use super::bars::Palette;
use super::page::{DashboardPage, Fragment, PageError};
use crate::access::{Caller, RouteAccess};
use crate::controller::{ControlError, Controller, MarkedMap, MeasuredLoad};
use crate::store::{MapVersionRecord, ShardRecord};
use axum::Extension;
use axum::extract::{Path, Query, State};
use changes::MapChanges;
use conversion::MapConversionView;
pub(super) use diff::compare;
use figures::KeyFigures;
use keys::MapKeysView;
pub(super) use measure::measure;
use owned::owned_by_shard;
use picture::MapPictureView;
use piece::{MapPieceView, PieceInputs};
use plans::id::{MapName, ShardName};
pub(super) use query::MapQuery;
use query::MapSight;
use settings::MapSettingsView;
use shards::MapShardsView;
use versions::MapVersionsView;

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(query): Query<MapQuery>,
) -> Result<DashboardPage, PageError> {
    let name = MapName(name);
    Ok(DashboardPage {
        title: format!("Map {name}"),
        live: Some(query.sight(&name)?.live()),
        fragments: fragments(&controller, &name, &query, &caller).await?,
        caller: Some(caller),
    })
}

/// What the fragments of the page have in common.
struct MapPageInput {
    marked: MarkedMap,
    sight: MapSight,
    fleet: Vec<ShardRecord>,
    names: Vec<ShardName>,
    palette: Palette,
    history: Vec<MapVersionRecord>,
    changes: MapChanges,
    load: Option<MeasuredLoad>,
    /// The load of each mapping; empty if none was measured.
    figures: Vec<KeyFigures>,
    may_plan: bool,
    csrf: String,
}

impl MapPageInput {
    async fn read(
        controller: &Controller,
        name: &MapName,
        query: &MapQuery,
        caller: &Caller,
    ) -> Result<Self, ControlError> {
        let mut sight = query.sight(name)?;
        let mut marked = controller.marked_map(name).await?;
        // The number of the version in force is no version to look back at.
        sight.version = sight
            .version
            .filter(|version| *version != marked.bare().version);
        if let Some(version) = sight.version {
            let map = controller.map_at(name, version).await?;
            marked = MarkedMap::new(map, &[]);
        }
        let fleet = controller.store().shards().await?;
        let names: Vec<ShardName> = fleet.iter().map(|shard| shard.name.clone()).collect();
        let history = controller.store().history(name).await?;
        let changes = MapChanges::read(controller, marked.bare(), &history).await?;
        let load = controller.last_load(name);
        let figures = load.as_ref().map_or_else(Vec::new, |measured| {
            figures::of_mappings(marked.bare(), &measured.load)
        });
        Ok(Self {
            palette: Palette::of(names.iter().cloned()),
            marked,
            sight,
            fleet,
            names,
            history,
            changes,
            load,
            figures,
            may_plan: caller.may(RouteAccess::Operate),
            csrf: caller.csrf.clone().unwrap_or_default(),
        })
    }

    /// Returns the details of the chosen piece.
    fn piece(&self) -> Option<MapPieceView> {
        let place = self.sight.piece?;
        let map = self.marked.bare();
        let keys = &map.mappings.get(place)?.keys;
        let inputs = PieceInputs {
            map,
            sight: &self.sight,
            palette: &self.palette,
            fleet: &self.names,
            load: self.load.as_ref().map(|measured| measured.load.as_ref()),
            since: self.changes.since(keys),
            may_plan: self.may_plan,
        };
        MapPieceView::new(inputs, place, &self.figures)
    }
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(
    controller: &Controller,
    name: &MapName,
    query: &MapQuery,
    caller: &Caller,
) -> Result<Vec<Fragment>, ControlError> {
    let input = MapPageInput::read(controller, name, query, caller).await?;
    let map = input.marked.bare();
    let owned = owned_by_shard(map, &input.figures);
    let versions = MapVersionsView::read(controller, map, &input.palette).await?;
    let mut fragments = vec![Fragment::new(
        "ranges",
        &MapPictureView::new(&input, &owned),
    )];
    let conversion = MapConversionView::read(controller, name).await?;
    fragments.extend(conversion.map(|unfinished| Fragment::new("conversion", &unfinished)));
    fragments.extend(input.piece().map(|piece| Fragment::new("piece", &piece)));
    fragments.extend([
        Fragment::new("owners", &MapKeysView::new(&input.marked)),
        Fragment::new(
            "shards",
            &MapShardsView::new(map.buckets, &owned, &input.fleet, &input.palette),
        ),
        Fragment::new("settings", &MapSettingsView::new(map)),
        Fragment::new("versions", &versions),
    ]);
    Ok(fragments)
}
