//! Tests of the state of an operation.

use super::*;
use MigrationState as M;

fn of(states: &[(M, bool)]) -> OperationState {
    state(states)
}

#[test]
fn what_needs_somebody_comes_first() {
    assert_eq!(
        of(&[(M::Running, false), (M::Failed, false)]),
        OperationState::Failed
    );
    assert_eq!(
        of(&[(M::Running, false), (M::Waiting, false)]),
        OperationState::Waiting
    );
    assert_eq!(
        of(&[(M::Paused, false), (M::Running, false)]),
        OperationState::Running
    );
    assert_eq!(
        of(&[(M::Paused, false), (M::Planned, false)]),
        OperationState::Paused
    );
}

#[test]
fn a_hold_is_shown_once_nothing_else_goes_on() {
    assert_eq!(
        of(&[(M::Flipped, false), (M::Running, false)]),
        OperationState::Running
    );
    assert_eq!(
        of(&[(M::Flipped, false), (M::Planned, false)]),
        OperationState::Flipped
    );
    assert_eq!(
        of(&[(M::Flipped, false), (M::Completed, true)]),
        OperationState::Flipped
    );
}

#[test]
fn planned_means_that_nothing_has_begun() {
    assert_eq!(
        of(&[(M::Planned, false), (M::Planned, false)]),
        OperationState::Planned
    );
    assert_eq!(
        of(&[(M::Completed, true), (M::Planned, false)]),
        OperationState::Running
    );
}

#[test]
fn ends_that_differ_are_partial() {
    assert_eq!(
        of(&[(M::Completed, true), (M::Completed, true)]),
        OperationState::Completed
    );
    assert_eq!(
        of(&[(M::Unwound, true), (M::Unwound, true)]),
        OperationState::Unwound
    );
    assert_eq!(of(&[(M::RolledBack, true)]), OperationState::RolledBack);
    assert_eq!(of(&[(M::RolledBack, false)]), OperationState::RolledBack);
    assert_eq!(
        of(&[(M::Completed, true), (M::Unwound, true)]),
        OperationState::Partial
    );
}

#[test]
fn every_state_has_a_name_of_its_own() {
    for state in OperationState::ALL {
        assert_eq!(OperationState::parse(state.name()), Some(state));
    }
}
