//! The queue: what a planned migration waits for. The functions are pure: they compute reasons from the unfinished
//! migrations.
//!
//! A move counts as running from its start until its flip or its end. Of two migrations that share keys the older one
//! starts first, so that they never wait for each other.

use super::decide::next_step;
use crate::store::{Migration, Snapshot};
use plans::id::ShardName;
use plans::plan::{After, TargetState, Until};
use plans::shard_map::ShardMap;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::step::StepKind;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether a planned migration may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartGate {
    /// The migration may start.
    Open,
    /// The migration must wait, for this reason.
    Held(String),
    /// The migration can never start, because its source no longer owns the keys.
    Lost(String),
}

/// Returns the migrations in `all` that belong to the same operation; an empty list if `own` follows no other move.
#[must_use]
pub fn moves_of_operation<'a>(own: &Migration, all: &[&'a Migration]) -> Vec<&'a Migration> {
    if own.plan.after.is_empty() {
        return Vec::new();
    }
    let all = all.iter().copied();
    all.filter(|m| m.operation == own.operation).collect()
}

/// Returns whether `moves_of_operation` contains every move that `own` must follow.
#[must_use]
pub fn knows_all(own: &Migration, moves_of_operation: &[&Migration]) -> bool {
    let mut after = own.plan.after.iter();
    after.all(|after| moves_of_operation.iter().any(|m| m.plan.id == after.id))
}

/// Returns why `own` must not start yet, one text for each reason. Without a reason it may start.
///
/// `all` are the unfinished migrations, oldest first. `moves_of_operation` are migrations of the same operation; if it
/// contains a migration twice, the first one counts.
#[must_use]
pub fn start_obstacles(
    own: &Migration,
    all: &[&Migration],
    moves_of_operation: &[&Migration],
) -> Vec<String> {
    let mut reasons: Vec<String> = own
        .plan
        .after
        .iter()
        .filter_map(|after| unmet_dependency(after, moves_of_operation))
        .collect();
    let others: Vec<&Migration> = all.iter().copied().filter(|m| m.id != own.id).collect();
    reasons.extend(reached_limit(own, &others));
    let own_index = all.iter().position(|m| m.id == own.id);
    let older = own_index.unwrap_or(all.len());
    for (place, other) in others.iter().enumerate() {
        let first = other.holds_keys() || (place < older && must_start_first(own, other));
        if first && other.moves_any_of(&own.plan.map, &own.plan.moving.keys) {
            reasons.push(format!("migration {} moves some of these keys", other.id));
        }
        let (target, theirs) = (&own.plan.moving.target, &other.plan.moving);
        let new_on_target = other.plan.target == TargetState::New && &theirs.target == target;
        if new_on_target && is_running(other) {
            reasons.push(format!(
                "{} creates the tables of shard {target}",
                name_of(own, other)
            ));
        } else if new_on_target
            && other.finished_at.is_none()
            && other.ownership == Ownership::RolledBack
        {
            reasons.push(format!(
                "{} is removing its tables from shard {target}",
                name_of(own, other)
            ));
        }
        if let Some(why) = parentless_rows(own, other) {
            reasons.push(format!("{} {why}", name_of(own, other)));
        }
        let drops = other.finished_at.is_none() && other.ownership == Ownership::Completed;
        if drops && other.plan.map == own.plan.map && &theirs.source == target {
            reasons.push(format!(
                "{} drops its old rows on shard {target}",
                name_of(own, other)
            ));
        }
    }
    let mut named = BTreeSet::new();
    reasons.retain(|reason| named.insert(reason.clone()));
    reasons
}

/// Returns what `other` does that `own` must wait for, because both move dependent tables: during a copy rows can lack their
/// parents, and the agent cannot tell which migration copied them. It looks up such rows on the target before the flip, and
/// on the source after it.
fn parentless_rows(own: &Migration, other: &Migration) -> Option<String> {
    let has_dependents = |m: &Migration| {
        let mut tables = m.plan.moving.tables.iter();
        tables.any(|table| table.through().is_some_and(|through| through.enforced))
    };
    if !(other.holds_keys() && has_dependents(own) && has_dependents(other)) {
        return None;
    }
    let (own, theirs) = (&own.plan.moving, &other.plan.moving);
    let copies_there = |shard: &ShardName| is_running(other) && &theirs.target == shard;
    if copies_there(&own.target) || copies_there(&own.source) {
        let shard = &theirs.target;
        return Some(format!(
            "copies rows of tables without the key to shard {shard}"
        ));
    }
    (own.target == theirs.source).then(|| {
        format!(
            "can roll back tables without the key to shard {}",
            theirs.source
        )
    })
}

/// Returns what `own` waits for before it drops its old rows; `None` if it does not wait.
///
/// If several moves of an operation remove all rows from one shard, the last of them drops the tables, and waits until
/// the others have ended.
#[must_use]
pub fn drop_obstacle(own: &Snapshot, all: &[Arc<Snapshot>]) -> Option<String> {
    let m = &own.migration;
    let due = m.ownership == Ownership::Completed
        && own.running().is_none()
        && next_step(own).is_some_and(|step| step.kind == StepKind::DropOld);
    if !(due && m.plan.drop_tables) {
        return None;
    }
    let others: Vec<&Migration> = all
        .iter()
        .map(|other| &other.migration)
        .filter(|other| {
            other.id != m.id
                && other.operation == m.operation
                && other.finished_at.is_none()
                && other.plan.drop_tables
                && other.plan.moving.source == m.plan.moving.source
        })
        .collect();
    let is_last = others.iter().all(|other| other.ordinal < m.ordinal);
    let first = others.first().filter(|_| is_last)?;
    Some(format!(
        "move {} to be finished, because this move then drops the tables",
        first.plan.id
    ))
}

/// Returns why the source of `own` cannot release the keys, if it does not own them.
#[must_use]
pub fn lost_keys_reason(own: &Migration, map: &ShardMap) -> Option<String> {
    let moving = &own.plan.moving;
    let owns = map.owned_by(&moving.source).covers(&moving.keys);
    (!owns).then(|| {
        format!(
            "shard {} does not own {} any more: map {} is at version {}, and the plan was made for version {}",
            moving.source, moving.keys, map.name, map.version, own.plan.map_version
        )
    })
}

/// Returns whether `older`, which moves some of the same keys, must start first: it is planned, and belongs to another
/// operation.
fn must_start_first(own: &Migration, older: &Migration) -> bool {
    older.operation != own.operation && older.state == MigrationState::Planned
}

/// Returns what `after` still waits for: the state that another move of the operation must reach first.
fn unmet_dependency(after: &After, moves_of_operation: &[&Migration]) -> Option<String> {
    let other = moves_of_operation.iter().find(|m| m.plan.id == after.id)?;
    let flipped = matches!(
        other.ownership,
        Ownership::Flipped | Ownership::RollbackFencing | Ownership::Completed
    );
    if matches!(other.ownership, Ownership::Aborted | Ownership::RolledBack) {
        return Some(format!(
            "move {}, which was aborted or rolled back: abort this migration",
            after.id
        ));
    }
    match after.until {
        Until::Flipped if flipped => None,
        Until::Finished if other.state == MigrationState::Completed => None,
        Until::Flipped => Some(format!("move {} to be flipped", after.id)),
        Until::Finished => Some(format!("move {} to be finished", after.id)),
    }
}

/// Returns a text for the first limit on simultaneous moves that the running moves of the operation reach.
fn reached_limit(own: &Migration, others: &[&Migration]) -> Option<String> {
    let options = &own.plan.options;
    let count_running = |touches: &dyn Fn(&Migration) -> bool| {
        let moves = others.iter().filter(|m| m.operation == own.operation);
        moves.filter(|m| is_running(m) && touches(m)).count()
    };
    let all = count_running(&|_| true);
    if reaches(all, options.moves_at_once) {
        return Some(format!("{} running", moves_text(all)));
    }
    let mut shards = [&own.plan.moving.source, &own.plan.moving.target].into_iter();
    shards.find_map(|shard| {
        let on_shard = count_running(&|m| uses_shard(m, shard));
        reaches(on_shard, options.moves_per_shard)
            .then(|| format!("{} running on shard {shard}", moves_text(on_shard)))
    })
}

fn reaches(count: usize, limit: u32) -> bool {
    u32::try_from(count).is_ok_and(|count| count >= limit.max(1))
}

fn moves_text(count: usize) -> String {
    match count {
        1 => "1 other move is".to_owned(),
        _ => format!("{count} other moves are"),
    }
}

fn uses_shard(m: &Migration, shard: &ShardName) -> bool {
    &m.plan.moving.source == shard || &m.plan.moving.target == shard
}

/// Returns whether the migration has started, and has neither flipped nor ended.
fn is_running(m: &Migration) -> bool {
    m.holds_keys() && m.map_version_after.is_none()
}

/// Returns the name of a move of the same operation, or the id of another migration.
fn name_of(own: &Migration, other: &Migration) -> String {
    if own.operation == other.operation {
        format!("move {}", other.plan.id)
    } else {
        format!("migration {}", other.id)
    }
}

#[cfg(test)]
mod tests;
