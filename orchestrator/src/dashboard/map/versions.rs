//! Every version of a map: its author, its changes and its bar.

use crate::controller::{ControlError, Controller};
use crate::dashboard::bars::{Bar, Palette};
use crate::store::MapVersionRecord;
use crate::view::figures::{count, moment};
use askama::Template;
use plans::shard_map::{ShardMap, Strategy};

/// The maximum number of listed versions, and of versions with a bar.
const MAX_VERSIONS: usize = 200;
const MAX_BARS: usize = 12;
/// A version with more pieces than this has no bar.
const MAX_DRAWN_PIECES: i64 = 5_000;

/// The versions, newest first.
#[derive(Template)]
#[template(path = "map/versions.html")]
pub(super) struct MapVersionsView {
    name: String,
    rows: Vec<MapVersionRow>,
    hidden: usize,
}

struct MapVersionRow {
    version: i64,
    /// The previous version; `None` for the first version.
    before: Option<i64>,
    created: String,
    by: String,
    migration: Option<String>,
    pieces: String,
    added: String,
    removed: String,
    bar: Option<Bar>,
}

impl MapVersionsView {
    /// Reads the history of `map`.
    pub(super) async fn read(
        controller: &Controller,
        map: &ShardMap,
        palette: &Palette,
    ) -> Result<Self, ControlError> {
        let store = controller.store();
        let history = store.history(&map.name).await?;
        let mut rows = Vec::new();
        for (index, record) in history.iter().rev().take(MAX_VERSIONS).enumerate() {
            // Reading all keys of a list would take too long for a small drawing.
            let can_be_drawn = map.strategy != Strategy::List && record.pieces <= MAX_DRAWN_PIECES;
            let map_to_draw = match index < MAX_BARS && can_be_drawn {
                true => store.map_at(&map.name, record.version).await?,
                false => None,
            };
            let before = history.iter().rev().nth(index + 1);
            let bar = map_to_draw.map(|map| Bar::new(&map, palette));
            rows.push(version_row(record, before, bar));
        }
        Ok(Self {
            name: map.name.to_string(),
            rows,
            hidden: history.len().saturating_sub(MAX_VERSIONS),
        })
    }

    /// Returns the newest version and the one before it, if there are two.
    fn newest_pair(&self) -> Option<(i64, i64)> {
        let newest = self.rows.first()?;
        Some((newest.before?, newest.version))
    }
}

fn version_row(
    record: &MapVersionRecord,
    before: Option<&MapVersionRecord>,
    bar: Option<Bar>,
) -> MapVersionRow {
    MapVersionRow {
        version: record.version.0,
        before: before.map(|record| record.version.0),
        created: moment(record.created_at),
        // Another column has the id of the migration, so it is not repeated here.
        by: match &record.migration {
            Some(id) if id.as_str() == record.by => "its flip".to_owned(),
            _ => record.by.clone(),
        },
        migration: record.migration.as_ref().map(ToString::to_string),
        pieces: count(record.pieces),
        added: count(record.added),
        removed: count(record.removed),
        bar,
    }
}
