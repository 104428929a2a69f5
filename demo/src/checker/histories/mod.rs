//! Checks the histories of lists for linearizability: is there one order of all calls on a list, consistent with real
//! time, that explains the result of every call?
//!
//! First the calls of each list are combined from the events ([`calls`]), with a final read of the rows on the owner.
//! Then every list is checked by its values ([`order`]). Of the lists that pass, a sample is checked again by a general
//! search ([`tester`]).

mod calls;
mod order;
mod tester;

use super::CheckError;
use crate::ledger::CallEvent;
use calls::History;
pub use calls::InvalidEvent;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// About how many lists the search checks too.
const SAMPLE: usize = 64;

/// The result for the histories.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Histories {
    /// The number of lists.
    pub keys: u64,
    /// The number of clients' calls.
    pub operations: u64,
    /// The number of calls that were certainly not executed.
    #[serde(default)]
    pub failed: u64,
    /// The number of appends with an unknown outcome.
    #[serde(default)]
    pub unknown: u64,
    /// The number of lists whose history is not linearizable: no order of the calls explains their results, because an
    /// append is lost, doubled or was never made, or a read is stale.
    pub not_linearizable: u64,
}

impl Histories {
    /// Returns the result as text.
    pub(crate) fn text(&self) -> String {
        format!(
            "Histories    {} appends and reads on {} lists, {} failed, {} with an unknown outcome; {} lists not linearizable.",
            self.operations, self.keys, self.failed, self.unknown, self.not_linearizable
        )
    }
}

/// Checks the lists of the events and those on the owners, by name.
pub(super) fn check(
    events: &[CallEvent],
    owned: &BTreeMap<String, Vec<i64>>,
) -> Result<Histories, InvalidEvent> {
    let mut histories = calls::gather(events)?;
    for list in owned.keys() {
        histories.entry(list.clone()).or_default();
    }
    for (list, history) in &mut histories {
        history.add_final_read(owned.get(list).cloned().unwrap_or_default());
    }
    Ok(check_all(&histories, events))
}

/// Checks a history file alone, without reading any shard.
///
/// # Errors
/// [`CheckError::File`], [`CheckError::Line`] or [`CheckError::History`].
pub fn check_history(path: &Path) -> Result<Histories, CheckError> {
    let failed = |source| CheckError::File {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut events = Vec::new();
    for (index, text) in BufReader::new(file).lines().enumerate() {
        let event = serde_json::from_str(&text.map_err(failed)?);
        events.push(event.map_err(|error| CheckError::Line {
            path: path.to_owned(),
            line: index + 1,
            reason: error.to_string(),
        })?);
    }
    let histories = calls::gather(&events).map_err(|invalid| CheckError::History {
        path: path.to_owned(),
        invalid,
    })?;
    Ok(check_all(&histories, &events))
}

fn check_all(histories: &BTreeMap<String, History>, events: &[CallEvent]) -> Histories {
    let counts = calls::count(events);
    let (mut keys, mut not_linearizable) = (0, 0);
    let step = histories.len().div_ceil(SAMPLE).max(1);
    for (index, (list, history)) in histories.iter().enumerate() {
        keys += 1;
        let is_sampled = index % step == 0 && tester::is_feasible(history);
        let is_refuted = || is_sampled && tester::explains(history) == Some(false);
        if !order::explains(history) || is_refuted() {
            tracing::warn!(list, "history is not linearizable");
            not_linearizable += 1;
        }
    }
    Histories {
        keys,
        operations: counts.calls,
        failed: counts.failed,
        unknown: counts.unknown,
        not_linearizable,
    }
}

#[cfg(test)]
mod tests;
