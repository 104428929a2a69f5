//! What could not be removed, and whether it is tried again.

use plans::failure::{Failure, RetryClass};
use plans::step::unwind::{LeftObject, Unwound};

use crate::error::StepError;
use crate::migration::context::StepContext;

/// Attempts while a part fails that may pass, each of which waits some seconds for locks: less than a minute.
const ATTEMPTS: u32 = 3;
/// Attempts while a shard cannot be reached: half a minute, and what each takes to connect.
const ATTEMPTS_TO_REACH: u32 = 6;

/// The parts of an unwinding that failed so far.
#[derive(Debug, Default)]
pub(super) struct FailedRemovals {
    left: Vec<LeftObject>,
    /// Tables that the migration created, and that belong to others by now.
    kept: Vec<LeftObject>,
    /// The last failure that may pass, and the attempts that it is worth.
    passing: Option<(Failure, u32)>,
}

impl FailedRemovals {
    /// What `outcome` is worth; a part that failed is noted, and the others go on.
    ///
    /// # Errors
    /// When the whole step is to stop: a newer owner has come, or the controller wants it.
    pub(super) fn note<T>(
        &mut self,
        shard: &str,
        object: &str,
        outcome: Result<T, StepError>,
    ) -> Result<Option<T>, StepError> {
        self.note_worth(ATTEMPTS, shard, object, outcome)
    }

    /// As [`FailedRemovals::note`], of all that is on a shard.
    pub(super) fn reached<T>(
        &mut self,
        shard: &str,
        outcome: Result<T, StepError>,
    ) -> Result<Option<T>, StepError> {
        let all = "what the migration made there";
        self.note_worth(ATTEMPTS_TO_REACH, shard, all, outcome)
    }

    fn note_worth<T>(
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
        tracing::warn!(shard, object, code = %failure.code, "not removed: {}", failure.message);
        self.left.push(LeftObject {
            shard: shard.to_owned(),
            object: object.to_owned(),
            why: failure.message.clone(),
        });
        if failure.retry != RetryClass::None {
            let attempts = self
                .passing
                .take()
                .map_or(attempts, |(_, known)| known.max(attempts));
            self.passing = Some((failure.clone(), attempts));
        }
        Ok(None)
    }

    /// Tables that the migration created stay, because others use them.
    pub(super) fn keep(&mut self, shard: &str, tables: Vec<String>) {
        self.kept.extend(tables.into_iter().map(|table| LeftObject {
            shard: shard.to_owned(),
            object: format!("table {table}"),
            why: "others have built on it, or put rows into it: it is theirs".to_owned(),
        }));
    }

    /// Whether something of the migration could not be removed from the shard.
    pub(super) fn has_failed(&self, shard: &str) -> bool {
        self.left.iter().any(|left| left.shard == shard)
    }

    /// The step's end: done with what is left, or another attempt for what may pass.
    pub(super) fn end(self, context: &StepContext) -> Result<Unwound, StepError> {
        let tried = context.dispatch.attempt;
        match self.passing {
            Some((failure, attempts)) if tried < attempts => Err(StepError::Failed(Failure {
                message: format!(
                    "attempt {tried} of {attempts} to remove what is left, the source takes writes: {}",
                    failure.message
                ),
                retry: RetryClass::Exponential,
                ..failure
            })),
            Some(_) | None => Ok(Unwound {
                leftovers: [self.left, self.kept].concat(),
            }),
        }
    }
}
