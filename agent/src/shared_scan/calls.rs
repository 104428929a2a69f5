//! Who reads a chunk for whom: a stream that is about to read one calls those that have the same one to copy with the
//! same snapshot; a stream of theirs that is free comes to the oldest call before it begins anything else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use plans::id::MigrationId;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::postgres::copy_stream::{BlockRange, ReceiverInput};
use crate::shared_scan::participants::SharedScan;

/// How long a reader waits for a move to come whose streams are busy. Most end their chunks at the same moment, since
/// they are read by one; one that does not come is not waited for again before it has shown itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// What two moves must have in common to be read for at once: what is asked of a target, and which blocks of which file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SharedPiece {
    pub(crate) into: String,
    pub(crate) filenode: u32,
    pub(crate) blocks: BlockRange,
}

/// Moves that copy, and what they call each other for.
#[derive(Debug, Default)]
pub(crate) struct CallBoard {
    members: BTreeMap<MigrationId, BoardMember>,
    /// The oldest first.
    calls: Vec<ScanCall>,
    last: u64,
}

#[derive(Debug)]
struct BoardMember {
    snapshot: String,
    /// What no stream of it has taken yet.
    left: BTreeSet<SharedPiece>,
    /// It did not come when it was called last.
    late: bool,
}

#[derive(Debug)]
struct ScanCall {
    number: u64,
    piece: SharedPiece,
    /// Who has not answered.
    expected: BTreeSet<MigrationId>,
    guests: Vec<ScanParticipant>,
}

/// A move that has come to a call.
#[derive(Debug)]
pub(crate) struct ScanParticipant {
    pub(crate) predicate: String,
    pub(crate) sender: Sender<ReceiverInput>,
}

impl CallBoard {
    fn enter(&mut self, own: &MigrationId, snapshot: &str, left: BTreeSet<SharedPiece>) {
        let member = BoardMember {
            snapshot: snapshot.to_owned(),
            left,
            late: false,
        };
        self.members.insert(own.clone(), member);
    }

    fn leave(&mut self, own: &MigrationId) {
        self.members.remove(own);
        for call in &mut self.calls {
            call.expected.remove(own);
        }
    }

    pub(crate) fn has(&self, own: &MigrationId) -> bool {
        self.members.contains_key(own)
    }

    /// Comes to the oldest call for a piece that `take` gives, with the predicate that it returns for it.
    pub(crate) fn join<T>(
        &mut self,
        own: &MigrationId,
        mut take: impl FnMut(&SharedPiece) -> Option<(T, String)>,
    ) -> Option<(T, Receiver<ReceiverInput>)> {
        let member = self.members.get_mut(own)?;
        member.late = false;
        for call in &mut self.calls {
            if !call.expected.contains(own) {
                continue;
            }
            let Some((taken, predicate)) = take(&call.piece) else {
                continue;
            };
            call.expected.remove(own);
            member.left.remove(&call.piece);
            let (sender, given) = mpsc::channel(1);
            call.guests.push(ScanParticipant { predicate, sender });
            return Some((taken, given));
        }
        None
    }

    /// Takes a piece, and calls the others that have it to copy; `None` when there are none.
    pub(crate) fn call(&mut self, own: &MigrationId, piece: &SharedPiece) -> Option<u64> {
        let member = self.members.get_mut(own)?;
        member.left.remove(piece);
        let snapshot = member.snapshot.clone();
        let others = self.members.iter().filter(|(id, member)| {
            let same = member.snapshot == snapshot && member.left.contains(piece);
            same && !member.late && *id != own
        });
        let expected: BTreeSet<_> = others.map(|(id, _)| id.clone()).collect();
        if expected.is_empty() {
            return None;
        }
        self.last += 1;
        self.calls.push(ScanCall {
            number: self.last,
            piece: piece.clone(),
            expected,
            guests: Vec::new(),
        });
        Some(self.last)
    }

    fn is_answered(&self, number: u64) -> bool {
        let call = self.calls.iter().find(|call| call.number == number);
        call.is_none_or(|call| call.expected.is_empty())
    }

    /// Ends a call: who has come to it.
    fn close(&mut self, number: u64) -> Vec<ScanParticipant> {
        let Some(at) = self.calls.iter().position(|call| call.number == number) else {
            return Vec::new();
        };
        let call = self.calls.remove(at);
        for id in &call.expected {
            if let Some(member) = self.members.get_mut(id) {
                member.late = true;
            }
        }
        call.guests
    }
}

/// A move is on the board while this lives.
#[derive(Debug)]
pub(crate) struct BoardMembership {
    scan: Arc<SharedScan>,
    own: MigrationId,
}

impl BoardMembership {
    /// `left` is what it has to copy with the snapshot that prints as `snapshot`.
    pub(crate) fn enter(
        scan: &Arc<SharedScan>,
        own: &MigrationId,
        snapshot: &str,
        left: BTreeSet<SharedPiece>,
    ) -> Self {
        scan.with_board(|board| board.enter(own, snapshot, left));
        Self {
            scan: scan.clone(),
            own: own.clone(),
        }
    }

    /// Looks at the board for this move.
    pub(crate) fn with_board<T>(
        &self,
        change: impl FnOnce(&mut CallBoard, &MigrationId) -> T,
    ) -> T {
        self.scan.with_board(|board| change(board, &self.own))
    }

    /// From now on it copies alone.
    pub(crate) fn withdraw(&self) {
        self.with_board(|board, own| board.leave(own));
    }

    /// The call with this number, of this move.
    pub(crate) fn called(&self, number: u64) -> OpenCall {
        OpenCall {
            scan: self.scan.clone(),
            number,
        }
    }
}

impl Drop for BoardMembership {
    fn drop(&mut self) {
        self.scan.with_board(|board| board.leave(&self.own));
    }
}

/// A call that is open; dropping it sends those away that have come.
#[derive(Debug)]
pub(crate) struct OpenCall {
    scan: Arc<SharedScan>,
    number: u64,
}

impl OpenCall {
    /// Waits for those that were called, and ends the call.
    pub(crate) async fn guests(self) -> Vec<ScanParticipant> {
        let number = self.number;
        let answered = |board: &CallBoard| board.is_answered(number);
        self.scan.until_board(answered, PATIENCE).await;
        self.scan.with_board(|board| board.close(number))
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.scan.with_board(|board| board.close(self.number));
    }
}

#[cfg(test)]
mod tests;
