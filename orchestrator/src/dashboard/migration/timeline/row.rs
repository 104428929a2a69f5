//! The rows of the timeline and their bars.

use crate::dashboard::marks::StateMark;

/// A phase of the migration.
pub(super) struct TimelinePhase {
    pub(super) id: String,
    pub(super) is_current: bool,
    pub(super) row: TimelineRow,
    /// The steps, if there are several.
    pub(super) steps: Vec<TimelineRow>,
}

/// A row: a phase or a step.
pub(super) struct TimelineRow {
    pub(super) name: String,
    /// The step to whose details the name links.
    pub(super) step: Option<String>,
    pub(super) mark: StateMark,
    pub(super) took: String,
    pub(super) bars: Vec<TimelineBar>,
}

impl TimelineRow {
    /// Returns the row in words.
    pub(super) fn label(&self) -> String {
        let bars = self.bars.iter().map(|bar| bar.title.as_str());
        let parts = [self.name.as_str(), self.mark.text, self.took.as_str()];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.chain(bars).collect::<Vec<_>>().join("; ")
    }

    /// Returns whether the state is worth a chip: it is neither done nor later.
    pub(super) fn is_notable(&self) -> bool {
        !matches!(self.mark.text, "done" | "pending" | "not needed")
    }
}

/// A rectangle in a row.
#[derive(Debug, Clone)]
pub(super) struct TimelineBar {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) class: &'static str,
    pub(super) title: String,
}
