//! Combines events to calls with a begin and an end.
//!
//! Calls that were certainly not executed are omitted, and so are reads without a result. An append with an unknown end
//! stays open.

use crate::ledger::{CallEvent, CallPhase, ListOperation};
use std::collections::{BTreeMap, HashMap};

/// An event that cannot follow the earlier events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// A process began a call while another one was open, or after a call with an unknown end.
    #[error("event {event}: process {process} begins a call before its last one has ended")]
    Busy {
        /// The index of the event, from 0.
        event: usize,
        /// The process.
        process: u64,
    },
    /// A call ended that was not open.
    #[error("event {event}: process {process} ends a call that it did not begin")]
    NotOpen {
        /// The index of the event, from 0.
        event: usize,
        /// The process.
        process: u64,
    },
    /// A read succeeded without a result, not even an empty list.
    #[error("event {event}: process {process} has read and says not what")]
    Blind {
        /// The index of the event, from 0.
        event: usize,
        /// The process.
        process: u64,
    },
}

/// The effect of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallResult {
    /// An append, and the list after it, if that is known.
    Append { value: i64, left: Option<Vec<i64>> },
    /// A read, and the list that it returned.
    Read { values: Vec<i64> },
}

/// A call that was executed, or may have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListCall {
    pub(super) process: u64,
    pub(super) done: CallResult,
    /// The positions of its events. Without an end it may be executed at any later time, or never.
    pub(super) begin: usize,
    pub(super) end: Option<usize>,
}

/// The calls on one list, ordered by their begins.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub(super) operations: Vec<ListCall>,
}

impl History {
    /// Adds a read after all other calls.
    pub(super) fn end_with(&mut self, values: Vec<i64>) {
        self.operations.push(ListCall {
            process: u64::MAX,
            done: CallResult::Read { values },
            begin: usize::MAX - 1,
            end: Some(usize::MAX),
        });
    }
}

/// The counts of a history.
#[derive(Debug, Default)]
pub(super) struct HistoryCounts {
    pub(super) calls: u64,
    pub(super) failed: u64,
    pub(super) unknown: u64,
}

pub(super) fn count(events: &[CallEvent]) -> HistoryCounts {
    let mut counted = HistoryCounts::default();
    let mut open: HashMap<u64, ListOperation> = HashMap::new();
    for event in events {
        match event.kind {
            CallPhase::Invoke => {
                counted.calls += 1;
                open.insert(event.process, event.call);
            }
            CallPhase::Ok | CallPhase::Fail => {
                open.remove(&event.process);
                counted.failed += u64::from(event.kind == CallPhase::Fail);
            }
            CallPhase::Info => {}
        }
    }
    let appends = open.values().filter(|call| **call != ListOperation::Read);
    counted.unknown = appends.fold(0, |sum, _| sum + 1);
    counted
}

/// Returns the calls of each list, by the name of the list.
pub(super) fn gather(events: &[CallEvent]) -> Result<BTreeMap<String, History>, Misfit> {
    let mut open: HashMap<u64, (usize, &CallEvent)> = HashMap::new();
    let mut histories: BTreeMap<String, History> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let process = event.process;
        if event.kind == CallPhase::Invoke {
            histories.entry(event.list.clone()).or_default();
            if open.insert(process, (index, event)).is_some() {
                return Err(Misfit::Busy {
                    event: index,
                    process,
                });
            }
            continue;
        }
        let same =
            |begun: &(usize, &CallEvent)| begun.1.list == event.list && begun.1.call == event.call;
        let begun = open.get(&process).copied().filter(same);
        let (begin, _) = begun.ok_or(Misfit::NotOpen {
            event: index,
            process,
        })?;
        if event.kind != CallPhase::Info {
            open.remove(&process);
        }
        if event.kind == CallPhase::Ok {
            let done = done(event).ok_or(Misfit::Blind {
                event: index,
                process,
            })?;
            let end = Some(index);
            add(&mut histories, event, process, done, begin, end);
        }
    }
    for (process, (begin, event)) in open {
        if let ListOperation::Append(value) = event.call {
            let done = CallResult::Append { value, left: None };
            add(&mut histories, event, process, done, begin, None);
        }
    }
    for history in histories.values_mut() {
        history.operations.sort_by_key(|operation| operation.begin);
    }
    Ok(histories)
}

fn done(event: &CallEvent) -> Option<CallResult> {
    let values = event.values.clone();
    match event.call {
        ListOperation::Append(value) => Some(CallResult::Append {
            value,
            left: values,
        }),
        ListOperation::Read => values.map(|values| CallResult::Read { values }),
    }
}

fn add(
    histories: &mut BTreeMap<String, History>,
    event: &CallEvent,
    process: u64,
    done: CallResult,
    begin: usize,
    end: Option<usize>,
) {
    let operation = ListCall {
        process,
        done,
        begin,
        end,
    };
    let history = histories.entry(event.list.clone()).or_default();
    history.operations.push(operation);
}
