//! `shardwright wait ID --for WHAT`.

use super::client::Client;
use super::error::{CliError, MIGRATION_FAILED};
use super::follow::{detachable, follow, of_migration, of_operation};
use super::migration::state;
use super::output::{Output, or_dash};
use super::{operation, watch};
use crate::controller::operations::OperationState;
use crate::view::{MigrationView, OperationView};
use clap::Args;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::fmt;
use std::time::Duration;

/// Wait until an operation or a migration is in a state, is ready for its cutover, or has ended.
///
/// Exit codes: 0 reached; 6 timeout; 8 it failed, or ended in another way; 130 interrupted.
#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// The operation or migration.
    id: String,
    /// A state (phase=STATE is the same); one that it has passed on its way counts, such as flipped once it is completed.
    /// Or condition=ready: only the approval of its cutover is missing. Or finished: it is completed, and was neither
    /// aborted nor rolled back.
    #[arg(long = "for", value_name = "WHAT", value_parser = Goal::parse)]
    goal: Goal,
    /// How long, for example 30s or 5m.
    #[arg(long, default_value = "1h", value_parser = humantime::parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    output: Output,
}

/// The condition for which the command waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// The operation or migration is in this state, or has passed it.
    State(OperationState),
    /// Only the approval of the cutover is missing.
    Ready,
    /// The operation or migration has ended, and the targets own the keys.
    Finished,
}

impl Goal {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "finished" | "condition=finished" => Ok(Self::Finished),
            "ready" | "condition=ready" => Ok(Self::Ready),
            _ => state(text.strip_prefix("phase=").unwrap_or(text)).map(Self::State),
        }
    }

    /// Returns the exit code if the wait has ended.
    fn reached(self, at: OperationState, ended: bool, ready: bool) -> Option<u8> {
        let there = match self {
            Self::State(wanted) => at == wanted || has_passed(wanted, at),
            Self::Ready => ready,
            Self::Finished => ended && at == OperationState::Completed,
        };
        let has_ended = ended || at == OperationState::Failed;
        match there {
            true => Some(0),
            false => has_ended.then_some(MIGRATION_FAILED),
        }
    }
}

/// Returns whether something that is now in the state `at` has passed the state `wanted` and cannot return to it.
fn has_passed(wanted: OperationState, at: OperationState) -> bool {
    use OperationState as S;
    let rank = |state| match state {
        S::Planned => Some(0),
        S::Running => Some(1),
        S::Flipped => Some(2),
        S::Completed => Some(3),
        S::Waiting
        | S::Paused
        | S::Failed
        | S::Unwinding
        | S::Unwound
        | S::RolledBack
        | S::Partial => None,
    };
    rank(wanted)
        .zip(rank(at))
        .is_some_and(|(wanted, at)| wanted < at)
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(state) => state.fmt(f),
            Self::Ready => f.write_str("ready for its cutover"),
            Self::Finished => f.write_str("finished"),
        }
    }
}

impl WaitArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let id = self.id.clone();
        detachable(&id, self.follow(client)).await
    }

    async fn follow(self, client: &Client) -> Result<u8, CliError> {
        if operation::with_moves(client, &self.id).await?.is_some() {
            let path = of_operation(&self.id);
            let (code, view) = self
                .until(client, &path, |view: &OperationView| {
                    let ready = view.state == OperationState::Waiting;
                    let ended = view.finished_at.is_some();
                    (self.goal.reached(view.state, ended, ready), view.state)
                })
                .await?;
            self.output
                .print(&view, |view| format!("{}\n", view.state))?;
            if code != 0 {
                operation::report_end(&view);
            }
            return Ok(code);
        }
        let path = of_migration(&self.id);
        let (code, view) = self
            .until(client, &path, |view: &MigrationView| {
                let at = OperationState::from(view.summary.state);
                let ready = at == OperationState::Waiting && view.cancel.is_none();
                let ended = view.summary.finished_at.is_some();
                (self.goal.reached(at, ended, ready), at)
            })
            .await?;
        self.output
            .print(&view, |view| format!("{}\n", view.summary.state))?;
        watch::report_failure(&view);
        Ok(code)
    }

    /// The exit code and the view that gave it.
    async fn until<V: Clone + DeserializeOwned>(
        &self,
        client: &Client,
        path: &str,
        judge: impl Fn(&V) -> (Option<u8>, OperationState),
    ) -> Result<(u8, V), CliError> {
        let last: RefCell<Option<(V, OperationState)>> = RefCell::default();
        let observe = |view: &V| {
            let (code, state) = judge(view);
            last.replace(Some((view.clone(), state)));
            code
        };
        let followed = follow(client, path, observe);
        let ended = tokio::time::timeout(self.timeout, followed).await;
        let last = last.into_inner();
        match (ended, last) {
            (Ok(code), Some((view, _))) => Ok((code?, view)),
            (Ok(code), None) => Err(code.err().unwrap_or_else(|| self.late(None))),
            (Err(_), last) => Err(self.late(last.map(|(_, state)| state))),
        }
    }

    fn late(&self, state: Option<OperationState>) -> CliError {
        CliError::Timeout {
            id: self.id.clone(),
            state: or_dash(state.as_ref()),
            waited: humantime::format_duration(self.timeout).to_string(),
            wanted: self.goal.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OperationState as S;

    #[test]
    fn goals_are_reached_missed_or_still_ahead() {
        for (goal, at, ended, ready, code) in [
            ("phase=flipped", S::Flipped, false, false, Some(0)),
            ("flipped", S::Running, false, false, None),
            ("flipped", S::Failed, false, false, Some(8)),
            ("failed", S::Failed, false, false, Some(0)),
            ("condition=ready", S::Waiting, false, true, Some(0)),
            ("condition=ready", S::Waiting, false, false, None),
            ("finished", S::Completed, true, false, Some(0)),
            ("finished", S::RolledBack, false, false, None),
            ("finished", S::Unwound, true, false, Some(8)),
            ("finished", S::RolledBack, true, false, Some(8)),
            ("finished", S::Partial, true, false, Some(8)),
            ("flipped", S::Completed, true, false, Some(0)),
            ("running", S::Flipped, false, false, Some(0)),
            ("planned", S::Running, false, false, Some(0)),
            ("running", S::Waiting, false, false, None),
            ("flipped", S::RolledBack, true, false, Some(8)),
            ("waiting", S::Completed, true, false, Some(8)),
        ] {
            let parsed = Goal::parse(goal).unwrap();
            assert_eq!(parsed.reached(at, ended, ready), code, "{goal} at {at}");
        }
        assert!(Goal::parse("condition=shiny").is_err());
    }
}
