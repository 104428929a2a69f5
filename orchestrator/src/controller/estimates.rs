//! Estimates: plans of requests that are still typed. The estimates of one caller run one after another, because agents
//! survey the shards for each of them.

use super::{ControlError, Controller};
use plans::plan::Plan;
use plans::planner;
use plans::request::{Request, TrialRun};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The maximum number of estimates of one caller that run or wait: a user has a few tabs.
const MAX_ESTIMATES: usize = 4;

/// The callers whose estimates run or wait, each with the lock of the estimate that runs.
#[derive(Debug, Default)]
pub(super) struct RunningEstimates(Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>);

/// An estimate that runs or waits. It ends when this is dropped, also if the caller no longer waits.
struct RunningEstimate<'a> {
    running: &'a RunningEstimates,
    caller: &'a str,
    /// One clone for each estimate of the caller, and one in the map.
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl RunningEstimates {
    fn callers(&self) -> MutexGuard<'_, BTreeMap<String, Arc<tokio::sync::Mutex<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters an estimate of a caller; `None` if too many of this caller run or wait.
    fn enter<'a>(&'a self, caller: &'a str) -> Option<RunningEstimate<'a>> {
        let mut callers = self.callers();
        let lock = callers.entry(caller.to_owned()).or_default();
        (Arc::strong_count(lock) <= MAX_ESTIMATES).then(|| RunningEstimate {
            running: self,
            caller,
            lock: Arc::clone(lock),
        })
    }
}

impl Drop for RunningEstimate<'_> {
    fn drop(&mut self) {
        let mut callers = self.running.callers();
        // Only this estimate and the map have the lock.
        if Arc::strong_count(&self.lock) == 2 {
            callers.remove(self.caller);
        }
    }
}

impl Controller {
    /// Makes the plan of a request that is still typed: agents only read, and try nothing on the targets. `None` if they
    /// would have to measure the load first.
    ///
    /// # Errors
    /// [`ControlError::EstimateRunning`] if too many estimates of this caller run or wait; otherwise as `plan`.
    pub async fn estimate(&self, text: &str, caller: &str) -> Result<Option<Plan>, ControlError> {
        let entered = self.inner.estimates.enter(caller);
        let entered = entered.ok_or(ControlError::EstimateRunning)?;
        let _running = entered.lock.lock().await;
        let request = Request::parse(text)?;
        let map = self.bare_map(request.map()).await?;
        if planner::needs(&request, &map).is_some() {
            return Ok(None);
        }
        let plan = self.plan_with(&request, TrialRun::Skip).await?;
        Ok(Some(plan))
    }
}
