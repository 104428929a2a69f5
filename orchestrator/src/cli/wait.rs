//! `shardwright wait ID --for WHAT`.

use super::client::Client;
use super::error::{CliError, MIGRATION_FAILED};
use super::follow::{follow, migration_stream, operation_stream, until_interrupted};
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

/// Wait until an operation or a migration has reached a state, is ready for its cutover, or has ended.
///
/// Exit codes: 0 reached; 6 timeout; 8 the migration failed, or ended in another state; 130 interrupted.
#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// The operation or migration.
    id: String,
    /// A state (phase=STATE is the same). It also counts if the migration has passed this state, for example flipped if
    /// the migration is completed. Or condition=ready: only the approval of the cutover is missing. Or finished: the
    /// migration is completed, and was neither aborted nor rolled back.
    #[arg(long = "for", value_name = "WHAT", value_parser = Goal::parse)]
    goal: Goal,
    /// How long to wait, for example 30s or 5m.
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

    /// Returns the exit code if the wait has ended. `ready` and `ended` describe the operation or migration, which is
    /// in the state `current`.
    fn exit_code(self, current: OperationState, ended: bool, ready: bool) -> Option<u8> {
        let is_reached = match self {
            Self::State(wanted) => current == wanted || has_passed(wanted, current),
            Self::Ready => ready,
            Self::Finished => ended && current == OperationState::Completed,
        };
        let has_ended = ended || current == OperationState::Failed;
        match is_reached {
            true => Some(0),
            false => has_ended.then_some(MIGRATION_FAILED),
        }
    }
}

/// Returns whether an operation or migration in the state `current` has passed the state `wanted` and cannot return to
/// it.
fn has_passed(wanted: OperationState, current: OperationState) -> bool {
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
        .zip(rank(current))
        .is_some_and(|(wanted, current)| wanted < current)
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
        until_interrupted(&id, self.follow(client)).await
    }

    async fn follow(self, client: &Client) -> Result<u8, CliError> {
        if operation::with_moves(client, &self.id).await?.is_some() {
            let path = operation_stream(&self.id);
            let (code, view) = self
                .until(client, &path, |view: &OperationView| {
                    let ready = view.state == OperationState::Waiting;
                    let ended = view.finished_at.is_some();
                    (self.goal.exit_code(view.state, ended, ready), view.state)
                })
                .await?;
            self.output
                .print(&view, |view| format!("{}\n", view.state))?;
            if code != 0 {
                operation::report_next_command(&view);
            }
            return Ok(code);
        }
        let path = migration_stream(&self.id);
        let (code, view) = self
            .until(client, &path, |view: &MigrationView| {
                let at = OperationState::from(view.summary.state);
                let ready = at == OperationState::Waiting && view.cancel.is_none();
                let ended = view.summary.finished_at.is_some();
                (self.goal.exit_code(at, ended, ready), at)
            })
            .await?;
        self.output
            .print(&view, |view| format!("{}\n", view.summary.state))?;
        watch::report_failure(&view);
        Ok(code)
    }

    /// Follows the stream at `path` until `evaluate` returns an exit code. Returns this code and the last view.
    async fn until<V: Clone + DeserializeOwned>(
        &self,
        client: &Client,
        path: &str,
        evaluate: impl Fn(&V) -> (Option<u8>, OperationState),
    ) -> Result<(u8, V), CliError> {
        let last: RefCell<Option<(V, OperationState)>> = RefCell::default();
        let observe = |view: &V| {
            let (code, state) = evaluate(view);
            last.replace(Some((view.clone(), state)));
            code
        };
        let followed = follow(client, path, observe);
        let ended = tokio::time::timeout(self.timeout, followed).await;
        let last = last.into_inner();
        match (ended, last) {
            (Ok(code), Some((view, _))) => Ok((code?, view)),
            (Ok(code), None) => Err(code.err().unwrap_or_else(|| self.timeout_error(None))),
            (Err(_), last) => Err(self.timeout_error(last.map(|(_, state)| state))),
        }
    }

    fn timeout_error(&self, state: Option<OperationState>) -> CliError {
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
    fn goals_are_reached_missed_or_pending() {
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
            assert_eq!(parsed.exit_code(at, ended, ready), code, "{goal} at {at}");
        }
        assert!(Goal::parse("condition=shiny").is_err());
    }
}
