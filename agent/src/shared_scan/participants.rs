//! The participants of a shared scan: moves of one operation with the same source, whose rows are read once for all of
//! them.
//!
//! - A move is *expected* from its first step until its copy begins, fails or is paused.
//! - A move *arrives* when its copy begins. Then it waits for the expected moves.
//! - All arrived moves copy with one snapshot, which the first of them exports, and share chunks (`calls`).
//!
//! Correctness never depends on a shared scan. A move without other participants copies alone. Each move writes its own
//! rows, and records the chunk, in its own transaction on its target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use connect::Connected;
use plans::id::MigrationId;
use plans::request::Mode;
use plans::request::Seed;
use plans::step::StepKind;
use plans::wire::Dispatch;
use tokio::sync::watch;

use super::calls::CallBoard;
use crate::postgres::visibility::TxSnapshot;

/// Time limit for expected participants. The moves run the same steps at the same time; a move that takes longer waits
/// for something else.
const MAX_PARTICIPANT_WAIT: Duration = Duration::from_secs(30);

/// Time limit for arrived moves that have not entered the board yet.
const MAX_ENTRY_WAIT: Duration = Duration::from_secs(10);

static SCANS: Mutex<BTreeMap<ScanGroup, Weak<SharedScan>>> = Mutex::new(BTreeMap::new());

/// The properties that moves must share to be read together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ScanGroup {
    incarnation: String,
    operation: MigrationId,
    source: String,
    dsn: String,
}

/// The shared scan of a group's moves in this process.
#[derive(Debug)]
pub(crate) struct SharedScan {
    state: Mutex<ScanState>,
    /// Notifies waiting tasks of each change.
    changed: watch::Sender<()>,
    /// The most recent snapshot.
    pub(crate) shared_snapshot: tokio::sync::Mutex<Option<Arc<SharedSnapshot>>>,
}

#[derive(Debug, Default)]
struct ScanState {
    /// Moves that have not begun their copy, with the number of their entries.
    expected: BTreeMap<MigrationId, usize>,
    /// Moves whose copy has begun, with the number of their entries.
    arrived: BTreeMap<MigrationId, usize>,
    /// File node and number of blocks of each table by its name, as the first participant measured them.
    table_sizes: BTreeMap<String, (u32, i64)>,
    board: CallBoard,
}

/// A snapshot of the source for all participants. It can be imported as long as this value exists.
#[derive(Debug)]
pub(crate) struct SharedSnapshot {
    pub(crate) exported: String,
    pub(crate) text: String,
    pub(crate) session: Connected,
}

impl SharedSnapshot {
    /// Returns whether a move can copy with this snapshot: it must dominate `first`, the snapshot of the move's slot
    /// (G1), and differ from `last`, the previous snapshot of the move.
    pub(crate) fn is_usable_for(&self, first: &TxSnapshot, last: &str) -> bool {
        let text: Result<TxSnapshot, _> = self.text.parse();
        let dominates = text.is_ok_and(|snapshot| snapshot.dominates(first));
        dominates && self.text != last && !self.session.is_closed()
    }
}

impl SharedScan {
    /// Returns the shared scan of the dispatched move; `None` if the move copies alone. An offline move copies alone,
    /// because a shared read could have begun before the writers of its keys had ended. So does a move of an older
    /// controller, which sends no operation.
    pub(crate) fn of(dispatch: &Dispatch) -> Option<Arc<Self>> {
        let operation = dispatch.operation.clone()?;
        if dispatch.mode != Mode::Online {
            return None;
        }
        let group = ScanGroup {
            incarnation: dispatch.incarnation.clone(),
            operation,
            source: dispatch.source.name.to_string(),
            dsn: dispatch.source.dsn.clone(),
        };
        let mut scans = SCANS.lock().unwrap_or_else(PoisonError::into_inner);
        scans.retain(|_, scan| scan.strong_count() > 0);
        if let Some(known) = scans.get(&group).and_then(Weak::upgrade) {
            return Some(known);
        }
        let new = Arc::new(Self {
            state: Mutex::default(),
            changed: watch::Sender::new(()),
            shared_snapshot: tokio::sync::Mutex::default(),
        });
        scans.insert(group, Arc::downgrade(&new));
        Some(new)
    }

    fn state(&self) -> MutexGuard<'_, ScanState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads or changes the board, and notifies the waiting tasks.
    pub(crate) fn with_board<T>(&self, change: impl FnOnce(&mut CallBoard) -> T) -> T {
        let result = change(&mut self.state().board);
        self.changed.send_replace(());
        result
    }

    /// Waits until the board meets `condition`, at most for `timeout`.
    pub(crate) async fn wait_for_board(
        &self,
        condition: impl Fn(&CallBoard) -> bool,
        timeout: Duration,
    ) {
        let wait = self.wait_until(|state| condition(&state.board));
        let _ = tokio::time::timeout(timeout, wait).await;
    }

    /// Waits until all arrived moves are on the board: a chunk that is read earlier is not read for the moves that are
    /// missing there.
    pub(crate) async fn wait_until_all_entered(&self) {
        let all_entered =
            |state: &ScanState| state.arrived.keys().all(|id| state.board.is_member(id));
        let _ = tokio::time::timeout(MAX_ENTRY_WAIT, self.wait_until(all_entered)).await;
    }

    async fn wait_until(&self, condition: impl Fn(&ScanState) -> bool) {
        let mut changed = self.changed.subscribe();
        while !condition(&self.state()) {
            // The channel is never closed: this struct owns the sender.
            let _ = changed.changed().await;
        }
    }

    /// Returns the size by which a table is divided into chunks: the size that another participant measured, if the
    /// table still has the same file node. Equal chunks can be read together. The last chunk has no end, so any size is
    /// correct.
    pub(crate) fn agree_on_size(&self, table: &str, measured: (u32, i64)) -> (u32, i64) {
        let mut state = self.state();
        let known = state
            .table_sizes
            .entry(table.to_owned())
            .or_insert(measured);
        if known.0 != measured.0 {
            *known = measured;
        }
        *known
    }
}

/// The entry of an expected move. If it is dropped, the move is no longer expected.
#[derive(Debug)]
pub(crate) struct ExpectedParticipant {
    _entry: ParticipantEntry,
}

impl ExpectedParticipant {
    /// Marks the move as expected if the dispatched step is the copy or precedes it.
    pub(crate) fn for_dispatch(dispatch: &Dispatch) -> Option<Self> {
        let (_, kind) = dispatch.step.as_ref()?;
        let is_seeded = dispatch.options.seed == Seed::Standby;
        if is_seeded || !leads_to_copy(*kind) && *kind != StepKind::Copy {
            return None;
        }
        let scan = SharedScan::of(dispatch)?;
        let entry = ParticipantEntry::add(scan, &dispatch.migration, |state| &mut state.expected);
        Some(Self { _entry: entry })
    }
}

/// Returns whether the copy follows the step `kind`, possibly after other steps.
pub(crate) fn leads_to_copy(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::Preflight | StepKind::CreateTarget | StepKind::OpenCapture
    )
}

/// The entry of an arrived move. If it is dropped, the move is removed from the arrived moves.
#[derive(Debug)]
pub(crate) struct ArrivedParticipant(ParticipantEntry);

impl ArrivedParticipant {
    /// Adds the dispatched move to the arrived moves; `None` if the move copies alone.
    pub(crate) fn arrive(dispatch: &Dispatch) -> Option<Self> {
        let scan = SharedScan::of(dispatch)?;
        let entry = ParticipantEntry::add(scan, &dispatch.migration, |state| &mut state.arrived);
        Some(Self(entry))
    }

    pub(crate) fn scan(&self) -> &Arc<SharedScan> {
        &self.0.scan
    }

    /// Returns the expected moves that have not arrived.
    pub(crate) fn missing(&self) -> Vec<MigrationId> {
        missing_participants(&self.scan().state())
            .into_iter()
            .collect()
    }

    /// Waits for the expected moves, up to a time limit. Returns whether another move copies at this time.
    pub(crate) async fn wait_for_participants(&self) -> bool {
        let all_arrived = self
            .scan()
            .wait_until(|state| missing_participants(state).is_empty());
        let _ = tokio::time::timeout(MAX_PARTICIPANT_WAIT, all_arrived).await;
        self.scan().state().arrived.len() > 1
    }
}

fn missing_participants(state: &ScanState) -> BTreeSet<MigrationId> {
    let expected = state.expected.keys();
    let missing = expected.filter(|id| !state.arrived.contains_key(*id));
    missing.cloned().collect()
}

/// An entry in one of the lists of [`ScanState`]. If it is dropped, it is removed.
#[derive(Debug)]
struct ParticipantEntry {
    scan: Arc<SharedScan>,
    migration: MigrationId,
    list: fn(&mut ScanState) -> &mut BTreeMap<MigrationId, usize>,
}

impl ParticipantEntry {
    fn add(
        scan: Arc<SharedScan>,
        migration: &MigrationId,
        list: fn(&mut ScanState) -> &mut BTreeMap<MigrationId, usize>,
    ) -> Self {
        *list(&mut scan.state())
            .entry(migration.clone())
            .or_default() += 1;
        scan.changed.send_replace(());
        Self {
            scan,
            migration: migration.clone(),
            list,
        }
    }
}

impl Drop for ParticipantEntry {
    fn drop(&mut self) {
        {
            let mut state = self.scan.state();
            let list = (self.list)(&mut state);
            if let Some(count) = list.get_mut(&self.migration) {
                *count -= 1;
                if *count == 0 {
                    list.remove(&self.migration);
                }
            }
        }
        self.scan.changed.send_replace(());
    }
}
