//! Tests which histories are refused and accepted, and that both methods agree.

use super::*;
use crate::ledger::{CallPhase, ListOperation};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

fn event(process: u64, kind: CallPhase, call: ListOperation, values: Option<&[i64]>) -> CallEvent {
    CallEvent {
        index: 0,
        process,
        kind,
        list: "1.0".to_owned(),
        call,
        values: values.map(<[i64]>::to_vec),
        time: 0,
    }
}

fn invoke(process: u64, call: ListOperation) -> CallEvent {
    event(process, CallPhase::Invoke, call, None)
}

fn ok(process: u64, call: ListOperation, values: &[i64]) -> CallEvent {
    event(process, CallPhase::Ok, call, Some(values))
}

/// Returns the results of both methods: by values, and by search.
fn check_both(events: &[CallEvent], last: Option<&[i64]>) -> (bool, bool) {
    let mut histories = calls::gather(events).unwrap();
    let history = histories.entry("1.0".to_owned()).or_default();
    if let Some(last) = last {
        history.add_final_read(last.to_vec());
    }
    let search = tester::explains(history).expect("few states");
    (order::explains(history), search)
}

fn linearizable(events: &[CallEvent], last: Option<&[i64]>) -> bool {
    let (values, search) = check_both(events, last);
    assert_eq!(values, search, "{events:?} {last:?}");
    values
}

const READ: ListOperation = ListOperation::Read;
const ONE: ListOperation = ListOperation::Append(1);
const TWO: ListOperation = ListOperation::Append(2);

#[test]
fn concurrent_calls_may_be_in_either_order() {
    let events = [
        invoke(1, ONE),
        invoke(2, TWO),
        invoke(3, READ),
        ok(1, ONE, &[2, 1]),
        ok(3, READ, &[2]),
        ok(2, TWO, &[2]),
    ];
    assert!(linearizable(&events, Some(&[2, 1])));
    assert!(!linearizable(&events, Some(&[1, 2])));
}

#[test]
fn a_lost_append_is_caught() {
    let events = [
        invoke(1, ONE),
        ok(1, ONE, &[1]),
        invoke(1, TWO),
        ok(1, TWO, &[1, 2]),
    ];
    assert!(linearizable(&events, Some(&[1, 2])));
    assert!(!linearizable(&events, Some(&[1])));
    assert!(!linearizable(&events, Some(&[2])));
    assert!(!linearizable(&events, Some(&[])));
}

#[test]
fn a_doubled_and_a_phantom_append_are_caught() {
    let events = [invoke(1, ONE), ok(1, ONE, &[1])];
    assert!(!linearizable(&events, Some(&[1, 1])));
    assert!(!linearizable(&events, Some(&[1, 2])));
    let failed = [
        events.to_vec(),
        vec![invoke(1, TWO), event(1, CallPhase::Fail, TWO, None)],
    ]
    .concat();
    assert!(linearizable(&failed, Some(&[1])));
    assert!(!linearizable(&failed, Some(&[1, 2])));
}

#[test]
fn a_read_that_misses_an_acknowledged_append_is_caught() {
    let append = [invoke(1, ONE), ok(1, ONE, &[1])];
    let stale = [append.to_vec(), vec![invoke(2, READ), ok(2, READ, &[])]].concat();
    assert!(!linearizable(&stale, Some(&[1])));
    let overlapping = [
        append[0].clone(),
        invoke(2, READ),
        append[1].clone(),
        ok(2, READ, &[]),
    ];
    assert!(linearizable(&overlapping, Some(&[1])));
}

#[test]
fn a_later_read_never_returns_an_older_list() {
    let events = [
        invoke(1, ONE),
        invoke(2, READ),
        ok(2, READ, &[1]),
        invoke(2, READ),
        ok(2, READ, &[]),
        ok(1, ONE, &[1]),
    ];
    assert!(!linearizable(&events, Some(&[1])));
}

#[test]
fn an_append_with_an_unknown_outcome_may_be_executed_later_or_never() {
    let events = [
        invoke(1, ONE),
        event(1, CallPhase::Unknown, ONE, None),
        invoke(2, TWO),
        ok(2, TWO, &[2]),
    ];
    assert!(linearizable(&events, Some(&[2])));
    assert!(linearizable(&events, Some(&[2, 1])));
    assert!(!linearizable(&events, Some(&[1, 2])));
}

#[test]
fn appends_without_a_returned_list_are_ordered_by_the_reads() {
    let ok_without_list = |process, call| event(process, CallPhase::Ok, call, None);
    let events = [
        invoke(1, ONE),
        ok_without_list(1, ONE),
        invoke(2, TWO),
        ok_without_list(2, TWO),
        invoke(1, READ),
        ok(1, READ, &[1]),
    ];
    assert!(!linearizable(&events, None));
    assert!(linearizable(&events[..4], None));
    assert!(linearizable(&events[..4], Some(&[1, 2])));
    assert!(!linearizable(&events[..4], Some(&[2, 1])));
}

#[test]
fn contradictory_events_are_refused() {
    let call_open = calls::gather(&[invoke(1, ONE), invoke(1, READ)]);
    assert_eq!(
        call_open.unwrap_err(),
        InvalidEvent::CallOpen {
            event: 1,
            process: 1
        }
    );
    let ended = [
        invoke(1, ONE),
        event(1, CallPhase::Unknown, ONE, None),
        invoke(1, TWO),
    ];
    assert!(calls::gather(&ended).is_err());
    let other = calls::gather(&[invoke(1, ONE), ok(1, TWO, &[2])]);
    assert_eq!(
        other.unwrap_err(),
        InvalidEvent::NotOpen {
            event: 1,
            process: 1
        }
    );
}

/// Creates a correct history of clients whose calls overlap, and then possibly changes one result.
fn random_history(rng: &mut StdRng) -> (Vec<CallEvent>, Vec<i64>) {
    let mut list = Vec::new();
    let mut open: Vec<Option<(ListOperation, Option<Vec<i64>>)>> = vec![None; 3];
    let mut processes: Vec<u64> = (0..3).collect();
    let mut events = Vec::new();
    let mut value = 0;
    for _ in 0..24 {
        let client = rng.random_range(0..3);
        let process = processes[client];
        match open[client].take() {
            None => {
                let call = if rng.random_bool(0.5) {
                    value += 1;
                    ListOperation::Append(value)
                } else {
                    ListOperation::Read
                };
                events.push(invoke(process, call));
                open[client] = Some((call, None));
            }
            Some((call, None)) => {
                if let ListOperation::Append(value) = call {
                    list.push(value);
                }
                open[client] = Some((call, Some(list.clone())));
            }
            Some((call, Some(_))) if call != ListOperation::Read && rng.random_bool(0.15) => {
                events.push(event(process, CallPhase::Unknown, call, None));
                processes[client] += 3;
            }
            Some((call, values)) => {
                let returns_list = call == ListOperation::Read || rng.random_bool(0.8);
                let values = values.filter(|_| returns_list);
                events.push(event(process, CallPhase::Ok, call, values.as_deref()));
            }
        }
    }
    change_one_result(&mut events, &mut list, rng);
    (events, list)
}

fn change_one_result(events: &mut [CallEvent], list: &mut Vec<i64>, rng: &mut StdRng) {
    let at = rng.random_range(0..events.len());
    match rng.random_range(0..6) {
        0 => drop(list.pop()),
        1 => list.extend(list.first().copied()),
        2 => list.reverse(),
        3 => {
            if let Some(values) = &mut events[at].values {
                values.pop();
            }
        }
        4 if at > 0 && events[at].process != events[at - 1].process => events.swap(at, at - 1),
        _ => {}
    }
}

#[test]
fn both_methods_agree() {
    let mut rng = StdRng::seed_from_u64(13);
    let mut counts = [0_u32; 2];
    for _ in 0..2_000 {
        let (events, list) = random_history(&mut rng);
        let last = rng.random_bool(0.7).then_some(list.as_slice());
        counts[usize::from(linearizable(&events, last))] += 1;
    }
    assert!(counts.iter().all(|count| *count > 200), "{counts:?}");
}

/// Overlapping reads can be exchanged in every round. Each round doubles the number of orders, and none of them
/// explains the last read.
#[test]
fn a_search_visits_no_state_twice() {
    let mut events = Vec::new();
    let mut list = Vec::new();
    for value in 1..=30 {
        list.push(value);
        events.push(invoke(1, ListOperation::Append(value)));
        events.push(ok(1, ListOperation::Append(value), &list));
        events.extend((2..6).map(|reader| invoke(reader, READ)));
        events.extend((2..6).map(|reader| ok(reader, READ, &list)));
    }
    assert!(linearizable(&events, Some(&list)));
    assert!(!linearizable(&events, Some(&list[1..])));
}
