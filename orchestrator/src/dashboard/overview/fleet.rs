//! The fleet as a picture: a row for each shard with a bar, and the running moves as flows between the rows.
//!
//! A value that was not measured has no bar. The bar of a shard that the last probe did not reach has its last value and
//! is drawn as outdated.

use super::super::marks::StateMark;
use super::super::open::OpenMigration;
use super::super::palette::Palette;
use super::super::prober::OtherProber;
use super::super::reachability::ShardReachability;
use super::super::shards::{ShardState, imbalance, measure_text};
use super::flows::{FleetFlows, RowPlaces};
use super::trend::ImbalanceTrend;
use crate::controller::FleetMeasure;
use crate::view::figures::{count, file_size};
use crate::view::server::rate_text;
use askama::Template;
use plans::id::ShardName;
use std::collections::BTreeSet;

/// The maximum number of drawn shards.
const MAX_ROWS: usize = 24;

/// The picture.
#[derive(Template)]
#[template(path = "overview/fleet.html")]
pub(super) struct FleetPicture {
    rows: Vec<FleetRow>,
    /// The number of shards that are not drawn.
    hidden: usize,
    total: String,
    /// How many times its fair share the most loaded shard has, as text.
    imbalance: Option<String>,
    trend: Option<ImbalanceTrend>,
    measures: Vec<FleetMeasureChoice>,
    flows: FleetFlows,
    connected_agents: usize,
    /// The note of a controller that does not probe.
    prober: Option<OtherProber>,
}

struct FleetMeasureChoice {
    name: &'static str,
    is_chosen: bool,
}

struct FleetRow {
    name: String,
    colour: String,
    /// The length of the bar, in percent; `None`: it was not measured.
    bar: Option<f64>,
    /// The position of the value at which the shard is full, in percent.
    limit: Option<f64>,
    value: String,
    /// The other measures, each with its unit.
    facts: Vec<String>,
    /// The mark of a shard that is not reachable.
    mark: Option<StateMark>,
    /// When a probe last reached a shard that is not reachable now, as HTML.
    reached: Option<String>,
    is_outdated: bool,
}

/// What the picture is made of.
pub(super) struct FleetParts<'a> {
    pub(super) shards: &'a [ShardState<'a>],
    pub(super) unfinished: &'a [OpenMigration],
    pub(super) measure: FleetMeasure,
    /// The imbalance of the last day by the measure.
    pub(super) trend: Option<ImbalanceTrend>,
    pub(super) connected_agents: usize,
    pub(super) prober: Option<OtherProber>,
}

impl FleetPicture {
    /// Draws the fleet.
    pub(super) fn new(parts: FleetParts<'_>) -> Self {
        let FleetParts {
            shards,
            unfinished,
            measure,
            trend,
            connected_agents,
            prober,
        } = parts;
        let palette = Palette::of(shards.iter().map(|shard| shard.record.name.clone()));
        let drawn = select_shards(shards, unfinished, measure);
        let scale = scale(&drawn, measure);
        let places: RowPlaces<'_> = drawn
            .iter()
            .enumerate()
            .map(|(place, shard)| (&shard.record.name, place))
            .collect();
        let factor = imbalance(measure, shards);
        Self {
            flows: FleetFlows::new(unfinished, &places, &palette),
            rows: drawn
                .iter()
                .map(|shard| row(shard, measure, scale, &palette))
                .collect(),
            hidden: shards.len() - drawn.len(),
            total: count(i64::try_from(shards.len()).unwrap_or(i64::MAX)),
            imbalance: factor.map(|factor| format!("{factor:.2}")),
            trend,
            measures: FleetMeasure::ALL
                .map(|each| FleetMeasureChoice {
                    name: each.name(),
                    is_chosen: each == measure,
                })
                .into(),
            connected_agents,
            prober,
        }
    }
}

/// Returns the shards to draw, ordered by name: all of them if there is room, otherwise those that are unreachable or
/// have a running move, then those with the greatest values.
fn select_shards<'a>(
    shards: &'a [ShardState<'a>],
    unfinished: &[OpenMigration],
    measure: FleetMeasure,
) -> Vec<&'a ShardState<'a>> {
    if shards.len() <= MAX_ROWS {
        return shards.iter().collect();
    }
    let moving: BTreeSet<&ShardName> = unfinished
        .iter()
        .filter(|migration| migration.view.summary.started_at.is_some())
        .flat_map(|migration| {
            let summary = &migration.view.summary;
            [&summary.source, &summary.target]
        })
        .collect();
    let mut by_weight: Vec<(u8, f64, &ShardState<'_>)> = shards
        .iter()
        .map(|shard| {
            let class = match shard.reachability() {
                _ if moving.contains(&shard.record.name) => 2,
                ShardReachability::Unreachable => 1,
                ShardReachability::Reachable | ShardReachability::NotProbed => 0,
            };
            (class, shard.value(measure).unwrap_or_default(), shard)
        })
        .collect();
    by_weight.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    by_weight.truncate(MAX_ROWS);
    let mut drawn: Vec<&ShardState<'_>> =
        by_weight.into_iter().map(|(_, _, shard)| shard).collect();
    drawn.sort_by(|a, b| a.record.name.cmp(&b.record.name));
    drawn
}

/// Returns the value that has the whole width.
fn scale(shards: &[&ShardState<'_>], measure: FleetMeasure) -> f64 {
    let values = shards
        .iter()
        .flat_map(|shard| [shard.value(measure), shard.limit(measure)]);
    values.flatten().fold(0.0, f64::max)
}

fn row(shard: &ShardState<'_>, measure: FleetMeasure, scale: f64, palette: &Palette) -> FleetRow {
    let percent = |value: f64| {
        if scale > 0.0 {
            (value * 1000.0 / scale).round() / 10.0
        } else {
            0.0
        }
    };
    let value = shard.value(measure);
    let limit = shard.limit(measure);
    let text = |value| measure_text(measure, value);
    let reachability = shard.reachability();
    let is_reachable = reachability == ShardReachability::Reachable;
    FleetRow {
        name: shard.record.name.to_string(),
        colour: palette.class(&shard.record.name),
        bar: value.map(percent),
        limit: limit.map(percent),
        value: match (value, limit) {
            (Some(value), Some(limit)) => {
                format!("{} of {}", text(value), text(limit))
            }
            (Some(value), None) => text(value),
            (None, _) => "not measured".to_owned(),
        },
        facts: facts(shard, measure),
        mark: (!is_reachable).then(|| shard.mark()),
        reached: shard.reached().filter(|_| !is_reachable),
        is_outdated: reachability == ShardReachability::Unreachable,
    }
}

/// Returns what is known of a shard besides the chosen measure.
fn facts(shard: &ShardState<'_>, measure: FleetMeasure) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(figures) = &shard.probed.figures
        && measure != FleetMeasure::Size
    {
        facts.push(file_size(figures.bytes));
    }
    if shard.record.is_standby() {
        facts.push("a standby".to_owned());
    }
    let Some(activity) = shard.probed.activity.as_deref() else {
        return facts;
    };
    if let Some(rate) = activity.written_per_second
        && measure != FleetMeasure::Writes
    {
        facts.push(rate_text(rate, "write"));
    }
    if measure != FleetMeasure::Connections {
        let connections = count(i64::from(activity.now.connections));
        facts.push(format!("{connections} connections"));
    }
    match activity.now.standbys.as_slice() {
        [] => {}
        [standby] => facts.push(match standby.lag_bytes {
            Some(lag) => format!("1 standby, {} behind", file_size(lag)),
            None => "1 standby".to_owned(),
        }),
        standbys => facts.push(format!("{} standbys", standbys.len())),
    }
    facts
}
