//! What the source, the stream and the target hold, and what a crash leaves of it.

/// The value of each key's row; `None`: no row. Values are unique, like a secondary unique index.
pub(super) type RowValues = [Option<u8>; 2];

/// The rows before the first transaction.
pub(super) const INITIAL: RowValues = [Some(1), None];

/// What each transaction writes: key and new value (`None` deletes).
/// The second takes the value that the first gives up; the third writes in both units.
pub(super) const PROGRAMS: [&[(usize, Option<u8>)]; 3] =
    [&[(0, Some(2))], &[(1, Some(1))], &[(0, None), (1, Some(4))]];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CopyTxn {
    Idle,
    /// Holds its row locks.
    Running {
        xid: u8,
    },
    /// Its commit record is in the log, but it is still in the proc array: nobody sees it yet.
    Logged {
        xid: u8,
    },
    /// Visible, or aborted by a crash.
    Ended,
}

/// A commit record: of a transaction of `PROGRAMS`, or of a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CommitRecord {
    pub(super) xid: u8,
    pub(super) program: Option<u8>,
}

/// What `pg_current_snapshot` says: top-level xids only, in progress ones as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Snapshot {
    pub(super) xmax: u8,
    pub(super) in_progress: u16,
}

impl Snapshot {
    /// `pg_visible_in_snapshot`: true of aborted xids as well.
    pub(super) fn sees(self, xid: u8) -> bool {
        xid < self.xmax && self.in_progress >> xid & 1 == 0
    }

    /// Gate G1: whatever this one does not see was not visible to `slot` either, so it is streamed.
    pub(super) fn dominates(self, slot: Self) -> bool {
        let visible_to_slot = |xid| self.in_progress >> xid & 1 == 1 && slot.sees(xid);
        self.xmax >= slot.xmax && !(0..self.xmax).any(visible_to_slot)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CopySource {
    pub(super) txns: [CopyTxn; 3],
    pub(super) log: Vec<CommitRecord>,
    /// Records that survive a crash.
    pub(super) flushed: u8,
    /// What a new snapshot sees: a transaction is in it once it has left the proc array.
    pub(super) rows: RowValues,
    pub(super) next_xid: u8,
}

/// The slot's consistent point and the snapshot that belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CopySlot {
    pub(super) start: u8,
    pub(super) snapshot: Snapshot,
    /// Its exported snapshot can still be imported.
    pub(super) held: bool,
    /// What the slot may forget: it never sends a record before this one again.
    pub(super) confirmed: u8,
}

/// A copy unit: unit k holds key k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CopyUnit {
    Pending,
    /// Reading `image` under `snapshot`, which was taken when the log had `lsn` records.
    Copying {
        snapshot: Snapshot,
        lsn: u8,
        image: Option<u8>,
    },
    /// On the target; `barrier` is the position that its snapshot cannot have seen beyond.
    Done {
        snapshot: Snapshot,
        lsn: u8,
        barrier: u8,
    },
}

/// The target's rows and the progress that commits with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CopyTarget {
    pub(super) rows: RowValues,
    pub(super) progress: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CopyState {
    pub(super) source: CopySource,
    pub(super) slot: Option<CopySlot>,
    pub(super) units: [CopyUnit; 2],
    /// Records before this are on the agent's disk; in its memory are all that are flushed.
    pub(super) spooled: u8,
    /// The applier's own position, in memory.
    pub(super) applier: u8,
    /// As the target's sessions see it, and as a crash would leave it.
    pub(super) target: CopyTarget,
    pub(super) durable: CopyTarget,
    /// A change did not touch exactly one row, or a record could not be had: the move halts.
    pub(super) halted: bool,
    /// Crashes so far, of whatever.
    pub(super) crashes: u8,
}

/// Lengths and positions in the log fit a byte: there are at most seven records.
pub(super) fn position(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

/// The rows after the first `end` records: changes of one key are in commit order.
pub(super) fn replay(log: &[CommitRecord], end: u8) -> RowValues {
    let mut rows = INITIAL;
    for record in log.iter().take(usize::from(end)) {
        write(&mut rows, record.program);
    }
    rows
}

pub(super) fn write(rows: &mut RowValues, program: Option<u8>) {
    for &(key, value) in changes(program) {
        rows[key] = value;
    }
}

pub(super) fn changes(program: Option<u8>) -> &'static [(usize, Option<u8>)] {
    program.map_or(&[], |program| PROGRAMS[usize::from(program)])
}

pub(super) fn is_unique(rows: RowValues) -> bool {
    rows[0].is_none() || rows[0] != rows[1]
}

impl CopySource {
    pub(super) fn snapshot(&self) -> Snapshot {
        self.snapshot_of(|txn| match txn {
            CopyTxn::Running { xid } | CopyTxn::Logged { xid } => Some(xid),
            CopyTxn::Idle | CopyTxn::Ended => None,
        })
    }

    /// The slot's: made from the log, so a transaction counts from its commit record on.
    pub(super) fn slot_snapshot(&self) -> Snapshot {
        self.snapshot_of(|txn| match txn {
            CopyTxn::Running { xid } => Some(xid),
            CopyTxn::Idle | CopyTxn::Logged { .. } | CopyTxn::Ended => None,
        })
    }

    fn snapshot_of(&self, in_progress: impl Fn(CopyTxn) -> Option<u8>) -> Snapshot {
        let bits = self.txns.iter().filter_map(|txn| in_progress(*txn));
        Snapshot {
            xmax: self.next_xid,
            in_progress: bits.fold(0, |bits, xid| bits | 1 << xid),
        }
    }

    /// Row locks and the unique index: both wait for whoever is in the proc array.
    pub(super) fn may_start(&self, program: usize) -> bool {
        let busy = |key| {
            (0..PROGRAMS.len()).any(|other| {
                matches!(
                    self.txns[other],
                    CopyTxn::Running { .. } | CopyTxn::Logged { .. }
                ) && PROGRAMS[other].iter().any(|change| change.0 == key)
            })
        };
        let mut after = self.rows;
        write(&mut after, Some(position(program)));
        self.txns[program] == CopyTxn::Idle
            && !PROGRAMS[program].iter().any(|change| busy(change.0))
            && is_unique(after)
    }

    /// Only flushed records survive; xids that no flushed record carries are given out again.
    pub(super) fn crash(&mut self, floor: u8) {
        self.log.truncate(usize::from(self.flushed));
        self.rows = replay(&self.log, self.flushed);
        self.next_xid = self
            .log
            .iter()
            .map(|record| record.xid + 1)
            .fold(floor, u8::max);
        for txn in &mut self.txns {
            if matches!(txn, CopyTxn::Running { .. } | CopyTxn::Logged { .. }) {
                *txn = CopyTxn::Ended;
            }
        }
    }
}

impl CopyState {
    pub(super) fn copied(&self) -> bool {
        self.units
            .iter()
            .all(|unit| matches!(unit, CopyUnit::Done { .. }))
    }

    /// H: replay that has passed it has met every commit that any unit saw.
    pub(super) fn horizon(&self) -> u8 {
        let barrier = |unit: &CopyUnit| match unit {
            CopyUnit::Done { barrier, .. } => *barrier,
            CopyUnit::Pending | CopyUnit::Copying { .. } => u8::MAX,
        };
        self.units.iter().map(barrier).fold(0, u8::max)
    }

    /// Everything before this can be had without the slot.
    pub(super) fn kept(&self) -> u8 {
        self.spooled.max(self.durable.progress)
    }
    /// Whether a change behind the consistent point is in the copy of its unit, or is not.
    pub(super) fn has_streamed(&self, in_copy: bool) -> bool {
        let start = self.slot.map_or(u8::MAX, |slot| slot.start);
        let streamed = self.source.log.iter().skip(usize::from(start));
        streamed.into_iter().any(|record| {
            changes(record.program)
                .iter()
                .any(|&(key, _)| match self.units[key] {
                    CopyUnit::Done { snapshot, .. } => snapshot.sees(record.xid) == in_copy,
                    CopyUnit::Pending | CopyUnit::Copying { .. } => false,
                })
        })
    }
}
