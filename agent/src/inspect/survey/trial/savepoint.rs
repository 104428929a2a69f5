//! Rolls back parts of a trial to a savepoint, on both shards, so that the trial continues and one plan reports all
//! failures.

use super::RunningTrial;
use super::failure::TrialEnd;
use crate::error::{StepError, WithIntent};

pub(super) const ROLL_BACK: &str = "rollback to savepoint trial; release savepoint trial";

impl RunningTrial<'_> {
    pub(super) async fn set_savepoint(&self) -> Result<(), StepError> {
        self.execute_on_both("savepoint trial").await
    }

    pub(super) async fn release_savepoint(&self) -> Result<(), StepError> {
        self.execute_on_both("release savepoint trial").await
    }

    /// Records the failure of a step since the savepoint, and rolls back to the savepoint. Fails if the trial itself
    /// failed.
    pub(super) async fn roll_back_to_savepoint(
        &mut self,
        trial_end: TrialEnd,
    ) -> Result<(), TrialEnd> {
        self.add_failure(trial_end)?;
        Ok(self.execute_on_both(ROLL_BACK).await?)
    }

    pub(super) fn add_failure(&mut self, trial_end: TrialEnd) -> Result<(), TrialEnd> {
        match trial_end {
            TrialEnd::Step(failure) => {
                self.failures.push(*failure);
                Ok(())
            }
            ended @ TrialEnd::Trial(_) => Err(ended),
        }
    }

    pub(super) async fn execute_on_both(&self, sql: &str) -> Result<(), StepError> {
        let (source, target) = (
            self.source_session.batch_execute(sql),
            self.target_session().batch_execute(sql),
        );
        let result = tokio::try_join!(source, target);
        result.map(drop).at("a trial of the move")
    }
}
