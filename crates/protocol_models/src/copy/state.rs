//! The state of the source, the stream and the target, and the state after a crash.

/// The value of each key's row; `None`: no row. Values are unique, as with a unique index.
pub(super) type RowValues = [Option<u8>; 2];

/// The rows before the first transaction.
pub(super) const INITIAL: RowValues = [Some(1), None];

/// The writes of each transaction: a key and its new value (`None` deletes). The second transaction uses the value that
/// the first one removes. The third one writes in both units.
pub(super) const PROGRAMS: [&[(usize, Option<u8>)]; 3] =
    [&[(0, Some(2))], &[(1, Some(1))], &[(0, None), (1, Some(4))]];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CopyTxn {
    Idle,
    /// It holds its row locks.
    Running {
        xid: u8,
    },
    /// Its commit record is in the log, but it is still in the proc array, so no snapshot sees it.
    Logged {
        xid: u8,
    },
    /// It is visible, or a crash aborted it.
    Ended,
}

/// A commit record of a transaction in `PROGRAMS`, or of a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CommitRecord {
    pub(super) xid: u8,
    pub(super) program: Option<u8>,
}

/// A snapshot as `pg_current_snapshot` reports it: only top-level xids. Those in progress are bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Snapshot {
    pub(super) xmax: u8,
    pub(super) in_progress: u16,
}

impl Snapshot {
    /// Returns the result of `pg_visible_in_snapshot`, which is true for aborted xids too.
    pub(super) fn sees(self, xid: u8) -> bool {
        xid < self.xmax && self.in_progress >> xid & 1 == 0
    }

    /// Checks gate G1: every transaction that this snapshot does not see was not visible to `slot` either, so the slot
    /// sends it.
    pub(super) fn dominates(self, slot: Self) -> bool {
        let visible_to_slot = |xid| self.in_progress >> xid & 1 == 1 && slot.sees(xid);
        self.xmax >= slot.xmax && !(0..self.xmax).any(visible_to_slot)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CopySource {
    pub(super) txns: [CopyTxn; 3],
    pub(super) log: Vec<CommitRecord>,
    /// The number of records that survive a crash.
    pub(super) flushed: u8,
    /// The rows that a new snapshot sees: those of transactions that have left the proc array.
    pub(super) rows: RowValues,
    pub(super) next_xid: u8,
}

/// The slot's consistent point and the snapshot that it exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CopySlot {
    pub(super) start: u8,
    pub(super) snapshot: Snapshot,
    /// True while the exported snapshot can be imported.
    pub(super) held: bool,
    /// The confirmed position. The slot never sends an earlier record again.
    pub(super) confirmed: u8,
}

/// A unit of the copy. Unit k has key k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CopyUnit {
    Pending,
    /// The unit reads `image` with `snapshot`, which was taken when the log had `lsn` records.
    Copying {
        snapshot: Snapshot,
        lsn: u8,
        image: Option<u8>,
    },
    /// The unit is on the target. Its snapshot saw no commit after the position `barrier`.
    Done {
        snapshot: Snapshot,
        lsn: u8,
        barrier: u8,
    },
}

/// The target's rows, and the progress that commits with them.
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
    /// The number of records on the agent's disk. The agent's memory has all flushed records.
    pub(super) spooled: u8,
    /// The apply position in the agent's memory.
    pub(super) applier: u8,
    /// The target as its sessions see it, and as it would be after a crash.
    pub(super) target: CopyTarget,
    pub(super) durable: CopyTarget,
    /// True if a change did not affect exactly one row, or a record was not available. The migration then fails.
    pub(super) halted: bool,
    /// The number of crashes so far, of any component.
    pub(super) crashes: u8,
}

/// Converts a length or a position in the log to a byte. There are at most seven records.
pub(super) fn position(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

/// Returns the rows after the first `end` records. Changes of one key are in commit order.
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

    /// Returns the slot's snapshot. It is built from the log, so it sees a transaction from its commit record on.
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

    /// Returns whether a transaction can start: row locks and the unique index wait for transactions in the proc array.
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

    /// Crashes the source: only flushed records survive, and xids without a flushed record are assigned again.
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

    /// Returns H, the horizon: the replay up to this position contains every commit that any unit saw.
    pub(super) fn horizon(&self) -> u8 {
        let barrier = |unit: &CopyUnit| match unit {
            CopyUnit::Done { barrier, .. } => *barrier,
            CopyUnit::Pending | CopyUnit::Copying { .. } => u8::MAX,
        };
        self.units.iter().map(barrier).fold(0, u8::max)
    }

    /// Returns the position up to which all records are available without the slot.
    pub(super) fn kept(&self) -> u8 {
        self.spooled.max(self.durable.progress)
    }
    /// Returns whether a change after the consistent point is contained in the copy of its unit (`in_copy`), or is not.
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
