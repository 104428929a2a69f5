//! Tests each kind of hint in each state: the migration accepts every command in the hint.

use super::super::samples::{admitted, keys, planned};
use super::*;
use plans::failure::RetryClass;
use plans::request::Options;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;

/// One hint of each form that agents write.
const HINTS: [Option<&str>; 11] = [
    None,
    Some("`abort` it and plan it again"),
    Some("grant the missing privilege to the agent's role, then `resume`"),
    Some("make the tables equal on both shards, then `resume`; or `abort` the migration"),
    Some("something else wrote to the moving rows there; `abort` it and plan it again"),
    Some("find the cause, then `resume`: before the flip the agent creates the guards again"),
    Some("a rollback is not possible any more: `finish`"),
    Some("start that agent again, or `abort` it"),
    Some("the target keeps the keys: `finish`, or plan a move back"),
    Some("`shardwright verify m1 --report` names them; find out who wrote to the target"),
    Some("check dbname"),
];

/// A migration whose step `kind` has the state `step`. The steps before it are done.
fn snapshot(
    (state, ownership): (MigrationState, Ownership),
    kind: StepKind,
    step: StepState,
) -> Snapshot {
    let moves = vec![planned("m1", "a", "b", keys(0, 9))];
    let mut snapshot = admitted("m1", moves, Options::default()).remove(0);
    let m = &mut snapshot.migration;
    (m.state, m.ownership) = (state, ownership);
    m.started_at = Some(m.created_at);
    let flipped = !matches!(
        ownership,
        Ownership::Ready | Ownership::Fencing | Ownership::Aborted
    );
    m.map_version_after = flipped.then(|| m.map_version_before.next());
    let ordinal = match snapshot.step_of(kind) {
        Some(step) => step.ordinal,
        None => {
            let last = snapshot.steps.len() as i32;
            snapshot.steps.push(crate::store::Step::new(kind, last));
            last
        }
    };
    for row in &mut snapshot.steps {
        if row.ordinal < ordinal {
            row.state = StepState::Done;
        } else if row.ordinal == ordinal {
            row.state = step;
        }
    }
    snapshot
}

fn states() -> Vec<(&'static str, Snapshot, Option<Command>)> {
    use MigrationState as M;
    use Ownership as O;
    use StepKind as K;
    let failed = StepState::Failed;
    let mut unwinding = snapshot((M::Unwinding, O::Aborted), K::Copy, StepState::Skipped);
    let mut unwind = crate::store::Step::new(K::Unwind, 99);
    unwind.state = StepState::Backoff;
    unwinding.steps.push(unwind);
    let resume = Some(Command::Resume);
    vec![
        (
            "before the flip",
            snapshot((M::Failed, O::Ready), K::Copy, failed),
            resume,
        ),
        (
            "between attempts",
            snapshot((M::Running, O::Ready), K::Copy, StepState::Backoff),
            Some(Command::Retry),
        ),
        (
            "in the fence",
            snapshot((M::Failed, O::Fencing), K::Cutover, failed),
            resume,
        ),
        (
            "opening",
            snapshot((M::Flipped, O::Flipped), K::Cutover, StepState::Backoff),
            Some(Command::Retry),
        ),
        (
            "in the hold",
            snapshot((M::Failed, O::Flipped), K::Hold, failed),
            resume,
        ),
        (
            "going back",
            snapshot((M::Failed, O::RollbackFencing), K::Rollback, failed),
            resume,
        ),
        (
            "rolled back",
            snapshot((M::Failed, O::RolledBack), K::HoldBack, failed),
            resume,
        ),
        (
            "dropping the old rows",
            snapshot((M::Failed, O::Completed), K::DropOld, failed),
            resume,
        ),
        ("unwinding", unwinding, Some(Command::Retry)),
    ]
}

#[test]
fn the_state_allows_every_command_of_a_hint_and_one_command_continues() {
    for (state, snapshot, continues_with) in states() {
        let allowed = Command::allowed(&snapshot);
        for hint in HINTS {
            let failure = Failure {
                code: "x.y".to_owned(),
                message: "the step failed".to_owned(),
                hint: hint.map(str::to_owned),
                retry: RetryClass::None,
            };
            let shown = fit(&failure, &snapshot)
                .hint
                .expect("something can be done");
            let named: Vec<Command> = commands(&shown).collect();
            assert!(!named.is_empty(), "{state}: {shown}");
            let refused = named.iter().find(|command| !allowed.contains(command));
            assert_eq!(refused, None, "{state}: {hint:?} is shown as {shown}");
            if hint.is_none() {
                assert!(
                    continues_with.is_some_and(|command| named.contains(&command)),
                    "{state}: {shown}"
                );
            }
        }
    }
}

#[test]
fn a_hint_keeps_the_remedy_without_a_refused_command() {
    let failure = |hint: &str| Failure {
        code: "x.y".to_owned(),
        message: "the step failed".to_owned(),
        hint: Some(hint.to_owned()),
        retry: RetryClass::None,
    };
    let in_hold = snapshot(
        (MigrationState::Failed, Ownership::Flipped),
        StepKind::Hold,
        StepState::Failed,
    );
    let shown = |hint| fit(&failure(hint), &in_hold).hint.unwrap();
    assert_eq!(
        shown("make the tables equal on both shards, then `resume`; or `abort` the migration"),
        "make the tables equal on both shards, then `resume`"
    );
    assert_eq!(
        shown("start that agent again, or `abort` it"),
        "start that agent again, then `resume`; `finish` makes a rollback impossible"
    );
    assert_eq!(
        shown("`abort` it and plan it again"),
        "remove the cause, then `resume`; `finish` makes a rollback impossible"
    );
}

#[test]
fn an_ended_migration_gets_no_command_in_its_hint() {
    let mut ended = snapshot(
        (MigrationState::Unwound, Ownership::Aborted),
        StepKind::Unwind,
        StepState::Done,
    );
    ended.migration.finished_at = Some(ended.migration.created_at);
    let failure = Failure {
        code: "x.y".to_owned(),
        message: "the step failed".to_owned(),
        hint: Some("repair it, then `resume`; or `abort` it".to_owned()),
        retry: RetryClass::None,
    };
    assert_eq!(fit(&failure, &ended).hint.as_deref(), Some("repair it"));
}
