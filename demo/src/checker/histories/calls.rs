//! Combines events to calls with a begin and an end.
//!
//! Calls that were certainly not executed are omitted, and so are reads without a result. An append with an unknown end
//! stays open.

use crate::ledger::{CallEvent, CallPhase, ListOperation};
use std::collections::{BTreeMap, HashMap};

/// An event that cannot follow the earlier events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEvent {
    /// A process began a call while another one was open, or after a call with an unknown end.
    #[error("event {event}: process {process} begins a call before its last one has ended")]
    CallOpen {
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
    #[error("event {event}: process {process} ends a read without the values that it read")]
    NoResult {
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
    Append {
        value: i64,
        list_after: Option<Vec<i64>>,
    },
    /// A read, and the list that it returned.
    Read { values: Vec<i64> },
}

/// A call that was executed, or may have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListCall {
    pub(super) process: u64,
    pub(super) result: CallResult,
    /// The positions of the events of the call. A call without an end may be executed at any later time, or never.
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
    pub(super) fn add_final_read(&mut self, values: Vec<i64>) {
        self.operations.push(ListCall {
            process: u64::MAX,
            result: CallResult::Read { values },
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
    let mut counts = HistoryCounts::default();
    let mut open: HashMap<u64, ListOperation> = HashMap::new();
    for event in events {
        match event.kind {
            CallPhase::Invoke => {
                counts.calls += 1;
                open.insert(event.process, event.call);
            }
            CallPhase::Ok | CallPhase::Fail => {
                open.remove(&event.process);
                counts.failed += u64::from(event.kind == CallPhase::Fail);
            }
            CallPhase::Unknown => {}
        }
    }
    let appends = open.values().filter(|call| **call != ListOperation::Read);
    counts.unknown = appends.fold(0, |sum, _| sum + 1);
    counts
}

/// Returns the calls of each list, by the name of the list.
pub(super) fn gather(events: &[CallEvent]) -> Result<BTreeMap<String, History>, InvalidEvent> {
    let mut open: HashMap<u64, (usize, &CallEvent)> = HashMap::new();
    let mut histories: BTreeMap<String, History> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let process = event.process;
        if event.kind == CallPhase::Invoke {
            histories.entry(event.list.clone()).or_default();
            if open.insert(process, (index, event)).is_some() {
                return Err(InvalidEvent::CallOpen {
                    event: index,
                    process,
                });
            }
            continue;
        }
        let is_same_call =
            |begun: &(usize, &CallEvent)| begun.1.list == event.list && begun.1.call == event.call;
        let begun = open.get(&process).copied().filter(is_same_call);
        let (begin, _) = begun.ok_or(InvalidEvent::NotOpen {
            event: index,
            process,
        })?;
        if event.kind != CallPhase::Unknown {
            open.remove(&process);
        }
        if event.kind == CallPhase::Ok {
            let result = call_result(event).ok_or(InvalidEvent::NoResult {
                event: index,
                process,
            })?;
            let end = Some(index);
            add(&mut histories, event, process, result, begin, end);
        }
    }
    for (process, (begin, event)) in open {
        if let ListOperation::Append(value) = event.call {
            let result = CallResult::Append {
                value,
                list_after: None,
            };
            add(&mut histories, event, process, result, begin, None);
        }
    }
    for history in histories.values_mut() {
        history.operations.sort_by_key(|operation| operation.begin);
    }
    Ok(histories)
}

fn call_result(event: &CallEvent) -> Option<CallResult> {
    let values = event.values.clone();
    match event.call {
        ListOperation::Append(value) => Some(CallResult::Append {
            value,
            list_after: values,
        }),
        ListOperation::Read => values.map(|values| CallResult::Read { values }),
    }
}

fn add(
    histories: &mut BTreeMap<String, History>,
    event: &CallEvent,
    process: u64,
    result: CallResult,
    begin: usize,
    end: Option<usize>,
) {
    let operation = ListCall {
        process,
        result,
        begin,
        end,
    };
    let history = histories.entry(event.list.clone()).or_default();
    history.operations.push(operation);
}
