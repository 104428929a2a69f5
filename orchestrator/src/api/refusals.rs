//! Remembers which refusals of agents were recently written to the audit trail, so that an agent that repeats a call
//! every second does not fill it.

use super::error::RefusedCall;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The same refusal is written again after this time.
const AGAIN: Duration = Duration::from_secs(60);

/// The token, the route and the reason.
type RefusalKey = (String, String, RefusedCall);

/// When each refusal was last written. The data is lost when the process ends.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<BTreeMap<RefusalKey, Instant>>);

impl RefusalLog {
    /// Returns whether this refusal must be written, and records that it was.
    pub(super) fn is_new(&self, key: &RefusalKey, now: Instant) -> bool {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.retain(|_, at| now.duration_since(*at) < AGAIN);
        if written.contains_key(key) {
            return false;
        }
        written.insert(key.clone(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_refusal_is_written_down_once_in_a_while() {
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
        assert!(refusals.is_new(&key("agent.not_owner"), now));
        assert!(!refusals.is_new(&key("agent.not_owner"), now));
        assert!(refusals.is_new(&key("epoch.stale"), now));
        assert!(refusals.is_new(&key("agent.not_owner"), now + AGAIN));
    }
}
