//! The operations, newest first. An operation with several moves has a row of its own above the rows of its moves.

use super::super::marks::{self, StateMark};
use super::super::open::{MigrationListRow, OpenMigration};
use crate::controller::operations::state_of;
use crate::store::{Migration, OperationRecord};
use crate::view::figures::ago;
use askama::Template;
use plans::id::ShardName;
use plans::state::migration::MigrationState;
use std::collections::BTreeMap;

/// The maximum number of moves that are shown of one operation, and of shards that are named.
const MAX_MOVES: usize = 4;
const MAX_NAMED_SHARDS: usize = 3;

/// The maximum numbers of operations that are shown: of those that have not ended, and of those that have.
const MAX_UNFINISHED: usize = 20;
const MAX_ENDED: usize = 6;

/// The list.
#[derive(Template)]
#[template(path = "overview/migrations.html")]
pub(super) struct OverviewOperations {
    groups: Vec<OperationGroup>,
    /// The numbers of unfinished migrations, in all and in each state; `None` without any.
    unfinished: Option<String>,
    /// True if older operations exist that are not shown.
    has_more: bool,
    /// True if the caller may plan a migration.
    may_plan: bool,
}

/// An operation.
struct OperationGroup {
    /// The operation's own row, if it has several moves.
    head: Option<OperationGroupHead>,
    /// Its only move, or some of several.
    moves: Vec<MigrationListRow>,
    /// The number of moves that are not shown.
    hidden: usize,
}

struct OperationGroupHead {
    id: String,
    what: String,
    shards: String,
    moves: String,
    mark: StateMark,
    /// The progress in percent of the moves that were neither aborted nor rolled back.
    progress_percent: Option<u8>,
    ended: String,
    updated: String,
}

impl OverviewOperations {
    /// Creates a group for each of `operations` that has not ended, and for the newest that have. `unfinished` has the
    /// progress of the unfinished migrations.
    pub(super) fn new(
        operations: &[OperationRecord],
        unfinished: &[OpenMigration],
        may_plan: bool,
    ) -> Self {
        let has_ended = |operation: &OperationRecord| {
            let mut migrations = operation.migrations.iter();
            migrations.all(|m| m.finished_at.is_some())
        };
        let (ended, open): (Vec<_>, Vec<_>) = operations.iter().partition(|each| has_ended(each));
        let shown = open.iter().take(MAX_UNFINISHED);
        let shown = shown.chain(ended.iter().take(MAX_ENDED));
        let groups: Vec<OperationGroup> = shown
            .map(|operation| group(operation, unfinished))
            .collect();
        Self {
            has_more: groups.len() < operations.len(),
            groups,
            unfinished: state_counts(unfinished),
            may_plan,
        }
    }
}

/// Counts the unfinished migrations, and those in each state, for the summary above their list.
fn state_counts(unfinished: &[OpenMigration]) -> Option<String> {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for migration in unfinished {
        let mark = marks::of_migration(migration.view.summary.state);
        *counts.entry(mark.text).or_default() += 1;
    }
    let counts = counts.into_iter();
    let counts: Vec<String> = counts
        .map(|(state, number)| format!("{number} {state}"))
        .collect();
    (!counts.is_empty()).then(|| format!("{} unfinished: {}", unfinished.len(), counts.join(", ")))
}

fn group(operation: &OperationRecord, unfinished: &[OpenMigration]) -> OperationGroup {
    let all = &operation.migrations;
    let rows: Vec<MigrationListRow> = all
        .iter()
        .map(|m| MigrationListRow::new(m, unfinished))
        .collect();
    if let [_] = rows.as_slice() {
        return OperationGroup {
            head: None,
            moves: rows,
            hidden: 0,
        };
    }
    let head = head(operation, &rows);
    let hidden = rows.len().saturating_sub(MAX_MOVES);
    let selection = select_moves(all);
    let moves = rows
        .into_iter()
        .zip(&selection)
        .filter(|(_, selected)| **selected);
    OperationGroup {
        head: Some(head),
        moves: moves.map(|(row, _)| row).collect(),
        hidden,
    }
}

fn head(operation: &OperationRecord, rows: &[MigrationListRow]) -> OperationGroupHead {
    let all = &operation.migrations;
    let ended = all.iter().filter(|m| m.finished_at.is_some()).count();
    let percents = || {
        rows.iter()
            .filter_map(|row| row.steps_percent)
            .map(usize::from)
    };
    let mean = percents().sum::<usize>().checked_div(percents().count());
    let changed = rows.iter().map(|row| row.changed).max();
    OperationGroupHead {
        id: operation.id.to_string(),
        what: operation.plan.operation.clone(),
        shards: format!(
            "{} → {}",
            shard_names(all.iter().map(|m| &m.plan.moving.source)),
            shard_names(all.iter().map(|m| &m.plan.moving.target))
        ),
        moves: format!("{} moves", all.len()),
        mark: marks::of_operation(state_of(all)),
        progress_percent: mean.and_then(|mean| u8::try_from(mean).ok()),
        ended: match mean {
            Some(mean) if ended < all.len() => format!(
                "{mean} % of the steps, {ended} of {} moves have ended",
                all.len()
            ),
            _ => format!("{ended} of {} moves have ended", all.len()),
        },
        updated: ago(changed.unwrap_or(operation.created_at)),
    }
}

/// Returns for each move whether the page shows it, at most `MAX_MOVES`: first those that have started and not ended,
/// then those that have not started, then those that have ended.
fn select_moves(migrations: &[Migration]) -> Vec<bool> {
    let mut by_urgency: Vec<usize> = (0..migrations.len()).collect();
    by_urgency.sort_by_key(|index| {
        let m = &migrations[*index];
        match m.state {
            _ if m.finished_at.is_some() => 2,
            MigrationState::Planned => 1,
            MigrationState::Running
            | MigrationState::Waiting
            | MigrationState::Paused
            | MigrationState::Failed
            | MigrationState::Unwinding
            | MigrationState::Unwound
            | MigrationState::Flipped
            | MigrationState::Completed
            | MigrationState::RolledBack => 0,
        }
    });
    let mut selection = vec![false; migrations.len()];
    for index in by_urgency.into_iter().take(MAX_MOVES) {
        selection[index] = true;
    }
    selection
}

/// Returns the sorted names of the shards. If there are more than `MAX_NAMED_SHARDS`, returns only how many there are.
fn shard_names<'a>(shards: impl Iterator<Item = &'a ShardName>) -> String {
    let mut names: Vec<&str> = shards.map(ShardName::as_str).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() > MAX_NAMED_SHARDS {
        format!("{} shards", names.len())
    } else {
        names.join(", ")
    }
}
