//! The state of the source, of the standby that is promoted, and of the migration.

use std::ops::RangeInclusive;

/// The keys that move to the promoted standby, and the keys that stay on the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SeedKeys {
    Moving,
    Staying,
}

pub(super) const KEYS: [SeedKeys; 2] = [SeedKeys::Moving, SeedKeys::Staying];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SeedRegister {
    Open,
    /// Open on the server that is on this timeline, closed on every other.
    Bound(u8),
    Closed,
}

/// A record of the source's log. A register is a sequence, so its values are records of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SeedRecord {
    /// The transaction writes a row of a moving key.
    Write(usize),
    Prepare(usize),
    Commit(usize),
    /// ROLLBACK PREPARED.
    RollBack(usize),
    Guard,
    Set(SeedRegister),
    CloneGuard,
    /// The migration's row has the intent of the promotion. The same transaction contains the marker M1.
    Intent,
    DropCloneGuard,
    /// An abort drops the guards and the migration's row.
    Remove,
}

impl SeedRecord {
    fn is_of_client(self) -> bool {
        match self {
            Self::Write(_) | Self::Prepare(_) | Self::Commit(_) | Self::RollBack(_) => true,
            Self::Guard | Self::Set(_) | Self::CloneGuard | Self::Intent => false,
            Self::DropCloneGuard | Self::Remove => false,
        }
    }
}

/// What the log determines: the source's database, or the copy of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SeedDatabase {
    pub(super) guard: bool,
    pub(super) register: SeedRegister,
    pub(super) clone_guard: bool,
    pub(super) intent: bool,
    /// The guard of released keys. It refuses the keys that stay.
    pub(super) released: bool,
    /// The transactions whose row exists, as bits.
    pub(super) rows: u8,
    /// The transactions that are prepared, as bits.
    pub(super) prepared: u8,
}

impl SeedDatabase {
    pub(super) const EMPTY: Self = Self {
        guard: false,
        register: SeedRegister::Open,
        clone_guard: false,
        intent: false,
        released: false,
        rows: 0,
        prepared: 0,
    };

    pub(super) fn replay(&mut self, record: SeedRecord) {
        match record {
            SeedRecord::Write(_) => {}
            SeedRecord::Prepare(transaction) => self.prepared |= 1 << transaction,
            SeedRecord::Commit(transaction) => {
                self.prepared &= !(1 << transaction);
                self.rows |= 1 << transaction;
            }
            SeedRecord::RollBack(transaction) => self.prepared &= !(1 << transaction),
            SeedRecord::Guard => self.guard = true,
            SeedRecord::Set(register) => self.register = register,
            SeedRecord::CloneGuard => self.clone_guard = true,
            SeedRecord::Intent => self.intent = true,
            SeedRecord::DropCloneGuard => self.clone_guard = false,
            SeedRecord::Remove => self.remove(),
        }
    }

    pub(super) fn remove(&mut self) {
        (self.guard, self.clone_guard, self.intent) = (false, false, false);
    }

    /// Returns whether a writable server on this timeline accepts writes to the keys.
    pub(super) fn accepts(&self, keys: SeedKeys, timeline: u8) -> bool {
        let open = match self.register {
            SeedRegister::Open => true,
            SeedRegister::Bound(bound) => bound == timeline,
            SeedRegister::Closed => false,
        };
        let (guarded, released) = match keys {
            SeedKeys::Moving => (self.guard || self.clone_guard, false),
            SeedKeys::Staying => (self.clone_guard, self.released),
        };
        (open || !guarded) && !released
    }
}

/// An application's transaction on the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SeedTransaction {
    Idle,
    /// It has passed the guard and written, and holds its lock on the table.
    Written,
    Prepared,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SeedSource {
    pub(super) log: Vec<SeedRecord>,
    /// 1, and another one after a failover.
    pub(super) timeline: u8,
    /// The number of records that every other standby has.
    pub(super) replicated: u8,
    pub(super) transactions: Vec<SeedTransaction>,
}

impl SeedSource {
    pub(super) fn database(&self) -> SeedDatabase {
        self.database_at(self.end())
    }

    /// Returns the database of a standby that has replayed the log up to the position.
    pub(super) fn database_at(&self, until: u8) -> SeedDatabase {
        let mut database = SeedDatabase::EMPTY;
        for record in self.log.iter().take(usize::from(until)) {
            database.replay(*record);
        }
        database
    }

    pub(super) fn accepts(&self, keys: SeedKeys) -> bool {
        self.database().accepts(keys, self.timeline)
    }

    pub(super) fn end(&self) -> u8 {
        position(self.log.len())
    }

    /// Returns the transactions that are in progress, as bits.
    pub(super) fn in_progress(&self) -> u8 {
        let transactions = self.transactions.iter().enumerate();
        transactions
            .filter(|(_, transaction)| {
                matches!(
                    transaction,
                    SeedTransaction::Written | SeedTransaction::Prepared
                )
            })
            .fold(0, |bits, (index, _)| bits | 1 << index)
    }

    /// Returns the transactions that have committed at or before the position, as bits.
    pub(super) fn committed(&self, until: u8) -> u8 {
        let records = self.log.iter().take(usize::from(until));
        records.fold(0, |bits, record| match record {
            SeedRecord::Commit(transaction) => bits | 1 << transaction,
            SeedRecord::Write(_) | SeedRecord::Prepare(_) | SeedRecord::RollBack(_) => bits,
            SeedRecord::Guard | SeedRecord::Set(_) | SeedRecord::CloneGuard => bits,
            SeedRecord::Intent | SeedRecord::DropCloneGuard | SeedRecord::Remove => bits,
        })
    }

    /// Returns the position behind the transaction's first record.
    pub(super) fn begin_of(&self, transaction: usize) -> u8 {
        let first = SeedRecord::Write(transaction);
        let index = self.log.iter().position(|record| *record == first);
        index.map_or(0, |index| position(index + 1))
    }

    pub(super) fn intent_position(&self) -> u8 {
        let index = self
            .log
            .iter()
            .position(|record| *record == SeedRecord::Intent);
        index.map_or(0, |index| position(index + 1))
    }
}

/// Who promoted the standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Promoter {
    Agent,
    /// An operator, or a cluster manager.
    Other,
}

/// The promotion of the standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Promotion {
    pub(super) by: Promoter,
    /// The switch point X: the end of what the standby has replayed.
    pub(super) at: u8,
    /// True if the agent's command had timed out before.
    pub(super) late: bool,
}

/// The standby, which becomes the clone and then the target.
///
/// Its position matters only when it is promoted or when the source fails over, and is chosen then.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SeedClone {
    /// The copy of the source's database, once the standby has left the source's log.
    pub(super) database: SeedDatabase,
    /// The number of records that the standby has replayed at least.
    pub(super) replayed: u8,
    /// False if a failover of the source has lost records that the standby has replayed.
    pub(super) follows: bool,
    pub(super) promotion: Option<Promotion>,
    /// True if it was promoted to take the source's place, so that both connection strings lead to it.
    pub(super) succeeds: bool,
    /// True if the migration's row names this server as the target.
    pub(super) target: bool,
    pub(super) progress: u8,
    /// True if a client wrote here before the flip.
    pub(super) written: bool,
    /// True if a client committed the copy of a prepared transaction here.
    pub(super) meddled: bool,
}

impl SeedClone {
    /// The timeline of the promoted server. It is larger than that of every server whose log the standby has followed.
    pub(super) const TIMELINE: u8 = 3;

    pub(super) const STANDBY: Self = Self {
        database: SeedDatabase::EMPTY,
        replayed: 0,
        follows: true,
        promotion: None,
        succeeds: false,
        target: false,
        progress: 0,
        written: false,
        meddled: false,
    };

    pub(super) fn accepts(&self, keys: SeedKeys) -> bool {
        self.promotion.is_some() && self.database.accepts(keys, Self::TIMELINE)
    }

    pub(super) fn accepts_any(&self) -> bool {
        KEYS.iter().any(|keys| self.accepts(*keys))
    }
}

/// What the agent has done. Each step is idempotent, and the next agent finds it in the rows of both servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SeedPhase {
    Planned,
    Guarded,
    /// The creation of the slot waits for these transactions, as bits.
    SlotWaits(u8),
    Captured,
    Bound,
    Covered,
    Intended,
    /// The command to promote was sent.
    Commanded,
    /// The clone has the intent.
    Recognized,
    Cleaned,
    Unbound,
    Streaming,
    Verified,
    Sealed,
    Flipped,
    Opened,
    Failed,
    Aborted,
}

impl SeedPhase {
    /// Returns whether the migration can still be aborted.
    pub(super) fn is_unflipped(self) -> bool {
        !matches!(
            self,
            Self::Planned | Self::Flipped | Self::Opened | Self::Aborted
        )
    }

    pub(super) fn has_flipped(self) -> bool {
        matches!(self, Self::Flipped | Self::Opened)
    }

    /// Returns whether the stream applies changes.
    pub(super) fn applies(self) -> bool {
        matches!(self, Self::Streaming | Self::Verified | Self::Sealed)
    }
}

/// A command to promote that has not taken effect yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PromotionCommand {
    pub(super) timed_out: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SeedState {
    pub(super) source: SeedSource,
    pub(super) clone: SeedClone,
    /// The consistent point of the slot.
    pub(super) slot: Option<u8>,
    pub(super) confirmed: u8,
    pub(super) phase: SeedPhase,
    pub(super) command: Option<PromotionCommand>,
    /// A clean-up whose sender has stopped waiting for it.
    pub(super) hung: bool,
    pub(super) faults: u8,
    /// True if a change was applied that was already there.
    pub(super) doubled: bool,
    /// True if the agent's command promoted a standby that then accepted writes.
    pub(super) exposed: bool,
    /// True if the source failed over while its register was bound.
    pub(super) blocked: bool,
}

/// Converts a length or a position in the log to a byte.
pub(super) fn position(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

impl SeedState {
    /// Returns whether the clone has the source's rows as they are at its progress.
    pub(super) fn is_equal(&self) -> bool {
        self.clone.database.rows == self.source.committed(self.clone.progress)
    }

    /// Forgets what does not matter after an abort, so that fewer states differ: the rows, and the standby.
    pub(super) fn forget(&mut self) {
        (self.slot, self.confirmed, self.hung) = (None, 0, false);
        self.source.log.retain(|record| !record.is_of_client());
        self.source.transactions.fill(SeedTransaction::Ended);
        self.clone = SeedClone::STANDBY;
    }

    /// Returns whether the server that clients find under the source's connection string accepts writes to the keys.
    pub(super) fn source_accepts(&self, keys: SeedKeys) -> bool {
        if self.clone.succeeds {
            self.clone.accepts(keys)
        } else {
            self.source.accepts(keys)
        }
    }

    /// Returns the positions that the standby may have.
    pub(super) fn positions(&self) -> RangeInclusive<u8> {
        let replayed = self.clone.replayed;
        if self.clone.follows {
            replayed..=self.source.end()
        } else {
            replayed..=replayed
        }
    }

    /// Returns whether the standby has replayed the intent, or will have.
    pub(super) fn may_have_intent(&self) -> bool {
        if self.clone.follows {
            self.source.database().intent
        } else {
            self.clone.database.intent
        }
    }

    /// Returns whether the source's register is bound to another timeline than the source's.
    pub(super) fn is_bound_elsewhere(&self) -> bool {
        match self.source.database().register {
            SeedRegister::Bound(timeline) => timeline != self.source.timeline,
            SeedRegister::Open | SeedRegister::Closed => false,
        }
    }

    /// Returns whether a transaction was prepared before the switch point and committed after it.
    pub(super) fn has_spanning(&self) -> bool {
        let Some(promotion) = self.clone.promotion else {
            return false;
        };
        let (before, after) = self
            .source
            .log
            .split_at(usize::from(promotion.at).min(self.source.log.len()));
        (0..self.source.transactions.len()).any(|transaction| {
            before.contains(&SeedRecord::Prepare(transaction))
                && after.contains(&SeedRecord::Commit(transaction))
        })
    }
}
