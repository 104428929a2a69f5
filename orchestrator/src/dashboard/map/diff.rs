//! The page with the differences between two versions of a map.

use crate::access::Caller;
use crate::controller::{ControlError, Controller};
use crate::dashboard::bars::{Bar, Palette};
use crate::dashboard::page::{DashboardPage, PageError};
use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use plans::id::{MapName, MapVersion, ShardName};
use plans::shard_map::{Difference, ShardMap, Strategy, difference};
use serde::Deserialize;

/// The maximum number of listed differences, and of versions to choose from.
const MAX_DIFFERENCES: usize = 200;
const MAX_CHOICES: usize = 200;

/// The two versions. Without them, the two newest versions are compared.
#[derive(Debug, Deserialize)]
pub(in crate::dashboard) struct MapDiffQuery {
    from: Option<String>,
    to: Option<String>,
}

#[derive(Template)]
#[template(path = "map/diff.html")]
struct MapDiffPage {
    name: String,
    from: i64,
    to: i64,
    choices: Vec<i64>,
    bars: Vec<(i64, Bar)>,
    /// The version between the two that divides the keys in another way; their owners cannot be compared then.
    converted: Option<i64>,
    rows: Vec<MapDiffRow>,
    hidden: usize,
}

struct MapDiffRow {
    keys: String,
    from: String,
    to: String,
}

/// Shows the page.
pub(in crate::dashboard) async fn compare(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(query): Query<MapDiffQuery>,
) -> Result<DashboardPage, PageError> {
    let name = MapName(name);
    let current = controller.bare_map(&name).await?.version;
    let to = parse_version(query.to.as_deref(), current)?;
    let from = parse_version(query.from.as_deref(), MapVersion((to.0 - 1).max(1)))?;
    let before = controller.map_at(&name, from).await?;
    let after = controller.map_at(&name, to).await?;
    let history = controller.store().history(&name).await?;
    let newest = history.iter().rev().take(MAX_CHOICES);
    let converted = controller.converted_between(&name, from, to).await?;
    let differences = match converted {
        Some(_) => Vec::new(),
        None => difference(&before, &after),
    };
    let fleet = controller.store().shards().await?;
    let palette = Palette::of(fleet.into_iter().map(|shard| shard.name));
    let diff = MapDiffPage {
        name: name.to_string(),
        from: from.0,
        to: to.0,
        choices: newest.map(|record| record.version.0).collect(),
        bars: bars(&[&before, &after], &palette),
        converted: converted.map(|version| version.0),
        rows: differences.iter().take(MAX_DIFFERENCES).map(row).collect(),
        hidden: differences.len().saturating_sub(MAX_DIFFERENCES),
    };
    let title = format!("Map {name}, versions {from} and {to}");
    Ok(DashboardPage::static_page(&title, &diff, Some(caller)))
}

/// Draws a bar for each map. List maps have no bar here, because their bars show only numbers of keys, and not which
/// keys changed.
fn bars(maps: &[&ShardMap], palette: &Palette) -> Vec<(i64, Bar)> {
    let with_ranges = maps.iter().filter(|map| map.strategy != Strategy::List);
    with_ranges
        .map(|map| (map.version.0, Bar::new(map, palette)))
        .collect()
}

/// Parses the number of a version; `otherwise` if there is none.
fn parse_version(text: Option<&str>, otherwise: MapVersion) -> Result<MapVersion, ControlError> {
    let Some(text) = text else {
        return Ok(otherwise);
    };
    let what = || format!("{text:?} is not the number of a version");
    let number = text.trim().parse();
    number
        .map(MapVersion)
        .map_err(|_| ControlError::Invalid { what: what() })
}

fn row(difference: &Difference) -> MapDiffRow {
    let owner = |shard: Option<&ShardName>| {
        shard.map_or_else(|| "no shard".to_owned(), ToString::to_string)
    };
    MapDiffRow {
        keys: difference.keys.to_string(),
        from: owner(difference.from.as_ref()),
        to: owner(difference.to.as_ref()),
    }
}
