//! The operations, newest first: one move in one row, several moves below a row of their operation.

use super::super::marks::{self, Mark};
use super::super::open::{Open, Row};
use crate::controller::operations::state_of;
use crate::store::{Migration, Operation};
use crate::view::figures::moment;
use askama::Template;
use plans::id::ShardName;
use plans::state::migration::MigrationState;

/// Moves that are shown of one operation, and shards that are named.
const MOVES: usize = 8;
const SHARDS: usize = 3;

/// The list.
#[derive(Template)]
#[template(path = "overview/migrations.html")]
pub(super) struct Operations {
    groups: Vec<Group>,
    /// There are shards and a map, so that a migration may be planned.
    ready: bool,
    /// Who sees it may.
    may_plan: bool,
}

/// An operation.
struct Group {
    /// What there is to say where it has several moves.
    head: Option<Head>,
    /// Its only move, or some of several.
    moves: Vec<Row>,
    /// Moves that are not shown.
    hidden: usize,
}

struct Head {
    id: String,
    what: String,
    shards: String,
    moves: String,
    mark: Mark,
    /// Of the moves that were neither aborted nor rolled back.
    share: Option<u8>,
    ended: String,
    updated: String,
}

impl Operations {
    /// A group for each of `operations`, with the figures of `open`; whether one can be planned, and who looks may.
    pub(super) fn new(
        operations: &[Operation],
        open: &[Open],
        (ready, may_plan): (bool, bool),
    ) -> Self {
        let groups = operations.iter().map(|operation| group(operation, open));
        Self {
            groups: groups.collect(),
            ready,
            may_plan,
        }
    }
}

fn group(operation: &Operation, open: &[Open]) -> Group {
    let all = &operation.migrations;
    let rows: Vec<Row> = all.iter().map(|m| Row::new(m, open)).collect();
    if let [_] = rows.as_slice() {
        return Group {
            head: None,
            moves: rows,
            hidden: 0,
        };
    }
    let head = head(operation, &rows);
    let hidden = rows.len().saturating_sub(MOVES);
    let kept = kept(all);
    let moves = rows.into_iter().zip(&kept).filter(|(_, kept)| **kept);
    Group {
        head: Some(head),
        moves: moves.map(|(row, _)| row).collect(),
        hidden,
    }
}

fn head(operation: &Operation, rows: &[Row]) -> Head {
    let all = &operation.migrations;
    let ended = all.iter().filter(|m| m.finished_at.is_some()).count();
    let shares = || rows.iter().filter_map(|row| row.share).map(usize::from);
    let share = shares().sum::<usize>().checked_div(shares().count());
    let changed = rows.iter().map(|row| row.changed).max();
    Head {
        id: operation.id.to_string(),
        what: operation.plan.operation.clone(),
        shards: format!(
            "{} → {}",
            named(all.iter().map(|m| &m.plan.moving.source)),
            named(all.iter().map(|m| &m.plan.moving.target))
        ),
        moves: format!("{} moves", all.len()),
        mark: marks::of_operation(state_of(all)),
        share: share.and_then(|share| u8::try_from(share).ok()),
        ended: format!("{ended} of {} moves have ended", all.len()),
        updated: moment(changed.unwrap_or(operation.created_at)),
    }
}

/// Which moves are shown: what goes on or needs somebody first, what waits or is over after it.
fn kept(migrations: &[Migration]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..migrations.len()).collect();
    order.sort_by_key(|index| {
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
    let mut kept = vec![false; migrations.len()];
    for index in order.into_iter().take(MOVES) {
        kept[index] = true;
    }
    kept
}

/// The shards in their order, or how many there are.
fn named<'a>(shards: impl Iterator<Item = &'a ShardName>) -> String {
    let mut names: Vec<&str> = shards.map(ShardName::as_str).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() > SHARDS {
        format!("{} shards", names.len())
    } else {
        names.join(", ")
    }
}
