//! The version that is shown: who made it, when and by which migration, what it changed, and the way to others.

use super::changes::MapChanges;
use super::key_column::named_keys;
use super::query::MapSight;
use crate::dashboard::bars::keys_text;
use crate::store::MapVersionRecord;
use crate::view::figures::{ago, count};
use plans::id::MapVersion;
use plans::key_set::KeySet;
use plans::shard_map::{Difference, ShardMap};

/// The maximum number of listed changes.
const MAX_CHANGES: usize = 4;

/// The version that is shown.
pub(super) struct MapTimeline {
    pub(super) version: i64,
    /// The newest version.
    pub(super) newest: i64,
    pub(super) made: String,
    pub(super) by: String,
    pub(super) migration: Option<String>,
    /// What the version changed: keys, the old owner and the new one.
    pub(super) changes: Vec<(String, String, String)>,
    /// The number of changes that are not listed.
    pub(super) hidden: usize,
    /// Why the changes are not listed.
    pub(super) no_changes: String,
    pub(super) older: Option<String>,
    pub(super) newer: Option<String>,
    pub(super) in_force: Option<String>,
    /// The parameters that the form of the slider keeps.
    pub(super) kept: Vec<(&'static str, String)>,
}

impl MapTimeline {
    /// Describes the version of `map`.
    pub(super) fn new(
        map: &ShardMap,
        history: &[MapVersionRecord],
        changes: &MapChanges,
        sight: &MapSight,
    ) -> Self {
        let shown = map.version;
        let place = history.iter().position(|record| record.version == shown);
        let record = place.and_then(|place| history.get(place));
        let neighbour = |place: Option<usize>| place.and_then(|place| history.get(place));
        let newest = history.last().map_or(shown, |record| record.version);
        let link = |record: &MapVersionRecord| {
            let version = (record.version != newest).then_some(record.version);
            sight.at(version).href()
        };
        let compared = changes.of_shown(shown);
        let shard = sight.shard.iter().map(|shard| ("shard", shard.clone()));
        let kept = [("by", sight.by.name().to_owned())]
            .into_iter()
            .chain(shard);
        Self {
            version: shown.0,
            newest: newest.0,
            made: record.map_or_else(String::new, |record| ago(record.created_at)),
            by: record.map_or_else(String::new, author),
            migration: record.and_then(|r| r.migration.as_ref().map(ToString::to_string)),
            changes: compared
                .unwrap_or_default()
                .iter()
                .take(MAX_CHANGES)
                .map(|difference| change(map, difference))
                .collect(),
            hidden: compared.map_or(0, |all| all.len().saturating_sub(MAX_CHANGES)),
            no_changes: no_changes(record, compared),
            older: neighbour(place.and_then(|place| place.checked_sub(1))).map(link),
            newer: neighbour(place.map(|place| place + 1)).map(link),
            in_force: (shown != newest).then(|| sight.at(None).href()),
            kept: kept.collect(),
        }
    }
}

/// Returns who made a version. If its migration did, the migration is named beside it.
fn author(record: &MapVersionRecord) -> String {
    match &record.migration {
        Some(id) if id.as_str() == record.by => "the flip of".to_owned(),
        Some(_) => format!("{}, migration", record.by),
        None => record.by.clone(),
    }
}

fn change(map: &ShardMap, difference: &Difference) -> (String, String, String) {
    let owner = |shard: Option<&plans::id::ShardName>| {
        shard.map_or_else(|| "no shard".to_owned(), ToString::to_string)
    };
    (
        match difference.keys {
            KeySet::Range(_) => named_keys(map, &difference.keys),
            KeySet::Hash(_) | KeySet::List(_) => keys_text(&difference.keys),
        },
        owner(difference.from.as_ref()),
        owner(difference.to.as_ref()),
    )
}

fn no_changes(record: Option<&MapVersionRecord>, compared: Option<&[Difference]>) -> String {
    match (record, compared) {
        (_, Some([])) => "No key changed its owner in this version.".to_owned(),
        (_, Some(_)) => String::new(),
        (Some(record), None) if record.version == MapVersion(1) => "The first version.".to_owned(),
        (Some(record), None) => format!(
            "It added {} pieces and removed {}.",
            count(record.added),
            count(record.removed)
        ),
        (None, None) => String::new(),
    }
}
