//! Remembers which refusals of agents were recently written to the audit trail, so that an agent that repeats a call
//! every second does not fill the trail.

use super::error::RefusedCall;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The same refusal is written again after this time.
const REPEAT_AFTER: Duration = Duration::from_secs(60);

/// The token, the route and the reason.
type RefusalKey = (String, String, RefusedCall);

/// When each refusal was last times. The data is lost when the process ends.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<BTreeMap<RefusalKey, Instant>>);

impl RefusalLog {
    /// Returns whether the refusal must be written to the audit trail now, and if so, records this time.
    pub(super) fn record_if_new(&self, key: &RefusalKey, now: Instant) -> bool {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.retain(|_, at| now.duration_since(*at) < REPEAT_AFTER);
        if times.contains_key(key) {
            return false;
        }
        times.insert(key.clone(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_refusal_is_written_once_per_minute() {
        let refusals = RefusalLog::default();
        let key = |code: &str| {
            let refusal = RefusedCall {
                code: code.to_owned(),
                detail: String::new(),
            };
            (
                "a2".to_owned(),
                "POST /api/v1/agents/report".to_owned(),
                refusal,
            )
        };
        let now = Instant::now();
        assert!(refusals.record_if_new(&key("agent.not_owner"), now));
        assert!(!refusals.record_if_new(&key("agent.not_owner"), now));
        assert!(refusals.record_if_new(&key("epoch.stale"), now));
        assert!(refusals.record_if_new(&key("agent.not_owner"), now + REPEAT_AFTER));
    }
}
