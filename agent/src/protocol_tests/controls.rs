//! Negative controls: variants without a rule of the protocol must fail on a real server, or the checks prove nothing.
//!
//! Each control is also a test of its own, next to the rule that it omits. The suite `controls` runs all of them in
//! turn and counts them.

use super::{confirmed, cutover, guard, snapshots};

/// A control: the rule that it omits or the wrong variant that it uses, and the test that shows the damage.
type Control = (&'static str, fn());

const CONTROLS: [Control; 8] = [
    (
        "a filter by log position with an ordinary snapshot",
        snapshots::control_a_filter_by_position_drops_a_commit_that_the_copy_lacks,
    ),
    (
        "no dominance gate",
        snapshots::control_without_the_gate_a_commit_is_neither_copied_nor_sent,
    ),
    (
        "no barrier behind the snapshot",
        snapshots::control_without_the_barrier_a_crash_makes_phantoms_and_hides_new_commits,
    ),
    (
        "a fence in a table",
        guard::control_a_guard_that_reads_a_table_lets_an_older_snapshot_through,
    ),
    (
        "no wait-out",
        cutover::control_without_the_wait_out_an_acknowledged_write_is_lost,
    ),
    (
        "a drain to a log position",
        cutover::a_marker_comes_after_every_acknowledged_commit_and_a_position_does_not,
    ),
    (
        "a slot that is confirmed before the standby has flushed",
        confirmed::control_a_slot_that_does_not_wait_for_the_standby_loses_an_acknowledged_write,
    ),
    (
        "asynchronous apply that is confirmed",
        snapshots::control_changes_applied_asynchronously_and_confirmed_are_lost_in_a_crash,
    ),
];

#[test]
#[ignore = "the suite `controls` runs it, in a process of its own"]
fn every_control_is_caught() {
    let mut caught = 0;
    for (name, control) in CONTROLS {
        let ran = std::panic::catch_unwind(control);
        println!("{} {name}", if ran.is_ok() { "caught" } else { "MISSED" });
        caught += usize::from(ran.is_ok());
    }
    println!("controls caught {caught}/{}", CONTROLS.len());
    assert_eq!(caught, CONTROLS.len());
}
