//! Histories of lists: the calls of each client and their results, in the order in which they occurred.
//!
//! A history is a file of JSON lines, one for the begin and one for the end of each call, in the format of the
//! list-append checkers of Jepsen (Elle, elle-cli):
//!
//! ```text
//! {"index":4,"process":2,"type":"invoke","f":"append","key":"11.0","value":[["append","11.0",3],["r","11.0",null]],"time":812000}
//! {"index":5,"process":1,"type":"invoke","f":"read","key":"11.0","value":[["r","11.0",null]],"time":815000}
//! {"index":6,"process":2,"type":"ok","f":"append","key":"11.0","value":[["append","11.0",3],["r","11.0",[1,2,3]]],"time":901000}
//! {"index":7,"process":1,"type":"ok","f":"read","key":"11.0","value":[["r","11.0",[1,2]]],"time":902000}
//! ```
//!
//! `type` is `invoke`, then `ok` (the call was executed), `fail` (it was certainly not executed) or `info` (unknown; it
//! may even be executed later). A process has at most one open call; after `info` it makes no more calls. `value`
//! contains the transaction's micro-operations; an append also reads the list after it. `time` is in nanoseconds since
//! the beginning, on one clock for all processes, and grows from line to line. `key` is the shard key and the list's
//! number.

use super::LedgerLine;
use crate::shop::KeyShape;
use plans::key::Key;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// What a line states about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallPhase {
    /// The call begins.
    Invoke,
    /// The call was executed.
    Ok,
    /// The call was certainly not executed.
    Fail,
    /// The call may have been executed, or may be executed later.
    #[serde(rename = "info")]
    Unknown,
}

/// A call on a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOperation {
    /// Appends a value that no other call appends to this list.
    Append(i64),
    /// Reads the whole list.
    Read,
}

/// The begin or the end of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "JepsenEvent", into = "JepsenEvent")]
pub struct CallEvent {
    /// The position in the history, which the ledger sets.
    pub index: u64,
    /// The calling process.
    pub process: u64,
    /// Whether the call begins, or how it ended.
    pub kind: CallPhase,
    /// The name of the list, from [`list_name`].
    pub list: String,
    /// The call.
    pub call: ListOperation,
    /// The list that a read returned, or the list after an append.
    pub values: Option<Vec<i64>>,
    /// The nanoseconds since the beginning, which the ledger sets.
    pub time: u64,
}

/// Returns the name of a list in histories.
#[must_use]
pub fn list_name(key: &Key, list: i64) -> String {
    format!("{}.{list}", KeyShape::name(key))
}

/// Writes the events of a ledger file as a history. Returns their number.
///
/// # Errors
/// An error of the file system. A malformed line is [`io::ErrorKind::InvalidData`].
pub fn export(ledger: &Path, history: &Path) -> io::Result<u64> {
    let mut out = BufWriter::new(File::create(history)?);
    let mut events = 0;
    for text in BufReader::new(File::open(ledger)?).lines() {
        if let LedgerLine::Event(event) = serde_json::from_str(&text?)? {
            serde_json::to_writer(&mut out, &event)?;
            out.write_all(b"\n")?;
            events += 1;
        }
    }
    out.flush()?;
    Ok(events)
}

#[derive(Serialize, Deserialize)]
struct JepsenEvent {
    #[serde(default)]
    index: u64,
    process: u64,
    #[serde(rename = "type")]
    kind: CallPhase,
    f: JepsenFunction,
    key: String,
    value: Vec<MicroOperation>,
    #[serde(default)]
    time: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum JepsenFunction {
    Append,
    Read,
}

/// The name, the key and the operand.
#[derive(Serialize, Deserialize)]
struct MicroOperation(MicroName, String, MicroOperand);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MicroName {
    Append,
    R,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum MicroOperand {
    Value(i64),
    List(Option<Vec<i64>>),
}

impl From<CallEvent> for JepsenEvent {
    fn from(event: CallEvent) -> Self {
        let key = event.list;
        let mut value = Vec::with_capacity(2);
        if let ListOperation::Append(appended) = event.call {
            let operand = MicroOperand::Value(appended);
            value.push(MicroOperation(MicroName::Append, key.clone(), operand));
        }
        let operand = MicroOperand::List(event.values);
        value.push(MicroOperation(MicroName::R, key.clone(), operand));
        Self {
            index: event.index,
            process: event.process,
            kind: event.kind,
            f: match event.call {
                ListOperation::Append(_) => JepsenFunction::Append,
                ListOperation::Read => JepsenFunction::Read,
            },
            key,
            value,
            time: event.time,
        }
    }
}

impl TryFrom<JepsenEvent> for CallEvent {
    type Error = String;

    fn try_from(wire: JepsenEvent) -> Result<Self, String> {
        let mut appended = None;
        let mut values = None;
        for MicroOperation(name, key, operand) in wire.value {
            if key != wire.key {
                return Err(format!(
                    "an operation is on list {key}, but the event is for list {}",
                    wire.key
                ));
            }
            match (name, operand) {
                (MicroName::Append, MicroOperand::Value(value)) if appended.is_none() => {
                    appended = Some(value);
                }
                (MicroName::R, MicroOperand::List(list)) => values = list,
                (
                    MicroName::Append | MicroName::R,
                    MicroOperand::Value(_) | MicroOperand::List(_),
                ) => {
                    return Err(format!("the form of an operation on {key} is not valid"));
                }
            }
        }
        let call = match (wire.f, appended) {
            (JepsenFunction::Append, Some(value)) => ListOperation::Append(value),
            (JepsenFunction::Read, None) => ListOperation::Read,
            (JepsenFunction::Append | JepsenFunction::Read, _) => {
                return Err(format!("operation on {} contradicts its field f", wire.key));
            }
        };
        Ok(Self {
            index: wire.index,
            process: wire.process,
            kind: wire.kind,
            list: wire.key,
            call,
            values,
            time: wire.time,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_form_that_the_tools_read() {
        let event = CallEvent {
            index: 4,
            process: 2,
            kind: CallPhase::Ok,
            list: list_name(&Key::Int(11), 0),
            call: ListOperation::Append(3),
            values: Some(vec![1, 3]),
            time: 812,
        };
        let text = serde_json::to_string(&event).unwrap();
        let wanted = r#"{"index":4,"process":2,"type":"ok","f":"append","key":"11.0","value":[["append","11.0",3],["r","11.0",[1,3]]],"time":812}"#;
        assert_eq!(text, wanted);
        assert_eq!(serde_json::from_str::<CallEvent>(&text).unwrap(), event);
        let invoked = wanted.replace("[1,3]", "null").replace("ok", "invoke");
        let invoked: CallEvent = serde_json::from_str(&invoked).unwrap();
        assert_eq!((invoked.kind, invoked.values), (CallPhase::Invoke, None));
        assert!(
            serde_json::from_str::<CallEvent>(&wanted.replace("\"append\",\"", "\"r\",\""))
                .is_err()
        );
    }
}
