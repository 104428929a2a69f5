//! The board: an index of the unfinished migrations by owner and by id, which shows what each agent may claim. The
//! owner of a migration is the agent process that has its lease.
//!
//! With the board, the cost of a claim does not depend on the number of migrations of other agents. All callers share
//! one board until a change is written, a lease ends or a second has passed. A change wakes every waiting claim; the
//! first one reads the store for all. A board can be outdated, so the controller loads a migration and checks it again
//! before it acts.

use super::{ControlError, Controller, clock};
use crate::store::{Snapshot, UnfinishedMigrations};
use chrono::{DateTime, TimeDelta, Utc};
use plans::id::{InstanceId, MigrationId};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;

/// All unfinished migrations, oldest first.
#[derive(Debug)]
pub(super) struct MigrationBoard {
    all: UnfinishedMigrations,
    /// Indexes of the migrations without a live owner, that is, without an owner whose lease has not ended.
    free: Vec<usize>,
    /// Indexes of the migrations of each owner, also of owners whose lease has ended.
    owned: HashMap<InstanceId, Vec<usize>>,
    /// The index of each migration by its id.
    places: HashMap<MigrationId, usize>,
    /// The earliest time at which a lease that has not ended yet will end.
    until: Option<DateTime<Utc>>,
}

/// How long a board is used if nothing is written. The limit is needed because a board is not rebuilt when a lease is
/// extended.
const FRESH: TimeDelta = TimeDelta::seconds(1);

/// The board that was built last.
#[derive(Debug, Default)]
pub(super) struct BoardCache(Mutex<Option<LastBoard>>);

#[derive(Debug)]
struct LastBoard {
    board: Arc<MigrationBoard>,
    /// The number of changes that had been published before the board was read.
    changes: u64,
    /// The time at which the board was read.
    at: DateTime<Utc>,
}

impl LastBoard {
    /// Returns whether the board includes the first `changes` changes and is less than [`FRESH`] old.
    fn holds(&self, changes: u64, now: DateTime<Utc>) -> bool {
        let fresh = (self.at..self.at + FRESH).contains(&now);
        fresh && self.changes >= changes && self.board.until.is_none_or(|until| now < until)
    }
}

impl MigrationBoard {
    fn new(all: UnfinishedMigrations, now: DateTime<Utc>) -> Self {
        let mut board = Self {
            free: Vec::new(),
            owned: HashMap::new(),
            places: HashMap::with_capacity(all.len()),
            until: None,
            all: Arc::clone(&all),
        };
        for (place, snapshot) in all.iter().enumerate() {
            let m = &snapshot.migration;
            board.places.insert(m.id.clone(), place);
            if let Some(owner) = &m.owner {
                let owned = board.owned.entry(owner.instance.clone());
                owned.or_default().push(place);
            }
            if snapshot.live_owner(now).is_some() {
                let ends = board.until.into_iter().chain(snapshot.lease_until);
                board.until = ends.min();
            } else {
                board.free.push(place);
            }
        }
        board
    }

    /// Returns every migration, oldest first.
    pub(super) fn all(&self) -> &[Arc<Snapshot>] {
        &self.all
    }

    /// Returns the migration with this id.
    pub(super) fn get(&self, id: &MigrationId) -> Option<&Arc<Snapshot>> {
        self.places.get(id).map(|place| &self.all[*place])
    }

    /// Returns when the next lease ends, so that a migration may become free without any written change.
    pub(super) fn until(&self) -> Option<DateTime<Utc>> {
        self.until
    }

    /// Returns the migrations of this process, oldest first, including those whose lease has ended.
    pub(super) fn of_owner(&self, instance: &InstanceId) -> impl Iterator<Item = &Arc<Snapshot>> {
        let places = self.owned.get(instance).into_iter().flatten();
        places.map(|place| &self.all[*place])
    }

    /// Returns the migrations that this process may claim, oldest first: its own, and those without a live owner.
    pub(super) fn open_to(&self, instance: &InstanceId) -> impl Iterator<Item = &Arc<Snapshot>> {
        let own = self.owned.get(instance).into_iter().flatten();
        let mut places: Vec<usize> = own.chain(&self.free).copied().collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| &self.all[place])
    }
}

impl Controller {
    /// Returns a board that includes everything that this process has written.
    pub(super) async fn board(&self) -> Result<Arc<MigrationBoard>, ControlError> {
        let changes = *self.inner.changes.borrow();
        // The lock is held during the read, so that concurrent callers get the same board.
        let mut last = self.inner.boards.0.lock().await;
        if let Some(last) = last.as_ref().filter(|last| last.holds(changes, clock())) {
            return Ok(Arc::clone(&last.board));
        }
        let changes = *self.inner.changes.borrow();
        let all = self.inner.store.unfinished().await?;
        let at = clock();
        let board = Arc::new(MigrationBoard::new(all, at));
        *last = Some(LastBoard {
            board: Arc::clone(&board),
            changes,
            at,
        });
        Ok(board)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{admitted, at, keys, planned};
    use super::*;
    use crate::store::LeaseHolder;
    use plans::request::Options;

    fn migration(id: &str) -> Snapshot {
        let moves = vec![planned("m1", "a", "b", keys(0, 1))];
        admitted(id, moves, Options::default()).remove(0)
    }

    fn owned(id: &str, instance: &str, until: i64) -> Arc<Snapshot> {
        let mut snapshot = migration(id);
        snapshot.migration.owner = Some(LeaseHolder {
            agent: "agent".into(),
            instance: instance.into(),
            token: None,
            secret: None,
        });
        snapshot.lease_until = Some(at(until));
        Arc::new(snapshot)
    }

    fn names<'a>(found: impl Iterator<Item = &'a Arc<Snapshot>>) -> Vec<&'a str> {
        found.map(|s| s.migration.id.as_str()).collect()
    }

    #[test]
    fn a_process_may_claim_its_own_and_free_migrations() {
        let free = Arc::new(migration("m3"));
        let all = vec![
            owned("m1", "x", 9),
            owned("m2", "y", 8),
            free,
            owned("m4", "y", 1),
        ];
        let board = MigrationBoard::new(Arc::new(all), at(5));
        assert_eq!(names(board.open_to(&"x".into())), ["m1", "m3", "m4"]);
        assert_eq!(names(board.open_to(&"y".into())), ["m2", "m3", "m4"]);
        assert_eq!(names(board.open_to(&"z".into())), ["m3", "m4"]);
        assert_eq!(names(board.of_owner(&"y".into())), ["m2", "m4"]);
        assert_eq!(board.until(), Some(at(8)));
        assert!(board.get(&"m4".into()).is_some() && board.get(&"m5".into()).is_none());
    }

    #[test]
    fn a_board_is_used_until_a_change_or_the_end_of_a_lease() {
        let all = vec![owned("m1", "x", 6)];
        let last = LastBoard {
            board: Arc::new(MigrationBoard::new(Arc::new(all), at(5))),
            changes: 7,
            at: at(5),
        };
        let late = TimeDelta::milliseconds(999);
        assert!(last.holds(7, at(5)) && last.holds(7, at(5) + late));
        assert!(last.holds(6, at(5)));
        assert!(!last.holds(8, at(5)) && !last.holds(7, at(6)) && !last.holds(7, at(4)));
    }
}
