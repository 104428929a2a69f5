//! The logs of both servers, the slot, the target, and the state of the agent.

use std::collections::BTreeSet;

/// One of the two servers of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SourceServer {
    /// The primary before the failover.
    Old,
    /// The standby, and later the primary.
    New,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FailoverState {
    /// True if the standby synchronizes the slot.
    pub(super) synchronizes: bool,
    /// True if the server sends nothing that the standby lacks.
    pub(super) holds_back: bool,
    /// The transactions of each server in the order of its log. Each inserts a row of its own.
    pub(super) old_log: Vec<u8>,
    pub(super) new_log: Vec<u8>,
    /// The number of all transactions so far.
    pub(super) writes: u8,
    /// The switch point, after the promotion.
    pub(super) promoted: Option<u8>,
    /// True if the old primary does not run any more.
    pub(super) old_is_down: bool,
    /// The slot's position on the server that the agent reads: it sends the transactions from this number on. `None`
    /// before the slot exists.
    pub(super) confirmed: Option<u8>,
    /// The position of the slot that the standby has copied.
    pub(super) synced: Option<u8>,
    /// The snapshot of the copy sees the transactions before this number. `None` before the copy.
    pub(super) snapshot: Option<u8>,
    /// Transactions before this number are applied.
    pub(super) progress: u8,
    /// The transactions from the progress on that are in the spool.
    pub(super) spool: Vec<u8>,
    pub(super) target: BTreeSet<u8>,
    /// The server that the agent reads.
    pub(super) reads: SourceServer,
    /// True if the agent has decided how to go on after the failover.
    pub(super) decided: bool,
    pub(super) continued: bool,
    /// True if the comparison has removed rows from the target.
    pub(super) removed: bool,
    pub(super) flipped: bool,
}

impl FailoverState {
    pub(super) fn begin((synchronizes, holds_back): (bool, bool)) -> Self {
        Self {
            synchronizes,
            holds_back,
            old_log: Vec::new(),
            new_log: Vec::new(),
            writes: 0,
            promoted: None,
            old_is_down: false,
            confirmed: None,
            synced: None,
            snapshot: None,
            progress: 0,
            spool: Vec::new(),
            target: BTreeSet::new(),
            reads: SourceServer::Old,
            decided: false,
            continued: false,
            removed: false,
            flipped: false,
        }
    }

    pub(super) fn log(&self, server: SourceServer) -> &[u8] {
        match server {
            SourceServer::Old => &self.old_log,
            SourceServer::New => &self.new_log,
        }
    }

    /// Returns whether the agent may go on: it reads a server that is the primary as far as it knows.
    pub(super) fn is_connected(&self) -> bool {
        self.promoted.is_none() || self.decided
    }

    pub(super) fn has_copy(&self) -> bool {
        self.snapshot.is_some() && self.is_connected()
    }

    pub(super) fn rows_of_primary(&self) -> BTreeSet<u8> {
        let server = match self.promoted {
            Some(_) => SourceServer::New,
            None => SourceServer::Old,
        };
        self.log(server).iter().copied().collect()
    }

    /// Returns the rows that the target must have now.
    pub(super) fn expected_on_target(&self) -> BTreeSet<u8> {
        let end = self.progress.max(self.snapshot.unwrap_or_default());
        let log = self.log(self.reads).iter();
        log.take(usize::from(end)).copied().collect()
    }

    /// Returns whether the slot or the spool has every change after the progress.
    pub(super) fn has_no_gap(&self) -> bool {
        let spooled = u8::try_from(self.spool.len()).unwrap_or(u8::MAX);
        !self.is_connected()
            || self.flipped
            || self
                .confirmed
                .is_none_or(|confirmed| confirmed <= self.progress + spooled)
    }
}
