//! Computes how long agents worked on a step, without pauses and waits between attempts.

use super::{MigrationView, StepView};
use crate::store::Event;
use chrono::{DateTime, TimeDelta, Utc};

/// The shortest idle time that is displayed.
const MIN_IDLE: TimeDelta = TimeDelta::milliseconds(500);

impl MigrationView {
    /// Returns the view with the time that agents worked on each step that is done, computed from the journal.
    #[must_use]
    pub fn with_journal(mut self, events: &[Event]) -> Self {
        for step in &mut self.steps {
            let work_time = work_time(step, events);
            step.worked_ms = work_time.map(|time| time.num_milliseconds());
        }
        self
    }
}

impl StepView {
    /// Returns how long agents worked on a step that is done; without a journal, the time from its start to its end.
    #[must_use]
    pub fn work_time(&self) -> Option<TimeDelta> {
        let worked = self.worked_ms.map(TimeDelta::milliseconds);
        worked.or_else(|| Some(self.finished_at? - self.started_at?))
    }

    /// Returns how long no agent worked on the step between its start and its end, if the journal shows such a time.
    #[must_use]
    pub fn idle_time(&self) -> Option<TimeDelta> {
        let idle = self.finished_at? - self.started_at? - self.work_time()?;
        (idle >= MIN_IDLE).then_some(idle)
    }
}

/// Returns the sum of all runs of a step. A run begins with a dispatch, and ends with the next event of the step that
/// is not a dispatch.
fn work_time(step: &StepView, events: &[Event]) -> Option<TimeDelta> {
    let (from, to) = (step.started_at?, step.finished_at?);
    let step_events = events.iter().filter(|event| {
        let is_of_step = event.step.as_ref() == Some(&step.id) && event.kind.starts_with("step.");
        is_of_step && (from..=to).contains(&event.at)
    });
    let mut run_start: Option<DateTime<Utc>> = None;
    let mut sum: Option<TimeDelta> = None;
    for event in step_events {
        if event.kind == "step.dispatched" {
            run_start.get_or_insert(event.at);
        } else if let Some(start) = run_start.take() {
            sum = Some(sum.unwrap_or_default() + (event.at - start));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::id::Epoch;
    use plans::state::step::StepState;
    use plans::step::StepKind;
    use serde_json::Value;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
    }

    fn event(second: i64, kind: &str) -> Event {
        Event {
            seq: second,
            at: at(second),
            actor: "controller".to_owned(),
            kind: kind.to_owned(),
            step: Some("create_target".into()),
            data: Value::Null,
        }
    }

    fn step() -> StepView {
        StepView {
            id: "create_target".into(),
            kind: StepKind::CreateTarget,
            summary: String::new(),
            state: StepState::Done,
            attempt: 1,
            epoch: Epoch(1),
            next_at: None,
            started_at: Some(at(10)),
            finished_at: Some(at(36)),
            worked_ms: None,
            output: None,
            failure: None,
            progress: None,
        }
    }

    #[test]
    fn time_between_runs_is_idle_time() {
        let events = [
            event(10, "step.dispatched"),
            event(15, "step.interrupted"),
            event(32, "step.dispatched"),
            event(36, "step.completed"),
        ];
        let mut step = step();
        let work_time = work_time(&step, &events);
        assert_eq!(work_time, Some(TimeDelta::seconds(9)));
        step.worked_ms = work_time.map(|time| time.num_milliseconds());
        assert_eq!(step.idle_time(), Some(TimeDelta::seconds(17)));
    }

    #[test]
    fn without_a_journal_the_time_from_start_to_end_counts() {
        let step = step();
        assert_eq!(work_time(&step, &[]), None);
        assert_eq!(step.work_time(), Some(TimeDelta::seconds(26)));
        assert_eq!(step.idle_time(), None);
    }
}
