//! What a request would do, beside the form: the map now and afterwards, with the moving keys marked. Agents are not
//! asked, so there are no figures but those of the last measurement.

use super::check::CheckedRequest;
use crate::controller::{ControlError, Controller, MapLoad};
use crate::dashboard::bars::{Bar, Palette};
use crate::view::figures::{ago, bytes, count};
use askama::Template;
use plans::id::MigrationId;
use plans::key_set::KeySet;
use plans::planner::Outline;
use plans::shard_map::ShardMap;

/// A map with more mappings is not drawn while a request is typed.
const MAX_DRAWN: usize = 5_000;
/// The maximum number of moves that are listed.
const MAX_LISTED: usize = 8;

/// What the request would do.
#[derive(Template, Default)]
#[template(path = "request/preview.html")]
pub(super) struct RequestPreview {
    map: String,
    now: Option<Bar>,
    afterwards: Option<Bar>,
    moves: Vec<(String, String, String)>,
    hidden: usize,
    /// The load of the moving keys, by the last measurement.
    amount: Option<String>,
    /// Whether the moves depend on a measurement that is only made for a plan.
    depends_on_load: bool,
    /// The shards with their colours.
    shards: Vec<(String, String)>,
}

impl RequestPreview {
    /// Draws what a request would do; without an outline, only the map.
    pub(super) async fn read(
        controller: &Controller,
        map: Option<&ShardMap>,
        checked: &CheckedRequest,
    ) -> Result<Self, ControlError> {
        let Some(map) = map else {
            return Ok(Self::default());
        };
        let fleet = controller.store().shards().await?;
        let palette = Palette::of(fleet.iter().map(|shard| shard.name.clone()));
        let outline = checked.outline();
        let moves = outline.map_or(&[][..], |outline| &outline.moves);
        let is_small = map.mappings.len() <= MAX_DRAWN;
        let keys: Vec<KeySet> = moves.iter().map(|planned| planned.keys.clone()).collect();
        let afterwards = outline
            .filter(|_| is_small)
            .and_then(|outline| after(map, outline));
        let mut shown: Vec<_> = map
            .mappings
            .iter()
            .take(MAX_DRAWN)
            .map(|m| m.shard.clone())
            .collect();
        shown.extend(moves.iter().map(|planned| planned.target.clone()));
        shown.sort();
        shown.dedup();
        let load = controller.last_load(&map.name);
        let amount = load.filter(|_| !keys.is_empty()).map(|measured| {
            format!(
                "{}, measured {}",
                amount(&measured.load, &keys),
                ago(measured.at)
            )
        });
        Ok(Self {
            map: map.name.to_string(),
            now: is_small.then(|| Bar::with_marked_keys(map, &keys, &palette)),
            afterwards: afterwards.map(|map| Bar::new(&map, &palette)),
            moves: moves
                .iter()
                .take(MAX_LISTED)
                .map(|m| {
                    (
                        m.keys.to_string(),
                        m.source.to_string(),
                        m.target.to_string(),
                    )
                })
                .collect(),
            hidden: moves.len().saturating_sub(MAX_LISTED),
            amount,
            depends_on_load: checked.depends_on_load(),
            shards: shown
                .iter()
                .take(MAX_LISTED)
                .map(|shard| (shard.to_string(), palette.class(shard)))
                .collect(),
        })
    }
}

/// Returns the map after all moves; `None` if a move does not fit it.
fn after(map: &ShardMap, outline: &Outline) -> Option<ShardMap> {
    let migration = MigrationId::from("preview");
    let mut after = map.clone();
    for planned in &outline.moves {
        let next = after.with_moved(&planned.keys, &planned.source, &planned.target, &migration);
        after = next.ok()?;
    }
    Some(after)
}

/// Describes the measured load of the items whose keys move.
fn amount(load: &MapLoad, keys: &[KeySet]) -> String {
    let moving = load
        .items
        .iter()
        .filter(|item| keys.iter().any(|keys| keys.covers(&item.item.keys)));
    let (rows, size) = moving.fold((0_u64, 0_u64), |(rows, size), item| {
        (
            rows.saturating_add(item.item.rows),
            size.saturating_add(item.item.bytes),
        )
    });
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    format!(
        "At least {} rows ({})",
        count(signed(rows)),
        bytes(signed(size))
    )
}
