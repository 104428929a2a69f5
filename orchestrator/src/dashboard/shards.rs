//! The list of the shards: reachability, size, load, keys and moves of each; and the page of one shard.

mod keys;
mod measure;
pub(super) mod one;
mod state;

use super::marks::StateMark;
use super::page::{DashboardPage, Fragment, PageError};
use super::palette::Palette;
use super::prober::OtherProber;
use super::reachability::ShardReachability;
use crate::access::{Caller, RouteAccess};
use crate::controller::{ControlError, Controller, FleetMeasure};
use crate::view::figures::count;
use askama::Template;
use axum::Extension;
use axum::extract::{Query, State};
pub(super) use keys::KeyTotal;
use keys::keys_by_shard;
pub(super) use measure::measure_text;
use plans::id::ShardName;
use serde::Deserialize;
pub(super) use state::{ShardState, imbalance};
use std::collections::BTreeMap;

/// The number of rows in a page.
const PAGE_ROWS: usize = 100;

/// The query parameters.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ShardsQuery {
    /// The name of a reachability; empty: all.
    state: String,
    /// Shows only shards in whose name, labels or connection string the text occurs.
    q: String,
    /// The measure by which the list is ordered, the greatest value first; empty: by name.
    by: String,
    /// The page begins after this many shards.
    after: String,
}

impl ShardsQuery {
    fn after(&self) -> usize {
        self.after.parse().unwrap_or_default()
    }

    /// Returns the query string of the page that begins after `after` shards.
    fn query(&self, after: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("state", &self.state), ("q", &self.q), ("by", &self.by)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if after > 0 {
            query.append_pair("after", &after.to_string());
        }
        query.finish()
    }

    fn matches(&self, shard: &ShardState<'_>) -> bool {
        let part = self.q.trim().to_lowercase();
        let contains = |text: &str| text.to_lowercase().contains(&part);
        let record = shard.record;
        let mut labels = record.labels.iter();
        (self.state.is_empty() || shard.reachability().name() == self.state)
            && (part.is_empty()
                || contains(record.name.as_str())
                || contains(&record.dsn)
                || labels.any(|(label, value)| contains(&format!("{label}={value}"))))
    }
}

/// The form above the list.
#[derive(Template)]
#[template(path = "shards/filter.html")]
struct ShardsFilter {
    q: String,
    states: Vec<ShardsChoice>,
    orders: Vec<ShardsChoice>,
    /// The number of shards in each state, as text.
    counts: Vec<String>,
    /// How many times its fair share the largest shard has.
    imbalance: Option<String>,
    /// The note of a controller that does not probe.
    prober: Option<OtherProber>,
}

struct ShardsChoice {
    name: &'static str,
    label: String,
    is_chosen: bool,
}

impl ShardsFilter {
    fn new(query: &ShardsQuery, shards: &[ShardState<'_>], prober: Option<OtherProber>) -> Self {
        let choice = |name: &'static str, label: &str, chosen: &str| ShardsChoice {
            name,
            label: label.to_owned(),
            is_chosen: name == chosen,
        };
        let states = ShardReachability::ALL.map(ShardReachability::name);
        let states = states.map(|name| choice(name, name, &query.state));
        let orders = FleetMeasure::ALL.map(FleetMeasure::name);
        let orders = orders.map(|name| choice(name, name, &query.by));
        let counts = ShardReachability::ALL.into_iter().filter_map(|state| {
            let in_state = shards.iter().filter(|shard| shard.reachability() == state);
            let number = in_state.count();
            (number > 0).then(|| format!("{} {}", count_text(number), state.name()))
        });
        let factor = imbalance(FleetMeasure::Size, shards);
        Self {
            q: query.q.clone(),
            states: [choice("", "all states", &query.state)]
                .into_iter()
                .chain(states)
                .collect(),
            orders: [choice("", "name", &query.by)]
                .into_iter()
                .chain(orders)
                .collect(),
            counts: counts.collect(),
            imbalance: factor.map(|factor| format!("{factor:.2}")),
            prober,
        }
    }
}

/// The rows.
#[derive(Template)]
#[template(path = "shards/list.html")]
struct ShardsList {
    rows: Vec<ShardListRow>,
    is_filtered: bool,
    /// The query of the first page, if this is another one.
    first: Option<String>,
    /// The query of the next page, if there is one.
    more: Option<String>,
    /// The number of the first and of the last row, and of all matching shards.
    range: String,
    may_administer: bool,
}

struct ShardListRow {
    name: String,
    colour: String,
    mark: StateMark,
    /// When a probe last reached the shard, as HTML.
    reached: Option<String>,
    version: Option<String>,
    size: Option<String>,
    /// The size in percent of the largest shard of the page.
    bar: Option<f64>,
    writes: Option<String>,
    connections: Option<String>,
    /// The keys of each map.
    keys: Vec<(String, String)>,
    /// The number of unfinished migrations.
    moves: usize,
}

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<ShardsQuery>,
) -> Result<DashboardPage, PageError> {
    Ok(DashboardPage {
        title: "Shards".to_owned(),
        live: Some(format!("/live/shards?{}", query.query(query.after()))),
        fragments: fragments(&controller, &query, &caller).await?,
        caller: Some(caller),
    })
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(
    controller: &Controller,
    query: &ShardsQuery,
    caller: &Caller,
) -> Result<Vec<Fragment>, ControlError> {
    let store = controller.store();
    let records = store.shards().await?;
    let shards = ShardState::all(controller, &records);
    let palette = Palette::of(records.iter().map(|shard| shard.name.clone()));
    let mut matching: Vec<&ShardState<'_>> =
        shards.iter().filter(|shard| query.matches(shard)).collect();
    if !query.by.is_empty() {
        let measure = FleetMeasure::parse(&query.by);
        let value = |shard: &ShardState<'_>| shard.value(measure).unwrap_or(-1.0);
        matching.sort_by(|a, b| value(b).total_cmp(&value(a)));
    }
    let after = query.after().min(matching.len());
    let page = &matching[after..(after + PAGE_ROWS).min(matching.len())];
    let end = after + page.len();
    let list = ShardsList {
        rows: rows(controller, page, &palette).await?,
        is_filtered: !query.state.is_empty() || !query.q.is_empty(),
        first: (after > 0).then(|| query.query(0)),
        more: (end < matching.len()).then(|| query.query(end)),
        range: format!(
            "{} to {} of {}",
            count_text(after + 1),
            count_text(end),
            count_text(matching.len())
        ),
        may_administer: caller.may(RouteAccess::Administer),
    };
    Ok(vec![
        Fragment::new(
            "filter",
            &ShardsFilter::new(query, &shards, OtherProber::on_page(controller, "/shards")),
        ),
        Fragment::new("list", &list),
    ])
}

async fn rows(
    controller: &Controller,
    page: &[&ShardState<'_>],
    palette: &Palette,
) -> Result<Vec<ShardListRow>, ControlError> {
    let store = controller.store();
    let (maps, unfinished) = (store.maps().await?, store.unfinished().await?);
    let mut keys = keys_by_shard(&maps, page.iter().map(|shard| &shard.record.name));
    let mut moves: BTreeMap<&ShardName, usize> = BTreeMap::new();
    for snapshot in unfinished.iter() {
        let moving = &snapshot.migration.plan.moving;
        *moves.entry(&moving.source).or_default() += 1;
        *moves.entry(&moving.target).or_default() += 1;
    }
    let sizes = page
        .iter()
        .filter_map(|shard| shard.value(FleetMeasure::Size));
    let largest = sizes.fold(0.0, f64::max);
    let row = |shard: &&ShardState<'_>| {
        let text = |measure: FleetMeasure| {
            let value = shard.value(measure)?;
            Some(measure_text(measure, value))
        };
        let size = shard.value(FleetMeasure::Size);
        let name = &shard.record.name;
        ShardListRow {
            name: name.to_string(),
            colour: palette.class(name),
            mark: shard.mark(),
            reached: shard.reached(),
            version: shard.probed.figures.as_ref().map(|f| f.version.clone()),
            size: text(FleetMeasure::Size),
            bar: size
                .filter(|_| largest > 0.0)
                .map(|size| (size * 1000.0 / largest).round() / 10.0),
            writes: text(FleetMeasure::Writes),
            connections: text(FleetMeasure::Connections),
            keys: keys.remove(name).unwrap_or_default(),
            moves: moves.get(name).copied().unwrap_or_default(),
        }
    };
    Ok(page.iter().map(row).collect())
}

fn count_text(number: usize) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX))
}
