//! Estimates: plans of requests that are still typed. A caller has at most one at a time, because agents survey the
//! shards for each of them.

use super::{ControlError, Controller};
use plans::plan::Plan;
use plans::planner;
use plans::request::{Request, TrialRun};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The names of the callers whose estimates are being made.
#[derive(Debug, Default)]
pub(super) struct RunningEstimates(Mutex<BTreeSet<String>>);

/// The estimate of one caller. It ends when this is dropped, also if the caller no longer waits.
struct RunningEstimate<'a> {
    running: &'a RunningEstimates,
    caller: &'a str,
}

impl RunningEstimates {
    fn callers(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the estimate of a caller; `None` if this caller has one already.
    fn begin<'a>(&'a self, caller: &'a str) -> Option<RunningEstimate<'a>> {
        let begins = self.callers().insert(caller.to_owned());
        begins.then_some(RunningEstimate {
            running: self,
            caller,
        })
    }
}

impl Drop for RunningEstimate<'_> {
    fn drop(&mut self) {
        self.running.callers().remove(self.caller);
    }
}

impl Controller {
    /// Makes the plan of a request that is still typed: agents only read, and try nothing on the targets. `None` if they
    /// would have to measure the load first.
    ///
    /// # Errors
    /// [`ControlError::EstimateRunning`] if another estimate of this caller has not ended; otherwise as `plan`.
    pub async fn estimate(&self, text: &str, caller: &str) -> Result<Option<Plan>, ControlError> {
        let running = self.inner.estimates.begin(caller);
        let _running = running.ok_or(ControlError::EstimateRunning)?;
        let request = Request::parse(text)?;
        let map = self.bare_map(request.map()).await?;
        if planner::needs(&request, &map).is_some() {
            return Ok(None);
        }
        let plan = self.plan_with(&request, TrialRun::Skip).await?;
        Ok(Some(plan))
    }
}
