//! Refusals of agents that were written down lately: an agent that asks again every second does not fill the audit
//! trail.

use super::error::RefusedCall;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The same refusal is written down again after so long.
const AGAIN: Duration = Duration::from_secs(60);

/// Token, route and reason.
type RefusalKey = (String, String, RefusedCall);

/// When each was written down; lost with the process.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<BTreeMap<RefusalKey, Instant>>);

impl RefusalLog {
    /// Whether this one is to be written down, which counts from now on.
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
