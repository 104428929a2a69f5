//! Every state machine, over every state and event.

use plans::state::cutover::{Ownership, OwnershipEvent};
use plans::state::migration::{MigrationEvent, MigrationState};
use plans::state::step::{StepEvent, StepState};
use plans::step::{FORWARD, OFFLINE, StepKind};

const STEP_STATES: [StepState; 6] = {
    use StepState::*;
    [Pending, Running, Backoff, Failed, Done, Skipped]
};
const STEP_EVENTS: [StepEvent; 9] = {
    use StepEvent::*;
    [
        Dispatched,
        Completed,
        Faulted,
        GaveUp,
        Interrupted,
        Retried,
        Rewound,
        Dropped,
        Restored,
    ]
};
const MIGRATION_STATES: [MigrationState; 10] = {
    use MigrationState::*;
    [
        Planned, Running, Waiting, Paused, Failed, Unwinding, Unwound, Flipped, Completed,
        RolledBack,
    ]
};
const MIGRATION_EVENTS: [MigrationEvent; 16] = {
    use MigrationEvent::*;
    [
        Started,
        Held,
        Approved,
        Cleared,
        Paused,
        ResumedPlanned,
        Resumed,
        ResumedFlipped,
        ResumedRolledBack,
        Failed,
        Aborted,
        Unwound,
        Flipped,
        RolledBack,
        Again,
        Completed,
    ]
};
const OWNERSHIPS: [Ownership; 7] = {
    use Ownership::*;
    [
        Ready,
        Fencing,
        Aborted,
        Flipped,
        RollbackFencing,
        RolledBack,
        Completed,
    ]
};
const OWNERSHIP_EVENTS: [OwnershipEvent; 9] = {
    use OwnershipEvent::*;
    [
        Fence,
        Release,
        Flip,
        Abort,
        FenceBack,
        ReleaseBack,
        FlipBack,
        Again,
        Complete,
    ]
};

/// Returns a pair of a state and the next state for each event that is possible in the state.
fn edges<S: Copy, E: Copy, X>(
    states: &[S],
    events: &[E],
    next: impl Fn(S, E) -> Result<S, X>,
) -> Vec<(S, S)> {
    let pairs = states
        .iter()
        .flat_map(|state| events.iter().map(move |event| (*state, *event)));
    pairs
        .filter_map(|(state, event)| Some((state, next(state, event).ok()?)))
        .collect()
}

/// States that can be reached from `from`, itself included.
fn reachable<S: Copy + PartialEq>(from: S, edges: &[(S, S)]) -> Vec<S> {
    let mut found = vec![from];
    let mut visited = 0;
    while let Some(state) = found.get(visited).copied() {
        visited += 1;
        for (_, to) in edges.iter().filter(|(start, _)| *start == state) {
            if !found.contains(to) {
                found.push(*to);
            }
        }
    }
    found
}

#[test]
fn every_step_state_is_reached_and_a_skipped_one_is_only_restored() {
    let edges = edges(&STEP_STATES, &STEP_EVENTS, StepState::next);
    assert_eq!(
        reachable(StepState::Pending, &edges).len(),
        STEP_STATES.len()
    );
    for event in STEP_EVENTS {
        let next = StepState::Skipped.next(event);
        assert_eq!(next.is_ok(), event == StepEvent::Restored, "{event:?}");
    }
}

#[test]
fn a_done_step_only_runs_again_after_a_rewind() {
    for event in STEP_EVENTS {
        let next = StepState::Done.next(event);
        assert_eq!(next.is_ok(), event == StepEvent::Rewound, "{event:?}");
    }
}

#[test]
fn every_migration_state_is_reached_and_final_states_stay() {
    let edges = edges(&MIGRATION_STATES, &MIGRATION_EVENTS, MigrationState::next);
    let found = reachable(MigrationState::Planned, &edges);
    assert_eq!(found.len(), MIGRATION_STATES.len());
    for end in [MigrationState::Unwound, MigrationState::Completed] {
        assert_eq!(reachable(end, &edges), [end]);
    }
}

#[test]
fn only_a_running_migration_flips_and_only_a_flipped_one_completes_or_goes_back() {
    use {MigrationEvent as E, MigrationState as S};
    for state in MIGRATION_STATES {
        assert_eq!(
            state.next(E::Flipped).is_ok(),
            state == S::Running,
            "{state}"
        );
        assert_eq!(
            state.next(E::RolledBack).is_ok(),
            state == S::Flipped,
            "{state}"
        );
        let completes = state.next(E::Completed) == Ok(S::Completed);
        assert_eq!(completes, state == S::Flipped, "{state}");
    }
}

#[test]
fn final_ownership_states_stay() {
    let edges = edges(&OWNERSHIPS, &OWNERSHIP_EVENTS, Ownership::next);
    assert_eq!(reachable(Ownership::Ready, &edges).len(), OWNERSHIPS.len());
    for end in [Ownership::Aborted, Ownership::Completed] {
        assert_eq!(reachable(end, &edges), [end]);
    }
}

#[test]
fn after_the_flip_only_a_flip_back_leads_before_it() {
    let mut edges = edges(&OWNERSHIPS, &OWNERSHIP_EVENTS, Ownership::next);
    edges.retain(|(_, to)| *to != Ownership::RolledBack);
    let later = reachable(Ownership::Flipped, &edges);
    for early in [Ownership::Ready, Ownership::Fencing, Ownership::Aborted] {
        assert!(!later.contains(&early), "{early}");
    }
}

#[test]
fn the_target_gains_the_keys_by_a_flip_only() {
    use Ownership as S;
    let on_target = |state| matches!(state, S::Flipped | S::RollbackFencing | S::Completed);
    for state in OWNERSHIPS {
        for event in OWNERSHIP_EVENTS {
            let Ok(next) = state.next(event) else {
                continue;
            };
            let gained = !on_target(state) && on_target(next);
            let lost = on_target(state) && !on_target(next);
            assert_eq!(gained, state == S::Fencing && event == OwnershipEvent::Flip);
            assert_eq!(lost, event == OwnershipEvent::FlipBack);
        }
    }
}

#[test]
fn an_illegal_event_says_what_was_tried_and_where() {
    let error = Ownership::Completed
        .next(OwnershipEvent::FenceBack)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "fenceback is not possible while the ownership is completed"
    );
}

#[test]
fn names_are_read_back() {
    for state in STEP_STATES {
        assert_eq!(StepState::parse(state.name()), Some(state));
    }
    for state in MIGRATION_STATES {
        assert_eq!(MigrationState::parse(state.name()), Some(state));
    }
    for state in OWNERSHIPS {
        assert_eq!(Ownership::parse(state.name()), Some(state));
    }
    for kind in StepKind::ALL {
        assert_eq!(StepKind::parse(kind.name()), Some(kind));
    }
}

#[test]
fn the_steps_of_both_modes_are_listed_in_their_order() {
    for steps in [FORWARD.as_slice(), OFFLINE.as_slice()] {
        let listed = StepKind::ALL
            .into_iter()
            .filter(|kind| steps.contains(kind));
        assert_eq!(listed.collect::<Vec<_>>(), steps);
    }
}
