//! One map: the ranges in force as a bar and a table, and every version with who made it.

use super::bars::{self, Part};
use super::figures::moment;
use super::marks::{self, Mark};
use super::page::{Fragment, Page, PageError};
use crate::controller::{ControlError, Controller};
use crate::store::MapVersionRecord;
use askama::Template;
use axum::extract::{Path, State};
use plans::id::MapName;
use plans::shard_map::{MappingState, ShardMap};

/// Versions that are drawn; older ones are listed only.
const DRAWN: usize = 30;

/// The page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Path(name): Path<String>,
) -> Result<Page, PageError> {
    let name = MapName(name);
    Ok(Page {
        title: format!("Map {name}"),
        live: Some(format!("/live/maps/{name}")),
        fragments: fragments(&controller, &name).await?,
    })
}

/// Its parts as they are now.
pub(super) async fn fragments(
    controller: &Controller,
    name: &MapName,
) -> Result<Vec<Fragment>, ControlError> {
    let map = controller.map(name).await?;
    let mut history = Vec::new();
    for record in controller.store().history(name).await?.into_iter().rev() {
        let version = match history.len() < DRAWN {
            true => controller.store().map_at(name, record.version).await?,
            false => None,
        };
        history.push((record, version));
    }
    Ok(vec![
        Fragment::new("ranges", &Ranges::new(&map)),
        Fragment::new("versions", &Versions::new(&history)),
    ])
}

#[derive(Template)]
#[template(path = "map/ranges.html")]
struct Ranges {
    name: String,
    version: String,
    key: String,
    parts: Vec<Part>,
    rows: Vec<Row>,
}

struct Row {
    keys: String,
    shard: String,
    mark: Mark,
}

impl Ranges {
    fn new(map: &ShardMap) -> Self {
        let rows = map.mappings.iter().map(|mapping| Row {
            keys: mapping.keys.to_string(),
            shard: mapping.shard.to_string(),
            mark: marks::of_mapping(mapping.state == MappingState::Moving),
        });
        let key: Vec<_> = map.key.iter().map(|key| key.sql_name()).collect();
        Self {
            name: map.name.to_string(),
            version: map.version.to_string(),
            key: key.join(", "),
            parts: bars::parts(&map.mappings),
            rows: rows.collect(),
        }
    }
}

#[derive(Template)]
#[template(path = "map/versions.html")]
struct Versions {
    rows: Vec<Version>,
}

struct Version {
    version: String,
    made: String,
    by: String,
    migration: Option<String>,
    parts: Vec<Part>,
}

impl Versions {
    fn new(history: &[(MapVersionRecord, Option<ShardMap>)]) -> Self {
        let version = |(record, map): &(MapVersionRecord, Option<ShardMap>)| Version {
            version: record.version.to_string(),
            made: moment(record.created_at),
            // A flip is made by its migration, which has a column of its own.
            by: match &record.migration {
                Some(id) if id.as_str() == record.by => "its flip".to_owned(),
                _ => record.by.clone(),
            },
            migration: record.migration.as_ref().map(ToString::to_string),
            parts: map.as_ref().map_or_else(Vec::new, |map| bars::parts(&map.mappings)),
        };
        Self {
            rows: history.iter().map(version).collect(),
        }
    }
}
