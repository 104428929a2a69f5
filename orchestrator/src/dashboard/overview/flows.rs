//! The unfinished moves, drawn beside the rows of the shards: an arrow from the source's row to the target's row. A move
//! whose keys have a new owner, but whose old rows are kept, has a quiet arrow; after a rollback it points to the source.
//!
//! Positions are in pixels. The height of a row is that of the style sheet.

use super::super::done_part::DonePart;
use super::super::marks;
use super::super::open::OpenMigration;
use super::super::palette::Palette;
use super::super::step_words::step_words;
use super::flow_style::FlowStyle;
use crate::view::MigrationView;
use crate::view::figures::{bytes, seconds};
use crate::view::sentence::current;
use askama::Template;
use plans::id::ShardName;
use plans::state::migration::MigrationState;
use std::collections::{BTreeMap, BTreeSet};

/// The place of each shard's row.
pub(super) type RowPlaces<'a> = BTreeMap<&'a ShardName, usize>;

/// The height of a row.
const ROW_HEIGHT: usize = 40;
/// The distance between two arrows side by side.
const LANE_WIDTH: usize = 14;
/// The maximum number of drawn moves.
const MAX_FLOWS: usize = 12;

/// The drawing.
#[derive(Template)]
#[template(path = "overview/flows.html")]
pub(super) struct FleetFlows {
    pub(super) flows: Vec<FleetFlow>,
    width: usize,
    height: usize,
    /// The number of unfinished moves that are not drawn.
    pub(super) hidden: usize,
}

/// A move.
pub(super) struct FleetFlow {
    id: String,
    /// The colour of the source.
    colour: String,
    /// The outline of the arrow, as an SVG path.
    path: String,
    head: String,
    label_x: usize,
    label_y: usize,
    /// The line from the arrow to its label.
    leader: String,
    what: String,
    figures: String,
    style: FlowStyle,
}

impl FleetFlow {
    /// Returns the CSS class of the style.
    fn class(&self) -> &'static str {
        self.style.class()
    }

    /// Returns the estimated width of the label.
    fn label_width(&self) -> usize {
        let (what, figures) = (self.what.chars().count(), self.figures.chars().count());
        (what * 15 / 2).max(figures * 27 / 4) + 8
    }
}

impl FleetFlows {
    /// Draws the moves of `unfinished` that have started, between shards that have a row. Those that have not flipped come
    /// first.
    pub(super) fn new(
        unfinished: &[OpenMigration],
        places: &RowPlaces<'_>,
        palette: &Palette,
    ) -> Self {
        let mut drawable: Vec<(&MigrationView, FlowStyle, usize, usize)> = unfinished
            .iter()
            .filter_map(|migration| {
                let view = &migration.view;
                let style = FlowStyle::of(view)?;
                let source = *places.get(&view.summary.source)?;
                let target = *places.get(&view.summary.target)?;
                Some(match style {
                    FlowStyle::RolledBack => (view, style, target, source),
                    FlowStyle::Busy | FlowStyle::Idle | FlowStyle::Held => {
                        (view, style, source, target)
                    }
                })
            })
            .collect();
        drawable.sort_by_key(|(_, style, _, _)| style.is_quiet());
        let limit = MAX_FLOWS.min(places.len());
        let lanes = drawable.len().min(limit);
        let mut free: BTreeSet<usize> = (0..places.len()).collect();
        let mut flows = Vec::with_capacity(lanes);
        for (lane, (view, style, from, to)) in drawable.iter().take(limit).enumerate() {
            let Some(slot) = nearest(&free, usize::midpoint(*from, *to)) else {
                break;
            };
            free.remove(&slot);
            let place = FlowPlace {
                lane,
                lanes,
                from: *from,
                to: *to,
                slot,
            };
            flows.push(flow(view, *style, place, palette));
        }
        Self {
            hidden: drawable.len() - flows.len(),
            width: label_x(lanes) + flows.iter().map(FleetFlow::label_width).max().unwrap_or(0),
            height: places.len() * ROW_HEIGHT,
            flows,
        }
    }
}

impl FleetFlows {
    /// Returns the styles of the drawn arrows: the CSS class, and what it means.
    pub(super) fn legend(&self) -> Vec<(&'static str, &'static str)> {
        let kinds = [
            (FlowStyle::Busy, "moves rows now"),
            (
                FlowStyle::Idle,
                "waits, is paused, has failed or is aborted",
            ),
            (
                FlowStyle::Held,
                "keys moved; points to their owner, the other copy is kept until Finish",
            ),
        ];
        let is_drawn =
            |class: &'static str| self.flows.iter().any(|flow| flow.style.class() == class);
        kinds
            .into_iter()
            .map(|(style, words)| (style.class(), words))
            .filter(|(class, _)| is_drawn(class))
            .collect()
    }
}

/// Returns the free row that is nearest to `wanted`.
fn nearest(free: &BTreeSet<usize>, wanted: usize) -> Option<usize> {
    free.iter()
        .copied()
        .min_by_key(|slot| slot.abs_diff(wanted))
}

fn label_x(lanes: usize) -> usize {
    24 + lanes * LANE_WIDTH
}

/// Where a move is drawn.
#[derive(Clone, Copy)]
struct FlowPlace {
    lane: usize,
    lanes: usize,
    /// The row of the source, and that of the target.
    from: usize,
    to: usize,
    /// The row of the label.
    slot: usize,
}

fn flow(view: &MigrationView, style: FlowStyle, place: FlowPlace, palette: &Palette) -> FleetFlow {
    let middle = |row: usize| row * ROW_HEIGHT + ROW_HEIGHT / 2;
    // Arrows of several moves of one shard begin and end beside each other.
    let shift = place.lane % 3 * 5;
    let (start, end) = (middle(place.from) + shift - 5, middle(place.to) + shift - 5);
    let x = 16 + place.lane * LANE_WIDTH;
    let (label_x, label_y) = (label_x(place.lanes), middle(place.slot));
    let summary = &view.summary;
    FleetFlow {
        id: summary.id.to_string(),
        colour: palette.class(&summary.source),
        path: format!("M2 {start}H{x}V{end}H8"),
        head: format!("M10 {}L2 {end}L10 {}z", end - 5, end + 5),
        leader: format!("M{x} {}H{}", clamped(label_y, start, end), label_x - 6),
        label_x,
        label_y,
        what: format!(
            "{} {} → {}",
            summary.operation, summary.source, summary.target
        ),
        figures: if style.is_quiet() {
            quiet_figures(view, style)
        } else {
            figures(view)
        },
        style,
    }
}

/// Returns `y`, moved to the nearest point of the vertical part of the arrow.
fn clamped(y: usize, start: usize, end: usize) -> usize {
    y.clamp(start.min(end), start.max(end))
}

/// Returns a remaining time for a picture, without seconds if it is longer than a minute.
fn whole_minutes(eta: f64) -> String {
    match eta {
        eta if eta < 60.0 || !eta.is_finite() => seconds(eta),
        eta if eta < 3600.0 => format!("{:.0} min", eta / 60.0),
        eta => {
            let minutes = (eta / 60.0).round();
            format!(
                "{:.0} h {:.0} min",
                (minutes / 60.0).floor(),
                minutes % 60.0
            )
        }
    }
}

/// Describes a move whose old rows or copy are kept: the state, and the owner of the keys.
fn quiet_figures(view: &MigrationView, style: FlowStyle) -> String {
    let m = &view.summary;
    let owner = match style {
        FlowStyle::RolledBack => &m.source,
        FlowStyle::Busy | FlowStyle::Idle | FlowStyle::Held => &m.target,
    };
    format!(
        "{} · {owner} owns the keys",
        marks::of_migration(m.state).text
    )
}

/// Describes the progress of a move: what is done, rate, remaining time of the step.
fn figures(view: &MigrationView) -> String {
    let mut parts = Vec::new();
    let state = view.summary.state;
    if state != MigrationState::Running {
        parts.push(marks::of_migration(state).text.to_owned());
    }
    parts.extend(DonePart::of(view).map(|done| done.text));
    let step = current(view);
    let progress = step.and_then(|step| step.progress.as_ref());
    if let Some(progress) = progress.filter(|_| state == MigrationState::Running) {
        if progress.bytes_per_second > 0.0 {
            parts.push(format!("{}/s", bytes(progress.bytes_per_second as i64)));
        }
        if let (Some(eta), Some(step)) = (progress.eta_seconds, step) {
            parts.push(format!("{} ~{}", step_words(step.kind), whole_minutes(eta)));
        }
    }
    parts.join(" · ")
}
