//! The state of clients, shards, store and controller.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CutoverRegister {
    Open,
    /// The fence may have expired; then the register counts as open.
    Fenced,
    /// Closed without a time limit. Only a mutant lets it expire.
    Closed,
}

/// A record of the source's log. The register is a sequence, so its values are in the log too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CutoverRecord {
    Write(usize),
    Set(CutoverRegister),
    Marker { attempt: u8, round: WaitOutRound },
}

/// The wait-out and the marker occur twice: after the fence and after the seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum WaitOutRound {
    Fence,
    Seal,
}

/// A client that writes once to the moving key. If the write is refused, it tries again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CutoverClient {
    Idle,
    /// In a REPEATABLE READ transaction on the source, with the value of the register in its snapshot.
    Begun {
        open: bool,
    },
    /// In the guard, which has read that the fence has ended. The transaction holds ROW EXCLUSIVE until its end.
    Looked,
    /// In the guard, which has written the note and reads the register again.
    Noted,
    /// The guard has accepted the statement.
    Holding {
        noted: bool,
    },
    /// Prepared for two-phase commit: its session has ended, but its virtual transaction exists.
    Prepared {
        noted: bool,
    },
    /// Its commit record is in the log. It holds its locks and is not acknowledged.
    Logged {
        noted: bool,
    },
    OnSource,
    OnTarget,
    /// A crash has ended it. A client does not repeat a commit whose outcome is unknown.
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

    /// Returns whether it holds the note that it passes, or is about to pass, because the fence has ended.
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
    /// The number of records that survive a crash.
    pub(super) flushed: u8,
    /// The number of records that every standby has, and that therefore survive a promotion.
    pub(super) replicated: u8,
    /// True if the fence's end has passed.
    pub(super) expired: bool,
    /// True if the standby was promoted: it has another timeline and no slots (I10).
    pub(super) promoted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CutoverTarget {
    /// The writes in their order.
    pub(super) writes: Vec<usize>,
    /// The number of writes that its standbys have, and that therefore survive a promotion.
    pub(super) replicated: u8,
    /// The number of records of the source's log that were applied.
    pub(super) applied: u8,
    pub(super) open: bool,
    /// True if sessions for the target lead to another database.
    pub(super) elsewhere: bool,
}

/// The ownership row of the control store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CutoverOwnership {
    Ready,
    Fencing,
    Flipped,
}

/// The progress of the controller and its agent. It is lost when they die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CutoverStep {
    Dead,
    Idle,
    Fence,
    List(WaitOutRound),
    /// Waits for these clients, as bits.
    Wait(WaitOutRound, u8),
    Mark(WaitOutRound),
    /// The position is used only by one mutant.
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
    /// The number of the newest attempt.
    pub(super) attempt: u8,
    pub(super) step: CutoverStep,
    pub(super) faults: u8,
}

/// Converts a length or a position in the log to a byte.
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

    /// Writes a record of the agent. These commits are synchronous.
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
    /// Returns whether the target has the source's writes, followed by its own, each once.
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

    /// Returns whether a promotion of the target's standby loses writes that nothing sends again.
    pub(super) fn can_lose_target_writes(&self) -> bool {
        self.ownership == CutoverOwnership::Flipped
            && usize::from(self.target.replicated) < self.target.writes.len()
    }

    /// Returns the records after this attempt's first marker.
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

    /// Returns whether a write came after the first marker, and was therefore not compared: the fence had expired
    /// before the seal.
    pub(super) fn has_slipped(&self) -> bool {
        self.after_fence()
            .any(|record| matches!(record, CutoverRecord::Write(_)))
    }

    /// Returns the same according to the stream when the second marker arrives.
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
