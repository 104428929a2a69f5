//! Parts of a trial that are rolled back by themselves, on both sides, so that one plan names all that fails.

use super::RunningTrial;
use super::failure::TrialEnd;
use crate::error::{StepError, WithIntent};

pub(super) const BACK: &str = "rollback to savepoint trial; release savepoint trial";

impl RunningTrial<'_> {
    pub(super) async fn savepoint(&self) -> Result<(), StepError> {
        self.both("savepoint trial").await
    }

    pub(super) async fn release(&self) -> Result<(), StepError> {
        self.both("release savepoint trial").await
    }

    /// Notes what failed since the savepoint; the trial goes on, unless it is the trial that did.
    pub(super) async fn roll_back(&mut self, failed: TrialEnd) -> Result<(), TrialEnd> {
        self.note(failed)?;
        Ok(self.both(BACK).await?)
    }

    pub(super) fn note(&mut self, failed: TrialEnd) -> Result<(), TrialEnd> {
        match failed {
            TrialEnd::Step(failure) => {
                self.failures.push(*failure);
                Ok(())
            }
            ended @ TrialEnd::Trial(_) => Err(ended),
        }
    }

    pub(super) async fn both(&self, sql: &str) -> Result<(), StepError> {
        let (here, there) = (
            self.here.batch_execute(sql),
            self.there().batch_execute(sql),
        );
        let done = tokio::try_join!(here, there);
        done.map(drop).at("a trial of the move")
    }
}
