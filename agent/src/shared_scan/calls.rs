//! Calls for shared chunks. A COPY stream that is about to read a chunk opens a call to the moves that have to copy the
//! same chunk with the same snapshot. Before a stream of a called move begins a chunk of its own, it joins the oldest
//! call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use plans::id::MigrationId;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::postgres::copy_stream::{BlockRange, ReceiverInput};
use crate::shared_scan::participants::SharedScan;

/// Time limit for the answers of called moves, whose streams may still copy other chunks. Most moves finish their
/// chunks at the same moment, because one stream reads for all of them. A move that does not answer is marked as late:
/// calls do not wait for it until one of its streams looks for a call again.
const MAX_ANSWER_WAIT: Duration = Duration::from_secs(5);

/// The properties that chunks of two moves must share to be read together: the COPY statement on the target, the file
/// node, and the block range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SharedPiece {
    pub(crate) copy_statement: String,
    pub(crate) filenode: u32,
    pub(crate) blocks: BlockRange,
}

/// The moves that copy at this time, and their calls to each other.
#[derive(Debug, Default)]
pub(crate) struct CallBoard {
    members: BTreeMap<MigrationId, BoardMember>,
    /// Open calls, the oldest first.
    calls: Vec<ScanCall>,
    last_number: u64,
}

#[derive(Debug)]
struct BoardMember {
    snapshot: String,
    /// Pieces that no stream of this move has begun yet.
    remaining: BTreeSet<SharedPiece>,
    /// True if the move did not answer the last call in time.
    is_late: bool,
}

/// A call: the chunk that its stream will read, and the moves that may join.
#[derive(Debug)]
struct ScanCall {
    number: u64,
    piece: SharedPiece,
    /// Called moves that have not answered yet.
    expected: BTreeSet<MigrationId>,
    participants: Vec<ScanParticipant>,
}

/// A move that has joined a call, or the reader's own move.
#[derive(Debug)]
pub(crate) struct ScanParticipant {
    pub(crate) predicate: String,
    pub(crate) sender: Sender<ReceiverInput>,
}

impl CallBoard {
    /// Adds a move that still has to copy the pieces `remaining` with this snapshot.
    fn enter(&mut self, migration: &MigrationId, snapshot: &str, remaining: BTreeSet<SharedPiece>) {
        let member = BoardMember {
            snapshot: snapshot.to_owned(),
            remaining,
            is_late: false,
        };
        self.members.insert(migration.clone(), member);
    }

    fn leave(&mut self, migration: &MigrationId) {
        self.members.remove(migration);
        for call in &mut self.calls {
            call.expected.remove(migration);
        }
    }

    pub(crate) fn is_member(&self, migration: &MigrationId) -> bool {
        self.members.contains_key(migration)
    }

    /// Joins the oldest call to this move whose piece `take` accepts. `take` returns a value for the piece, and the
    /// predicate of this move's rows; or `None` if it does not accept the piece. The function returns the value, and
    /// the receiver of the rows.
    pub(crate) fn join_call<T>(
        &mut self,
        migration: &MigrationId,
        mut take: impl FnMut(&SharedPiece) -> Option<(T, String)>,
    ) -> Option<(T, Receiver<ReceiverInput>)> {
        let member = self.members.get_mut(migration)?;
        member.is_late = false;
        for call in &mut self.calls {
            if !call.expected.contains(migration) {
                continue;
            }
            let Some((chunk, predicate)) = take(&call.piece) else {
                continue;
            };
            call.expected.remove(migration);
            member.remaining.remove(&call.piece);
            let (sender, receiver) = mpsc::channel(1);
            call.participants
                .push(ScanParticipant { predicate, sender });
            return Some((chunk, receiver));
        }
        None
    }

    /// Removes a piece from this move's list and calls the other moves that have to copy it. Returns the number of the
    /// call; `None` if no other move has to copy the piece.
    pub(crate) fn open_call(
        &mut self,
        migration: &MigrationId,
        piece: &SharedPiece,
    ) -> Option<u64> {
        let member = self.members.get_mut(migration)?;
        member.remaining.remove(piece);
        let snapshot = member.snapshot.clone();
        let others = self.members.iter().filter(|(id, member)| {
            let has_same_piece = member.snapshot == snapshot && member.remaining.contains(piece);
            has_same_piece && !member.is_late && *id != migration
        });
        let expected: BTreeSet<_> = others.map(|(id, _)| id.clone()).collect();
        if expected.is_empty() {
            return None;
        }
        self.last_number += 1;
        self.calls.push(ScanCall {
            number: self.last_number,
            piece: piece.clone(),
            expected,
            participants: Vec::new(),
        });
        Some(self.last_number)
    }

    fn is_answered(&self, number: u64) -> bool {
        let call = self.calls.iter().find(|call| call.number == number);
        call.is_none_or(|call| call.expected.is_empty())
    }

    /// Ends a call, and marks the moves that have not answered as late. Returns the moves that have joined the call.
    fn close_call(&mut self, number: u64) -> Vec<ScanParticipant> {
        let Some(index) = self.calls.iter().position(|call| call.number == number) else {
            return Vec::new();
        };
        let call = self.calls.remove(index);
        for id in &call.expected {
            if let Some(member) = self.members.get_mut(id) {
                member.is_late = true;
            }
        }
        call.participants
    }
}

/// The membership of a move on the board. If this value is dropped, the move leaves the board.
#[derive(Debug)]
pub(crate) struct BoardMembership {
    scan: Arc<SharedScan>,
    migration: MigrationId,
}

impl BoardMembership {
    /// Adds a move to the board. The move still has to copy the pieces `remaining`, with the snapshot whose text is
    /// `snapshot`.
    pub(crate) fn enter(
        scan: &Arc<SharedScan>,
        migration: &MigrationId,
        snapshot: &str,
        remaining: BTreeSet<SharedPiece>,
    ) -> Self {
        scan.with_board(|board| board.enter(migration, snapshot, remaining));
        Self {
            scan: scan.clone(),
            migration: migration.clone(),
        }
    }

    /// Reads or changes the board for this move.
    pub(crate) fn with_board<T>(
        &self,
        change: impl FnOnce(&mut CallBoard, &MigrationId) -> T,
    ) -> T {
        self.scan.with_board(|board| change(board, &self.migration))
    }

    /// Removes the move from the board. From now on the move copies alone.
    pub(crate) fn withdraw(&self) {
        self.with_board(|board, migration| board.leave(migration));
    }

    /// Returns the handle of this move's call with this number.
    pub(crate) fn call_with_number(&self, number: u64) -> OpenCall {
        OpenCall {
            scan: self.scan.clone(),
            number,
        }
    }
}

impl Drop for BoardMembership {
    fn drop(&mut self) {
        self.scan.with_board(|board| board.leave(&self.migration));
    }
}

/// An open call of this move. If the value is dropped, the call ends, and the moves that have joined get no rows.
#[derive(Debug)]
pub(crate) struct OpenCall {
    scan: Arc<SharedScan>,
    number: u64,
}

impl OpenCall {
    /// Waits for the called moves, ends the call, and returns the moves that have joined it.
    pub(crate) async fn wait_for_participants(self) -> Vec<ScanParticipant> {
        let number = self.number;
        let answered = |board: &CallBoard| board.is_answered(number);
        self.scan.wait_for_board(answered, MAX_ANSWER_WAIT).await;
        self.scan.with_board(|board| board.close_call(number))
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.scan.with_board(|board| board.close_call(self.number));
    }
}

#[cfg(test)]
mod tests;
