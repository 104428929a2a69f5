//! The head of a map's page: the picture, what decides its widths, its version, its legend, and the last measurement.

use super::MapPageInput;
use super::bar::{BarInput, MapBarView};
use super::figures::BarMeasure;
use super::keys::division_text;
use super::legend::{self, MapLegendEntry};
use super::owned::OwnedByShard;
use super::timeline::MapTimeline;
use crate::view::figures::{ago, count};
use askama::Template;
use plans::doctor::Finding;

/// The head of the page.
#[derive(Template)]
#[template(path = "map/picture.html")]
pub(super) struct MapPictureView {
    name: String,
    path: String,
    what: String,
    measures: Vec<MeasureChoice>,
    timeline: MapTimeline,
    bar: MapBarView,
    /// What the picture does not show.
    notes: Vec<String>,
    /// The URL of the whole bar, if only a part of it is shown.
    whole: Option<String>,
    legend: Vec<MapLegendEntry>,
    hidden: usize,
    measured: Option<MeasuredText>,
    /// Whether the page offers a measurement.
    may_measure: bool,
    csrf: String,
}

/// One of the measures that can decide the widths.
struct MeasureChoice {
    name: &'static str,
    href: String,
    is_chosen: bool,
    /// Why it cannot be chosen.
    why_not: Option<&'static str>,
}

/// The last measurement.
struct MeasuredText {
    at: String,
    how: String,
    findings: Vec<Finding>,
}

impl MapPictureView {
    pub(super) fn new(input: &MapPageInput, owned: &OwnedByShard<'_>) -> Self {
        let map = input.marked.bare();
        let load = input.load.as_ref().map(|measured| measured.load.as_ref());
        let changes = input.changes.of_shown(map.version).unwrap_or_default();
        let changed: Vec<_> = changes.iter().map(|change| change.keys.clone()).collect();
        let bar = MapBarView::new(&BarInput {
            marked: &input.marked,
            sight: &input.sight,
            palette: &input.palette,
            load,
            figures: &input.figures,
            since: &|keys| input.changes.since(keys),
            changed: &changed,
            may_plan: input.may_plan && input.sight.version.is_none(),
        });
        let (legend, hidden) = legend::entries(
            owned,
            &input.names,
            &input.palette,
            &input.sight,
            map.buckets,
        );
        let notes = notes(input, &bar);
        Self {
            name: map.name.to_string(),
            path: super::query::path_segment(map.name.as_str()),
            what: division_text(map),
            measures: BarMeasure::ALL.map(|measure| choice(input, measure)).into(),
            timeline: MapTimeline::new(map, &input.history, &input.changes, &input.sight),
            notes,
            whole: input
                .sight
                .part
                .as_ref()
                .map(|_| input.sight.within(None).href()),
            bar,
            legend,
            hidden,
            measured: input.load.as_ref().map(|measured| MeasuredText {
                at: ago(measured.at),
                how: how_text(&measured.load),
                findings: measured.load.findings.clone(),
            }),
            may_measure: input.may_plan,
            csrf: input.csrf.clone(),
        }
    }

    /// Returns whether there are several versions to choose from.
    /// Returns whether a listed shard has no key of the map.
    fn has_others(&self) -> bool {
        self.legend.iter().any(|entry| !entry.owns_keys)
    }

    fn has_versions(&self) -> bool {
        self.timeline.newest > 1
    }
}

fn choice(input: &MapPageInput, measure: BarMeasure) -> MeasureChoice {
    let load = input.load.as_ref().map(|measured| &measured.load);
    let has_any = input.figures.iter().any(|figures| figures.of(measure) > 0);
    let why_not = match (measure, load) {
        (BarMeasure::Keys, _) => None,
        (_, None) => Some("not measured yet"),
        (BarMeasure::Writes, Some(load)) if load.watched_ms == 0 => {
            Some("the last measurement did not count writes")
        }
        (_, Some(_)) if !has_any => Some("the last measurement found none"),
        (_, Some(_)) => None,
    };
    MeasureChoice {
        name: measure.name(),
        href: input.sight.by(measure).href(),
        is_chosen: input.sight.by == measure,
        why_not,
    }
}

/// Describes how the load was measured.
fn how_text(load: &crate::controller::MapLoad) -> String {
    let writes = match load.watched_ms {
        0 => "writes were not counted".to_owned(),
        ms => format!("writes were counted for {:.1} s", ms as f64 / 1000.0),
    };
    let rows = match load.sampled {
        true => "rows and bytes are estimated from samples",
        false => "rows and bytes are counted",
    };
    format!("at version {}; {rows}; {writes}", load.version)
}

/// Describes what the picture does not show as it is.
fn notes(input: &MapPageInput, bar: &MapBarView) -> Vec<String> {
    let mut notes = Vec::new();
    let number = |number: usize| count(i64::try_from(number).unwrap_or(i64::MAX));
    let below = match (bar.has_heat, bar.has_pins) {
        (true, true) => {
            "The strip is darker where more is written; below it: the keys with the most writes, each below its piece."
        }
        (true, false) => "The strip is darker where more is written.",
        (false, true) => "Below the bar: the keys with the most rows, each below its piece.",
        (false, false) => "",
    };
    notes.extend(Some(below.to_owned()).filter(|text| !text.is_empty()));
    if bar.together > 0 {
        notes.push(format!(
            "{} of {} pieces are thinner than a pixel and are drawn together with their neighbours; select one to see its part of the map.",
            number(bar.together),
            number(bar.pieces)
        ));
    }
    if bar.has_open_ends {
        notes.push(
            "How many keys a range without a bound has is not known: it has a fixed width."
                .to_owned(),
        );
    }
    let map = input.marked.bare();
    let exceptions = map.exceptions().count();
    if exceptions > 0 {
        notes.push(format!(
            "Keys with another owner than their virtual shard: {}, each marked at its virtual shard.",
            number(exceptions)
        ));
    }
    if bar.pieces == 0 {
        notes.push("Nothing of this measure was found on this map.".to_owned());
    }
    notes
}
