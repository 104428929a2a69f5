//! What clients, shards, store and controller hold.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CutoverRegister {
    Open,
    /// Open as well once the fence has expired.
    Fenced,
    /// For good: only a mutant lets it expire.
    Closed,
}

/// A record of the source's log; the register is a sequence, so its values are there too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CutoverRecord {
    Write(usize),
    Set(CutoverRegister),
    Marker { attempt: u8, round: WaitOutRound },
}

/// Wait-out and marker happen behind the fence, and once more behind the seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum WaitOutRound {
    Fence,
    Seal,
}

/// A client with one write to the moving key; it tries again whenever it was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CutoverClient {
    Idle,
    /// In a REPEATABLE READ transaction on the source, with the register as its snapshot shows it.
    Begun {
        open: bool,
    },
    /// In the guard, which has read that the fence has ended; holds ROW EXCLUSIVE from here on to its end.
    Looked,
    /// In the guard, which has noted that and reads the register again.
    Noted,
    /// Past the guard.
    Holding {
        noted: bool,
    },
    /// Prepared for two-phase commit: its session is gone, its virtual transaction is not.
    Prepared {
        noted: bool,
    },
    /// Its commit record is in the log; locks held, not acknowledged.
    Logged {
        noted: bool,
    },
    OnSource,
    OnTarget,
    /// Ended by a crash; a client does not repeat a commit of unknown end.
    Unknown,
}

impl CutoverClient {
    pub(super) fn has_passed(self) -> bool {
        matches!(
            self,
            Self::Holding { .. } | Self::Prepared { .. } | Self::Logged { .. }
        )
    }

    pub(super) fn holds_lock(self) -> bool {
        self.has_passed() || matches!(self, Self::Looked | Self::Noted)
    }

    /// It holds the note that it passes, or is about to, because the fence has ended.
    pub(super) fn holds_note(self) -> bool {
        match self {
            Self::Noted => true,
            Self::Holding { noted } | Self::Prepared { noted } | Self::Logged { noted } => noted,
            Self::Idle | Self::Begun { .. } | Self::Looked => false,
            Self::OnSource | Self::OnTarget | Self::Unknown => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CutoverSource {
    pub(super) log: Vec<CutoverRecord>,
    /// Records that survive a crash.
    pub(super) flushed: u8,
    /// Records that every standby is known to have: what surely survives a promotion.
    pub(super) replicated: u8,
    /// The clock has passed the fence's end.
    pub(super) expired: bool,
    /// The standby was promoted: another timeline, and no slots (I10).
    pub(super) promoted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CutoverTarget {
    /// The writes that it holds, in their order.
    pub(super) writes: Vec<usize>,
    /// Records of the source's log that are applied.
    pub(super) applied: u8,
    pub(super) open: bool,
    /// Its sessions lead to another database.
    pub(super) elsewhere: bool,
}

/// The ownership row of the control store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CutoverOwnership {
    Ready,
    Fencing,
    Flipped,
}

/// Where the controller and its agent are; lost when they die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CutoverStep {
    Dead,
    Idle,
    Fence,
    List(WaitOutRound),
    /// Waits for these clients, as bits.
    Wait(WaitOutRound, u8),
    Mark(WaitOutRound),
    /// The position counts for one mutant only.
    Drain(WaitOutRound, u8),
    Seal,
    Check,
    Flip,
    Open,
    Done,
    Abort,
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CutoverState {
    pub(super) clients: Vec<CutoverClient>,
    pub(super) source: CutoverSource,
    pub(super) target: CutoverTarget,
    pub(super) ownership: CutoverOwnership,
    /// The newest attempt.
    pub(super) attempt: u8,
    pub(super) step: CutoverStep,
    pub(super) faults: u8,
}

/// Lengths and positions in the log fit a byte.
pub(super) fn position(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

impl CutoverSource {
    pub(super) fn register(&self) -> CutoverRegister {
        let value = |record: &CutoverRecord| match record {
            CutoverRecord::Set(register) => Some(*register),
            CutoverRecord::Write(_) | CutoverRecord::Marker { .. } => None,
        };
        self.log
            .iter()
            .rev()
            .find_map(value)
            .unwrap_or(CutoverRegister::Open)
    }

    pub(super) fn is_open(&self) -> bool {
        match self.register() {
            CutoverRegister::Open => true,
            CutoverRegister::Fenced | CutoverRegister::Closed => self.expired,
        }
    }

    /// Ours commit synchronously.
    pub(super) fn commit(&mut self, record: CutoverRecord) {
        if matches!(record, CutoverRecord::Set(_)) {
            self.expired = false;
        }
        self.log.push(record);
        self.flushed = position(self.log.len());
    }

    pub(super) fn writes(&self) -> impl Iterator<Item = usize> {
        self.log.iter().filter_map(|record| match record {
            CutoverRecord::Write(client) => Some(*client),
            CutoverRecord::Set(_) | CutoverRecord::Marker { .. } => None,
        })
    }

    pub(super) fn truncate(&mut self, length: u8) {
        self.log.truncate(usize::from(length));
        self.flushed = self.flushed.min(length);
        self.replicated = self.replicated.min(length);
    }
}

impl CutoverState {
    /// The target holds the source's writes, then those that it accepted itself; each once.
    pub(super) fn is_drained(&self) -> bool {
        let own = self
            .target
            .writes
            .iter()
            .filter(|&&c| self.clients[c] == CutoverClient::OnTarget);
        self.source
            .writes()
            .chain(own.copied())
            .eq(self.target.writes.iter().copied())
    }

    /// Records behind this attempt's first marker.
    fn after_fence(&self) -> impl Iterator<Item = &CutoverRecord> {
        let first = CutoverRecord::Marker {
            attempt: self.attempt,
            round: WaitOutRound::Fence,
        };
        self.source
            .log
            .iter()
            .skip_while(move |record| **record != first)
    }

    /// A write behind the first marker was not compared: the fence had expired before the seal.
    pub(super) fn has_slipped(&self) -> bool {
        self.after_fence()
            .any(|record| matches!(record, CutoverRecord::Write(_)))
    }

    /// The same, as the stream shows it when the second marker arrives.
    pub(super) fn shows_slipped(&self) -> bool {
        let second = CutoverRecord::Marker {
            attempt: self.attempt,
            round: WaitOutRound::Seal,
        };
        let mut between = self
            .after_fence()
            .take_while(move |record| **record != second);
        between.any(|record| matches!(record, CutoverRecord::Write(_)))
    }
}
