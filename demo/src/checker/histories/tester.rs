//! Judges a list by search: tries the orders that real time allows until one explains everything that was heard.
//!
//! It takes time that grows fast with the number of calls that overlap, most of all where there is no such order.

use super::calls::{Done, History};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

/// Calls that are searched at most, and appends among them that have no end: each may stand anywhere.
const MOST_CALLS: usize = 200;
const MOST_OPEN: usize = 4;

/// True if the search ends soon.
pub(super) fn is_feasible(history: &History) -> bool {
    let open = history
        .operations
        .iter()
        .filter(|operation| operation.end.is_none());
    history.operations.len() <= MOST_CALLS && open.count() <= MOST_OPEN
}

/// What calls do to a list.
#[derive(Debug, Clone, Default)]
struct List(Vec<i64>);

#[derive(Debug, Clone)]
enum Asked {
    Append(i64),
    Read,
}

/// The list as the call left it; none where nobody knows.
#[derive(Debug, Clone, PartialEq)]
struct Answered(Option<Vec<i64>>);

impl SequentialSpec for List {
    type Op = Asked;
    type Ret = Answered;

    fn invoke(&mut self, asked: &Asked) -> Answered {
        if let Asked::Append(value) = asked {
            self.0.push(*value);
        }
        Answered(Some(self.0.clone()))
    }

    fn is_valid_step(&mut self, asked: &Asked, answered: &Answered) -> bool {
        if let Asked::Append(value) = asked {
            self.0.push(*value);
        }
        answered.0.as_ref().is_none_or(|list| *list == self.0)
    }
}

/// True if some order of the calls explains the history.
pub(super) fn explains(history: &History) -> bool {
    let mut tester = LinearizabilityTester::new(List::default());
    let told = events(history).into_iter().try_for_each(|event| {
        let told = match event.1 {
            Told::Asked(asked) => tester.on_invoke(event.0, asked),
            Told::Answered(answered) => tester.on_return(event.0, answered),
        };
        told.map(|_| ())
    });
    told.is_ok() && tester.is_consistent()
}

enum Told {
    Asked(Asked),
    Answered(Answered),
}

/// Beginnings and ends by process, in order of time.
fn events(history: &History) -> Vec<(u64, Told)> {
    let mut events = Vec::new();
    for operation in &history.operations {
        let (asked, answer) = match &operation.done {
            Done::Append { value, left } => (Asked::Append(*value), left.clone()),
            Done::Read { seen } => (Asked::Read, Some(seen.clone())),
        };
        events.push((operation.begin, operation.process, Told::Asked(asked)));
        if let Some(end) = operation.end {
            let answered = Told::Answered(Answered(answer));
            events.push((end, operation.process, answered));
        }
    }
    events.sort_by_key(|(at, _, _)| *at);
    events
        .into_iter()
        .map(|(_, process, told)| (process, told))
        .collect()
}
