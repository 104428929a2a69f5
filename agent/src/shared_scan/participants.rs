//! Where moves of one operation that leave the same source meet in this process, to be copied by one reader.
//!
//! Order: a move is *coming* from its first step until its copy has begun, failed, or is paused; one whose copy begins
//! *arrives*, and waits for those that are coming; then all of them copy with one snapshot that the first of them takes,
//! and offer each other chunks (`calls`).
//! Nothing here is relied on: whoever meets nobody copies alone, and what a meeting says is proved by each move for
//! itself, on its own target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use connect::Connected;
use plans::id::MigrationId;
use plans::request::Mode;
use plans::step::StepKind;
use plans::wire::Dispatch;
use tokio::sync::watch;

use super::calls::CallBoard;
use crate::postgres::visibility::TxSnapshot;

/// How long a copy that could begin waits for others that are coming. They go through the same steps at the same time;
/// one that takes longer waits for something of its own.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a move waits, once it has its snapshot, for those that are about to have theirs.
const ENTRY: Duration = Duration::from_secs(10);

static SCANS: Mutex<BTreeMap<ScanGroup, Weak<SharedScan>>> = Mutex::new(BTreeMap::new());

/// What moves have in common that can be read for at once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ScanGroup {
    incarnation: String,
    operation: MigrationId,
    source: String,
    dsn: String,
}

/// The moves of a group, as far as this process has to do with them.
#[derive(Debug)]
pub(crate) struct SharedScan {
    state: Mutex<ScanState>,
    /// Tells of each change.
    changed: watch::Sender<()>,
    /// The snapshot that was taken last.
    pub(crate) offer: tokio::sync::Mutex<Option<Arc<SharedSnapshot>>>,
}

#[derive(Debug, Default)]
struct ScanState {
    /// Moves on their way to the copy, with how many hold them to be so.
    coming: BTreeMap<MigrationId, usize>,
    /// Moves whose copy has begun.
    arrived: BTreeMap<MigrationId, usize>,
    /// File node and blocks of tables, as they were divided first.
    sizes: BTreeMap<String, (u32, i64)>,
    board: CallBoard,
}

/// A snapshot of the source that others may copy with as well: it can be imported while this lives.
#[derive(Debug)]
pub(crate) struct SharedSnapshot {
    pub(crate) exported: String,
    pub(crate) text: String,
    pub(crate) session: Connected,
}

impl SharedSnapshot {
    /// Whether a move can copy with it whose slot has the snapshot `first`, and that used `last` before (G1).
    pub(crate) fn serves(&self, first: &TxSnapshot, last: &str) -> bool {
        let text: Result<TxSnapshot, _> = self.text.parse();
        let dominates = text.is_ok_and(|taken| taken.dominates(first));
        dominates && self.text != last && !self.session.is_closed()
    }
}

impl SharedScan {
    /// Those of the move that is dispatched; `None` where it is copied alone: offline nothing says that a transaction
    /// that reads has begun after the writers of each move had ended, and an older controller names no operation.
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
            offer: tokio::sync::Mutex::default(),
        });
        scans.insert(group, Arc::downgrade(&new));
        Some(new)
    }

    fn state(&self) -> MutexGuard<'_, ScanState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the board, or changes it; who waits for it looks again.
    pub(crate) fn with_board<T>(&self, change: impl FnOnce(&mut CallBoard) -> T) -> T {
        let done = change(&mut self.state().board);
        self.changed.send_replace(());
        done
    }

    /// Waits until the board is so, for so long at most.
    pub(crate) async fn until_board(&self, so: impl Fn(&CallBoard) -> bool, patience: Duration) {
        let wait = self.until(|state| so(&state.board));
        let _ = tokio::time::timeout(patience, wait).await;
    }

    /// Waits until all whose copy has begun are on the board: what is read before is not read for them.
    pub(crate) async fn until_entered(&self) {
        let all = |state: &ScanState| state.arrived.keys().all(|id| state.board.has(id));
        let _ = tokio::time::timeout(ENTRY, self.until(all)).await;
    }

    async fn until(&self, so: impl Fn(&ScanState) -> bool) {
        let mut changed = self.changed.subscribe();
        while !so(&self.state()) {
            // Never closed: the sender is ours.
            let _ = changed.changed().await;
        }
    }

    /// The size by which a table is divided: as a sibling has measured it, while it has the same file. Chunks that are
    /// cut alike can be read together; the last one has no end, so that any size will do.
    pub(crate) fn agree(&self, table: &str, measured: (u32, i64)) -> (u32, i64) {
        let mut state = self.state();
        let known = state.sizes.entry(table.to_owned()).or_insert(measured);
        if known.0 != measured.0 {
            *known = measured;
        }
        *known
    }
}

/// A move is on its way to its copy while this lives.
#[derive(Debug)]
pub(crate) struct ExpectedParticipant {
    _here: ParticipantEntry,
}

impl ExpectedParticipant {
    /// For a step before the end of the copy that is dispatched.
    pub(crate) fn with(dispatch: &Dispatch) -> Option<Self> {
        let (_, kind) = dispatch.step.as_ref()?;
        if !leads_to_copy(*kind) && *kind != StepKind::Copy {
            return None;
        }
        let scan = SharedScan::of(dispatch)?;
        let here = ParticipantEntry::begin(scan, &dispatch.migration, |state| &mut state.coming);
        Some(Self { _here: here })
    }
}

/// Whether the copy comes next, once a step is done.
pub(crate) fn leads_to_copy(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::Preflight | StepKind::CreateTarget | StepKind::OpenCapture
    )
}

/// A move whose copy has begun, while this lives.
#[derive(Debug)]
pub(crate) struct ArrivedParticipant(ParticipantEntry);

impl ArrivedParticipant {
    pub(crate) fn begin(dispatch: &Dispatch) -> Option<Self> {
        let scan = SharedScan::of(dispatch)?;
        let here = ParticipantEntry::begin(scan, &dispatch.migration, |state| &mut state.arrived);
        Some(Self(here))
    }

    pub(crate) fn scan(&self) -> &Arc<SharedScan> {
        &self.0.scan
    }

    /// Others that are coming and have not arrived.
    pub(crate) fn awaited(&self) -> Vec<MigrationId> {
        awaited(&self.scan().state()).into_iter().collect()
    }

    /// Waits for them, not for long; true when this move is not the only one that copies now.
    pub(crate) async fn gather(&self) -> bool {
        let all = self.scan().until(|state| awaited(state).is_empty());
        let _ = tokio::time::timeout(PATIENCE, all).await;
        self.scan().state().arrived.len() > 1
    }
}

fn awaited(state: &ScanState) -> BTreeSet<MigrationId> {
    let coming = state.coming.keys();
    let missing = coming.filter(|id| !state.arrived.contains_key(*id));
    missing.cloned().collect()
}

/// Counted in one of the lists of the state while this lives.
#[derive(Debug)]
struct ParticipantEntry {
    scan: Arc<SharedScan>,
    migration: MigrationId,
    list: fn(&mut ScanState) -> &mut BTreeMap<MigrationId, usize>,
}

impl ParticipantEntry {
    fn begin(
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
