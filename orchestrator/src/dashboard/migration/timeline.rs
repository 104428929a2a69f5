//! The timeline of a migration: a row for each phase, with the attempts of its steps and the waits between them.
//!
//! The browser gets a new drawing only if it would look different: `now` is rounded to what can be seen.

mod row;
mod runs;
mod scale;

use super::super::graph::StepGraphView;
use super::super::step_words::step_words;
use super::phases::{PhaseOfSteps, phases, waiting_mark};
use super::steps::StepsView;
use crate::store::Event;
use crate::time_axis::time_text;
use crate::view::figures::{millis, seconds};
use crate::view::sentence::current;
use crate::view::{MigrationView, StepView, Tone};
use askama::Template;
use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use plans::request::Hold;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use row::{TimelineBar, TimelinePhase, TimelineRow};
use runs::{RunEnd, StepRun, StepWait, reason, step_runs, step_waits, stops};
use scale::{AxisBreak, AxisTick, TimeScale};

/// The number of steps into which the width is divided when `now` is rounded.
const RESOLUTION: i32 = 400;
/// The predicted end of a step is drawn up to this multiple of the time that has passed.
const MAX_PREDICTED: i32 = 2;

/// The timeline, with the table and the graph of the steps as details.
#[derive(Template)]
#[template(path = "migration/timeline.html")]
pub(super) struct TimelineView {
    migration: String,
    ticks: Vec<AxisTick>,
    breaks: Vec<AxisBreak>,
    /// Where the present is, if the migration has not ended.
    now: Option<f64>,
    day: String,
    phases: Vec<TimelinePhase>,
    steps: StepsView,
    graph: StepGraphView,
}

/// What is drawn, and where.
struct TimelineDrawing<'a> {
    view: &'a MigrationView,
    now: DateTime<Utc>,
    span: TimeDelta,
    scale: TimeScale,
    stops: Vec<StepWait>,
    /// The runs of each step of the view.
    runs: Vec<Vec<StepRun>>,
}

impl TimelineView {
    /// Draws the timeline of a migration; `events` is its journal.
    pub(super) fn new(view: &MigrationView, events: &[Event], now: DateTime<Utc>) -> Self {
        let drawing = TimelineDrawing::new(view, events, now);
        let ended = view.summary.finished_at.is_some();
        Self {
            migration: view.summary.id.to_string(),
            ticks: drawing.scale.ticks(),
            breaks: drawing.scale.breaks(),
            now: (!ended).then(|| drawing.scale.x(drawing.now)),
            day: began(view).format("%Y-%m-%d").to_string(),
            phases: phases(view).iter().map(|p| drawing.phase(p)).collect(),
            steps: StepsView::new(view),
            graph: StepGraphView::new(&view.summary.id, &view.steps),
        }
    }
}

fn began(view: &MigrationView) -> DateTime<Utc> {
    let m = &view.summary;
    m.started_at.unwrap_or(m.created_at)
}

/// Rounds a time down to what can be distinguished on the timeline.
fn rounded(now: DateTime<Utc>, from: DateTime<Utc>) -> DateTime<Utc> {
    let unit = ((now - from) / RESOLUTION).num_seconds().max(1);
    now.duration_trunc(TimeDelta::seconds(unit)).unwrap_or(now)
}

impl<'a> TimelineDrawing<'a> {
    fn new(view: &'a MigrationView, events: &[Event], now: DateTime<Utc>) -> Self {
        let from = began(view);
        // `now` is rounded down, but not to before the newest line of the journal.
        let newest = events.last().map_or(from, |event| event.at);
        let now = rounded(now, from).max(newest);
        let now = view.summary.finished_at.unwrap_or(now);
        let runs: Vec<Vec<StepRun>> = view
            .steps
            .iter()
            .map(|step| step_runs(step, events, now))
            .collect();
        let steps = view.steps.iter().zip(&runs);
        let worked = steps.filter(|(step, _)| !is_hold(step));
        let mut work: Vec<_> = worked
            .flat_map(|(_, runs)| runs.iter().map(|run| (run.from, run.to)))
            .collect();
        let from = work.iter().map(|(from, _)| *from).fold(from, DateTime::min);
        let latest = work.iter().map(|(_, to)| *to).fold(now, DateTime::max);
        let predicted =
            predicted_end(&view.steps, now).map(|end| end.min(now + (now - from) * MAX_PREDICTED));
        work.extend(predicted.map(|end| (now, end)));
        let to = predicted.unwrap_or(latest).max(latest);
        Self {
            view,
            now,
            span: to - from,
            scale: TimeScale::new(from, to, work),
            stops: stops(events, now),
            runs,
        }
    }

    fn phase(&self, phase: &PhaseOfSteps<'_>) -> TimelinePhase {
        let steps: Vec<TimelineRow> = phase.steps.iter().map(|step| self.step(step)).collect();
        let is_single = steps.len() == 1;
        let bars = steps.iter().flat_map(|row| row.bars.clone()).collect();
        TimelinePhase {
            id: phase.name.to_lowercase().replace(' ', "-"),
            is_current: phase.is_current,
            row: TimelineRow {
                name: phase.name.to_owned(),
                step: phase
                    .steps
                    .first()
                    .filter(|_| is_single)
                    .map(|s| s.id.to_string()),
                mark: phase.mark,
                took: self.took(&phase.steps),
                bars,
            },
            steps: if is_single { Vec::new() } else { steps },
        }
    }

    fn step(&self, step: &StepView) -> TimelineRow {
        let mut bars = self.wait_bars(step);
        bars.extend(self.runs_of(step).iter().map(|run| self.run_bar(step, run)));
        bars.extend(self.predicted_bar(step));
        TimelineRow {
            name: step_words(step.kind).to_owned(),
            step: Some(step.id.to_string()),
            mark: super::super::marks::of_step(step.state),
            took: self.took(&[step]),
            bars,
        }
    }

    fn runs_of(&self, step: &StepView) -> &[StepRun] {
        let index = self.view.steps.iter().position(|each| each.id == step.id);
        index
            .and_then(|index| self.runs.get(index))
            .map_or(&[], Vec::as_slice)
    }

    fn bar(
        &self,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        class: &'static str,
        what: &str,
    ) -> TimelineBar {
        let to = to.max(from);
        let (x, end) = (self.scale.x(from), self.scale.x(to));
        let time = |at| time_text(at, self.span);
        let took = millis((to - from).num_milliseconds());
        TimelineBar {
            x,
            width: ((end - x) * 100.0).round() / 100.0,
            class,
            title: format!("{what}, {} to {} UTC, {took}", time(from), time(to)),
        }
    }

    fn run_bar(&self, step: &StepView, run: &StepRun) -> TimelineBar {
        let (class, what) = match run.end {
            _ if is_hold(step) => ("hold", "kept in step"),
            RunEnd::Running => ("busy", "running"),
            RunEnd::Completed => ("done", "done"),
            RunEnd::Failed => ("bad", "attempt failed"),
            RunEnd::Interrupted => ("stopped", "interrupted"),
        };
        self.bar(
            run.from,
            run.to,
            class,
            &format!("{} {what}", step_words(step.kind)),
        )
    }

    /// Returns the waits before and between the runs of a step, and the wait that has not ended.
    fn wait_bars(&self, step: &StepView) -> Vec<TimelineBar> {
        let runs = self.runs_of(step);
        let first = runs.first().map(|run| run.from);
        let ends = || self.runs.iter().flatten().map(|run| run.to);
        let free_since = first.and_then(|first| ends().filter(|end| *end <= first).max());
        let free_since = free_since.or(self.view.summary.started_at.filter(|_| first.is_some()));
        let waits = step_waits(runs, free_since, &self.stops);
        let mut bars: Vec<TimelineBar> = waits
            .iter()
            .map(|wait| self.bar(wait.from, wait.to, "wait", &wait.why))
            .collect();
        if self.waits_now(step) {
            let from = ends().max().unwrap_or_else(|| began(self.view));
            let is_yours = waiting_mark(self.view).is_some_and(|mark| mark.tone == Tone::Ask)
                || self.view.summary.state == MigrationState::Failed;
            let class = if is_yours { "wait ask" } else { "wait" };
            let why = reason(from, self.now, &self.stops);
            bars.push(self.bar(from, self.now, class, &why));
        }
        bars
    }

    /// Returns whether the migration would continue with this step, but no agent works on it.
    fn waits_now(&self, step: &StepView) -> bool {
        let m = &self.view.summary;
        let is_next = current(self.view).is_some_and(|current| current.id == step.id);
        is_next && m.finished_at.is_none() && step.state != StepState::Running
    }

    fn predicted_bar(&self, step: &StepView) -> Option<TimelineBar> {
        let is_running = step.state == StepState::Running;
        let end = predicted_end(&self.view.steps, self.now).filter(|_| is_running)?;
        Some(self.bar(
            self.now,
            end,
            "later",
            &format!("{} predicted", step_words(step.kind)),
        ))
    }

    /// Returns how long agents worked on these steps, or why they did not.
    fn took(&self, steps: &[&StepView]) -> String {
        let runs = || steps.iter().flat_map(|step| self.runs_of(step));
        let sum = runs().fold(TimeDelta::zero(), |sum, run| sum + (run.to - run.from));
        let ended = self.view.summary.finished_at.is_some();
        let all = |state: StepState| steps.iter().all(|step| step.state == state);
        let attempts = steps.iter().map(|step| step.attempt).max().unwrap_or(0);
        let attempts = match attempts {
            0 | 1 => String::new(),
            attempts => format!(", {attempts} attempts"),
        };
        match runs().next() {
            _ if all(StepState::Skipped) => "not needed".to_owned(),
            None if steps.iter().all(|step| has_not_run(step)) => {
                if ended { "not run" } else { self.when(steps) }.to_owned()
            }
            None => String::new(),
            // A running time is shown in whole seconds.
            Some(_) if runs().any(|run| run.end == RunEnd::Running) => {
                format!(
                    "{}{attempts}",
                    seconds(sum.num_seconds() as f64).replace(".0 s", " s")
                )
            }
            Some(_) => format!("{}{attempts}", millis(sum.num_milliseconds())),
        }
    }
}

impl TimelineDrawing<'_> {
    /// Returns when steps that have not run begin. What a hold keeps is removed when the hold ends.
    fn when(&self, steps: &[&StepView]) -> &'static str {
        let removes = |step: &&StepView| {
            matches!(
                step.kind,
                StepKind::DropOld | StepKind::DropSurplus | StepKind::DropNew
            )
        };
        let mut all = self.view.steps.iter();
        let holds = all.any(|step| is_hold(step) && step.state == StepState::Running);
        let is_held = holds && self.view.hold_end.is_none();
        match (
            is_held && steps.iter().any(removes),
            self.view.plan.options.hold,
        ) {
            (true, Hold::UntilFinish) => "waits for Finish",
            (true, Hold::Seconds(_)) => "after the hold",
            (false, _) => "later",
        }
    }
}

fn has_not_run(step: &StepView) -> bool {
    matches!(step.state, StepState::Pending | StepState::Skipped)
}

fn is_hold(step: &StepView) -> bool {
    matches!(step.kind, StepKind::Hold | StepKind::HoldBack)
}

/// Returns the end of the running step that its agent predicts.
fn predicted_end(steps: &[StepView], now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let step = steps.iter().find(|step| step.state == StepState::Running)?;
    let left = step.progress.as_ref()?.eta_seconds?;
    let left = TimeDelta::try_milliseconds((left * 1e3) as i64)?;
    (left > TimeDelta::zero()).then(|| now + left)
}

#[cfg(test)]
mod tests;
