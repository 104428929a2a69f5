//! The maps in force, each as a bar.

use super::super::bars::{Bar, Palette};
use crate::controller::MarkedMap;
use crate::store::ShardRecord;
use askama::Template;

/// The maximum number of shards that are named.
const MAX_NAMED: usize = 24;

/// All maps, and all registered shards.
#[derive(Template)]
#[template(path = "overview/maps.html")]
pub(super) struct OverviewMaps {
    maps: Vec<MapBarRow>,
    shards: Vec<String>,
    /// The number of shards that are not named.
    hidden: usize,
}

struct MapBarRow {
    name: String,
    version: String,
    strategy: &'static str,
    bar: Bar,
}

impl OverviewMaps {
    /// Draws the bars of `maps`. A shard has the same colour in all bars.
    pub(super) fn new(maps: &[MarkedMap], shards: &[ShardRecord]) -> Self {
        let palette = Palette::of(shards.iter().map(|shard| shard.name.clone()));
        let map = |marked: &MarkedMap| MapBarRow {
            name: marked.bare().name.to_string(),
            version: marked.bare().version.to_string(),
            strategy: marked.bare().strategy.name(),
            bar: Bar::with_moving_keys(marked, &palette),
        };
        let named = shards.iter().take(MAX_NAMED);
        Self {
            maps: maps.iter().map(map).collect(),
            shards: named.map(|shard| shard.name.to_string()).collect(),
            hidden: shards.len().saturating_sub(MAX_NAMED),
        }
    }
}
