//! When agents worked on the steps of a migration, and when nobody worked on them, read from the journal.

use crate::store::Event;
use crate::view::StepView;
use chrono::{DateTime, TimeDelta, Utc};
use plans::state::step::StepState;

/// A shorter time between two runs is not a wait.
const MIN_WAIT: TimeDelta = TimeDelta::milliseconds(500);

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// It has not ended.
    Running,
    Completed,
    Failed,
    /// The agent stopped, or the migration was paused.
    Interrupted,
}

/// A time in which an agent worked on a step: one attempt, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepRun {
    pub(super) from: DateTime<Utc>,
    pub(super) to: DateTime<Utc>,
    pub(super) end: RunEnd,
}

/// A time in which nobody worked on a step that had begun or was next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepWait {
    pub(super) from: DateTime<Utc>,
    pub(super) to: DateTime<Utc>,
    pub(super) why: String,
}

/// Returns the runs of a step, oldest first. A run begins with a dispatch and ends with the next event of the step.
/// Without a journal the step has one run, from its start to its end. A run that has not ended lasts until `now`.
pub(super) fn step_runs(step: &StepView, events: &[Event], now: DateTime<Utc>) -> Vec<StepRun> {
    let of_step = events
        .iter()
        .filter(|event| event.step.as_ref() == Some(&step.id) && event.kind.starts_with("step."));
    let mut runs: Vec<StepRun> = Vec::new();
    let mut begun: Option<DateTime<Utc>> = None;
    for event in of_step {
        if event.kind == "step.dispatched" {
            begun.get_or_insert(event.at);
        } else if let Some(from) = begun.take() {
            runs.push(StepRun {
                from,
                to: event.at,
                end: run_end(&event.kind),
            });
        }
    }
    let is_running = step.state == StepState::Running;
    let unrecorded = step.started_at.filter(|_| runs.is_empty());
    if let Some(from) = begun.or(unrecorded) {
        let (to, end) = match (is_running, step.finished_at) {
            (true, _) => (now, RunEnd::Running),
            (false, Some(to)) => (to, RunEnd::Completed),
            (false, None) => (from, end_without_time(step.state)),
        };
        runs.push(StepRun { from, to, end });
    }
    runs
}

fn run_end(kind: &str) -> RunEnd {
    match kind {
        "step.completed" => RunEnd::Completed,
        "step.faulted" | "step.gave_up" => RunEnd::Failed,
        _ => RunEnd::Interrupted,
    }
}

fn end_without_time(state: StepState) -> RunEnd {
    match state {
        StepState::Failed | StepState::Backoff => RunEnd::Failed,
        StepState::Pending | StepState::Running | StepState::Done | StepState::Skipped => {
            RunEnd::Interrupted
        }
    }
}

/// Returns the waits before and between the runs of a step. `free_since` is when the step could begin: the end of the
/// work before it. `stops` are times in which the migration was stopped, each with its reason.
pub(super) fn step_waits(
    runs: &[StepRun],
    free_since: Option<DateTime<Utc>>,
    stops: &[StepWait],
) -> Vec<StepWait> {
    let mut waits = Vec::new();
    let mut end = free_since;
    for run in runs {
        if let Some(from) = end.filter(|end| run.from - *end >= MIN_WAIT) {
            waits.push(StepWait {
                from,
                to: run.from,
                why: reason(from, run.from, stops),
            });
        }
        end = Some(end.map_or(run.to, |end| end.max(run.to)));
    }
    waits
}

/// Returns why nobody worked between two times: the stop that covers most of it.
pub(super) fn reason(from: DateTime<Utc>, to: DateTime<Utc>, stops: &[StepWait]) -> String {
    let overlap = |stop: &&StepWait| stop.to.min(to) - stop.from.max(from);
    let longest = stops.iter().max_by_key(overlap);
    let longest = longest.filter(|stop| overlap(stop) > TimeDelta::zero());
    longest.map_or_else(|| "waited".to_owned(), |stop| stop.why.clone())
}

/// Returns the times in which the migration did not continue without a command, from its journal.
pub(super) fn stops(events: &[Event], now: DateTime<Utc>) -> Vec<StepWait> {
    let mut stops: Vec<StepWait> = Vec::new();
    let mut open: Option<(DateTime<Utc>, &str)> = None;
    let of_migration = events
        .iter()
        .filter(|event| event.kind.starts_with("migration."));
    for event in of_migration {
        let why = match event.kind.as_str() {
            "migration.held" => Some("waited for an approval"),
            "migration.paused" => Some("paused"),
            "migration.failed" => Some("failed, until it was resumed"),
            "migration.submitted" => Some("waited for its start"),
            _ => None,
        };
        if let Some((from, why)) = open.take() {
            let (to, why) = (event.at, why.to_owned());
            stops.push(StepWait { from, to, why });
        }
        open = why.map(|why| (event.at, why));
    }
    stops.extend(open.map(|(from, why)| StepWait {
        from,
        to: now,
        why: why.to_owned(),
    }));
    stops
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::id::Epoch;
    use plans::step::StepKind;
    use serde_json::Value;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
    }

    fn event(second: i64, kind: &str) -> Event {
        let step = kind.starts_with("step.").then(|| "copy".into());
        Event {
            seq: second,
            at: at(second),
            actor: "controller".to_owned(),
            kind: kind.to_owned(),
            step,
            data: Value::Null,
        }
    }

    fn copy(state: StepState) -> StepView {
        StepView {
            id: "copy".into(),
            kind: StepKind::Copy,
            summary: String::new(),
            state,
            attempt: 1,
            epoch: Epoch(1),
            next_at: None,
            started_at: Some(at(10)),
            finished_at: None,
            worked_ms: None,
            output: None,
            failure: None,
            progress: None,
        }
    }

    fn run(from: i64, to: i64, end: RunEnd) -> StepRun {
        let (from, to) = (at(from), at(to));
        StepRun { from, to, end }
    }

    #[test]
    fn attempts_and_the_waits_between_them_come_from_the_journal() {
        let events = [
            event(10, "step.dispatched"),
            event(15, "step.faulted"),
            event(20, "step.dispatched"),
            event(21, "migration.paused"),
            event(22, "step.interrupted"),
            event(52, "migration.resumed"),
            event(53, "step.dispatched"),
        ];
        let runs = step_runs(&copy(StepState::Running), &events, at(60));
        let expected = [
            run(10, 15, RunEnd::Failed),
            run(20, 22, RunEnd::Interrupted),
            run(53, 60, RunEnd::Running),
        ];
        assert_eq!(runs, expected);
        let waits = step_waits(&runs, Some(at(10)), &stops(&events, at(60)));
        let waits: Vec<_> = waits
            .iter()
            .map(|wait| (wait.from, wait.to, wait.why.as_str()))
            .collect();
        let expected = [(at(15), at(20), "waited"), (at(22), at(53), "paused")];
        assert_eq!(waits, expected);
    }

    #[test]
    fn without_a_journal_a_step_has_one_run() {
        let mut step = copy(StepState::Done);
        step.finished_at = Some(at(30));
        let expected = [run(10, 30, RunEnd::Completed)];
        assert_eq!(step_runs(&step, &[], at(60)), expected);
        step.started_at = None;
        assert_eq!(step_runs(&step, &[], at(60)), []);
    }
}
