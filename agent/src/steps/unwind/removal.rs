//! Records which objects the agent could not remove, and decides whether the step is tried again.

use plans::failure::{Failure, RetryClass};
use plans::step::unwind::{LeftObject, Unwound};

use crate::error::StepError;
use crate::migration::context::StepContext;

/// Maximum number of attempts of the step if the removal of an object fails with a transient error. Each attempt waits
/// some seconds for locks; all attempts together take less than a minute.
const MAX_ATTEMPTS: u32 = 3;
/// Maximum number of attempts of the step if a shard is unreachable. They take half a minute, plus the time of each
/// attempt to connect.
const MAX_ATTEMPTS_UNREACHABLE: u32 = 6;

/// The removals that have failed so far.
#[derive(Debug, Default)]
pub(super) struct FailedRemovals {
    /// Objects that could not be removed.
    left: Vec<LeftObject>,
    /// Tables that the migration created, and that other objects or rows use now.
    kept: Vec<LeftObject>,
    /// What the operator must know about a target that was a standby.
    notes: Vec<String>,
    /// The last transient failure, and the maximum number of attempts of the step.
    transient: Option<(Failure, u32)>,
}

impl FailedRemovals {
    /// Returns the value of a successful removal. Records a failed one, so that the other removals continue.
    ///
    /// # Errors
    /// Returns an error if the step must stop: a newer owner has taken over, or the controller cancelled the step.
    pub(super) fn record_outcome<T>(
        &mut self,
        shard: &str,
        object: &str,
        outcome: Result<T, StepError>,
    ) -> Result<Option<T>, StepError> {
        self.record_with_attempts(MAX_ATTEMPTS, shard, object, outcome)
    }

    /// Like [`FailedRemovals::record_outcome`], for all objects on a shard.
    pub(super) fn record_shard_outcome<T>(
        &mut self,
        shard: &str,
        outcome: Result<T, StepError>,
    ) -> Result<Option<T>, StepError> {
        let all = "all objects of the migration";
        self.record_with_attempts(MAX_ATTEMPTS_UNREACHABLE, shard, all, outcome)
    }

    fn record_with_attempts<T>(
        &mut self,
        attempts: u32,
        shard: &str,
        object: &str,
        outcome: Result<T, StepError>,
    ) -> Result<Option<T>, StepError> {
        let error = match outcome {
            Ok(done) => return Ok(Some(done)),
            Err(error) => error,
        };
        let Some(failure) = error.failure().filter(|_| !error.is_superseded()) else {
            return Err(error);
        };
        tracing::warn!(shard, object, code = %failure.code, "the object was not removed: {}", failure.message);
        self.left.push(LeftObject {
            shard: shard.to_owned(),
            object: object.to_owned(),
            why: failure.message.clone(),
        });
        if failure.retry != RetryClass::None {
            let attempts = self
                .transient
                .take()
                .map_or(attempts, |(_, known)| known.max(attempts));
            self.transient = Some((failure.clone(), attempts));
        }
        Ok(None)
    }

    /// Records tables that the migration created and that stay because other objects use them.
    pub(super) fn record_kept_tables(&mut self, shard: &str, tables: Vec<String>) {
        self.kept.extend(tables.into_iter().map(|table| LeftObject {
            shard: shard.to_owned(),
            object: format!("table {table}"),
            why: "other objects depend on it, or it contains other rows".to_owned(),
        }));
    }

    /// Adds a note for the operator.
    pub(super) fn add_note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Returns whether an object of the migration could not be removed from the shard.
    pub(super) fn has_failed(&self, shard: &str) -> bool {
        self.left.iter().any(|left| left.shard == shard)
    }

    /// Ends the step: returns the leftovers, or an error that leads to another attempt.
    pub(super) fn finish(self, context: &StepContext) -> Result<Unwound, StepError> {
        let attempt = context.dispatch.attempt;
        match self.transient {
            Some((failure, attempts)) if attempt < attempts => Err(StepError::Failed(Failure {
                message: format!(
                    "attempt {attempt} of {attempts} to remove the objects of the migration has failed; the source accepts writes: {}",
                    failure.message
                ),
                retry: RetryClass::Exponential,
                ..failure
            })),
            Some(_) | None => Ok(Unwound {
                leftovers: [self.left, self.kept].concat(),
                notes: self.notes,
            }),
        }
    }
}
