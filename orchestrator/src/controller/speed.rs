//! The time that the moves of a plan are expected to take, from the speed of earlier migrations of the same shards.

use super::{ControlError, Controller};
use crate::store::{Migration, Snapshot, Step};
use plans::id::ShardName;
use plans::plan::{Move, Plan, TargetState};
use plans::speed::CopySpeed;
use plans::step::StepKind;
use std::collections::BTreeSet;

/// The newest migrations that are considered.
const CONSIDERED: i64 = 200;
/// The largest number of pairs of shards whose speed is read.
const MOST_PAIRS: usize = 16;
/// Of smaller moves most of the time does not depend on the size.
const LEAST_BYTES: i64 = 64 << 20;
/// The steps whose time depends on the size of the move.
const SIZED: [StepKind; 4] = [
    StepKind::Copy,
    StepKind::CatchUp,
    StepKind::BuildIndexes,
    StepKind::Verify,
];

/// The speeds of earlier migrations, newest first, with their shards.
#[derive(Debug, Default)]
struct EarlierMoves(Vec<((ShardName, ShardName), CopySpeed)>);

impl EarlierMoves {
    /// Returns the speed between the same shards, or else one with the same source or target, or else the newest.
    fn speed(&self, moving: &Move) -> CopySpeed {
        let rank = |(source, target): &(ShardName, ShardName)| {
            let same = [source == &moving.source, target == &moving.target];
            same.into_iter().filter(|same| *same).count()
        };
        let mut best: Option<(usize, &CopySpeed)> = None;
        for (shards, speed) in &self.0 {
            if best.is_none_or(|(known, _)| rank(shards) > known) {
                best = Some((rank(shards), speed));
            }
        }
        best.map_or_else(CopySpeed::assumed, |(_, speed)| speed.clone())
    }
}

impl Controller {
    /// Returns the plan with the time that its moves are expected to take.
    pub(super) async fn with_durations(&self, plan: Plan) -> Result<Plan, ControlError> {
        let earlier = self.earlier_moves().await?;
        Ok(plan.with_durations(|moving| earlier.speed(moving)))
    }

    async fn earlier_moves(&self) -> Result<EarlierMoves, ControlError> {
        let store = &self.inner.store;
        let mut pairs = BTreeSet::new();
        let mut ids = Vec::new();
        for migration in store.list(CONSIDERED, None).await? {
            let moving = &migration.plan.moving;
            let pair = (moving.source.clone(), moving.target.clone());
            let is_wanted = shows_speed(&migration) && ids.len() < MOST_PAIRS;
            if is_wanted && pairs.insert(pair.clone()) {
                ids.push((pair, migration.id.clone()));
            }
        }
        let mut earlier = EarlierMoves::default();
        for (pair, id) in ids {
            let speed = store.load(&id).await?.as_ref().and_then(measured_speed);
            earlier.0.extend(speed.map(|speed| (pair, speed)));
        }
        Ok(earlier)
    }
}

/// Returns whether the migration has copied and compared enough rows.
fn shows_speed(migration: &Migration) -> bool {
    let plan = &migration.plan;
    migration.map_version_after.is_some()
        && plan.target != TargetState::Standby
        && plan.estimate.bytes >= LEAST_BYTES
}

/// Returns the speed of a migration; `None` if a step was interrupted, because its time would contain waits.
fn measured_speed(snapshot: &Snapshot) -> Option<CopySpeed> {
    let sized = snapshot.steps.iter();
    let sized = sized.filter(|step| SIZED.contains(&step.kind));
    let seconds = sized.map(uninterrupted_seconds).sum::<Option<i64>>()?;
    let migration = &snapshot.migration;
    CopySpeed::measured(&migration.id, migration.plan.estimate.bytes, seconds)
}

/// Returns the time of a step that was dispatched once.
fn uninterrupted_seconds(step: &Step) -> Option<i64> {
    let time = step.finished_at? - step.started_at?;
    (step.dispatched_at == step.started_at).then(|| time.num_seconds())
}

#[cfg(test)]
mod tests {
    use super::super::samples::{admitted, at, keys, planned};
    use super::*;
    use plans::request::Options;

    /// A migration that has flipped, and whose sized steps took ten seconds each.
    fn flipped(id: &str, source: &str, target: &str) -> Snapshot {
        let mut move_ = planned("m1", source, target, keys(0, 9));
        move_.estimate.bytes = 4 << 30;
        let mut snapshot = admitted(id, vec![move_], Options::default()).remove(0);
        snapshot.migration.map_version_after = Some(plans::id::MapVersion(2));
        for (step, index) in snapshot.steps.iter_mut().zip(0..) {
            step.started_at = Some(at(index * 10));
            step.dispatched_at = step.started_at;
            step.finished_at = Some(at(index * 10 + 10));
        }
        snapshot
    }

    #[test]
    fn the_time_of_the_sized_steps_counts() {
        let snapshot = flipped("ma", "a", "b");
        assert!(shows_speed(&snapshot.migration));
        let speed = measured_speed(&snapshot).unwrap();
        let duration = speed.duration(0);
        assert_eq!(duration.bytes_per_s, (4 << 30) / 40);
        assert_eq!(duration.measured_by, Some(snapshot.migration.id));
    }

    #[test]
    fn a_migration_that_was_interrupted_or_is_small_shows_nothing() {
        let mut snapshot = flipped("ma", "a", "b");
        let sized = |step: &&mut Step| step.kind == StepKind::Verify;
        snapshot.steps.iter_mut().find(sized).unwrap().dispatched_at = Some(at(99));
        assert_eq!(measured_speed(&snapshot), None);
        let mut small = flipped("ma", "a", "b").migration;
        small.plan.estimate.bytes = LEAST_BYTES - 1;
        assert!(!shows_speed(&small));
        let mut aborted = flipped("ma", "a", "b").migration;
        aborted.map_version_after = None;
        assert!(!shows_speed(&aborted));
    }

    #[test]
    fn the_same_shards_come_first_then_one_of_them_then_any() {
        let moves = ["a b", "c d", "a d"].map(|pair| {
            let (source, target) = pair.split_once(' ').unwrap();
            let snapshot = flipped(&pair.replace(' ', ""), source, target);
            let shards = (ShardName::from(source), ShardName::from(target));
            (shards, measured_speed(&snapshot).unwrap())
        });
        let earlier = EarlierMoves(moves.to_vec());
        let by = |source: &str, target: &str| {
            let own = planned("m1", source, target, keys(0, 9)).moving;
            let migration = earlier.speed(&own).duration(0).measured_by;
            migration.map(|id| id.to_string())
        };
        assert_eq!(by("a", "d").as_deref(), Some("ad"));
        assert_eq!(by("c", "x").as_deref(), Some("cd"));
        assert_eq!(by("x", "d").as_deref(), Some("cd"));
        assert_eq!(by("x", "y").as_deref(), Some("ab"));
        let none = EarlierMoves::default();
        let own = planned("m1", "a", "b", keys(0, 9)).moving;
        assert_eq!(none.speed(&own), CopySpeed::assumed());
    }
}
