//! Chunks of a shared scan: one move reads them for all participants, and each move writes its own rows.
//!
//! Each move writes in its own transaction, with its own proof of epoch and its own mark. A chunk is done for a move
//! when the move's rows and mark have committed on its target.
//!
//! The move that reads a chunk is the *reader*. It checks the table's file node after the read, and then confirms to
//! the other moves that they have received all rows. A move without this confirmation rolls back and copies the chunk
//! again.
//!
//! The reader's transaction must have the snapshot that the other moves have recorded. The reader checks this in the
//! transaction: another agent may have taken over its migration with another snapshot. The proof of epoch would only
//! prevent the reader's own commit, not those of the other moves.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use connect::Connected;
use plans::table::{Format, MovingTable, TableKey};
use tokio::sync::mpsc::{self, Receiver};

use super::chunk::{self, ChunkOutcome};
use super::reader::CopyReader;
use super::units::CopyChunk;
use super::{ChunkQueue, CopyRun};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::copy_stream::{
    CopyExtent, CopyReceivers, ReceiveOutcome, ReceiverInput, into, read_for_all,
    write_from_receiver,
};
use crate::shard::epoch;
use crate::shared_scan::calls::{OpenCall, ScanParticipant, SharedPiece};

/// How a chunk is copied.
pub(super) enum CopyMethod {
    /// Reads the chunk for this move only.
    Alone,
    /// Reads the chunk for this move and for the moves that join this call.
    ReadForAll(OpenCall),
    /// Receives the rows from another move that reads the chunk.
    Receive(Receiver<ReceiverInput>),
}

/// Returns what identifies the chunk among the participants. Returns `None` for chunks that cannot be shared: ranges of
/// keys, tables that are copied as text, and tables without key columns.
fn shared_piece(table: &MovingTable, chunk: &CopyChunk) -> Option<SharedPiece> {
    let CopyExtent::Blocks(blocks) = &chunk.extent else {
        return None;
    };
    let is_shareable = matches!(table.key, TableKey::Columns(_)) && table.format == Format::Binary;
    is_shareable.then(|| SharedPiece {
        copy_statement: into(table),
        filenode: chunk.filenode,
        blocks: blocks.clone(),
    })
}

/// Returns the chunks of `queue` that can be read together with other moves.
pub(super) fn shared_pieces(context: &StepContext, queue: &ChunkQueue) -> BTreeSet<SharedPiece> {
    let tables = &context.dispatch.tables;
    let chunks = queue.chunks.iter();
    chunks
        .filter_map(|chunk| shared_piece(&tables[chunk.table], chunk))
        .collect()
}

/// Takes the next chunk for a COPY stream. Returns it, and the number of remaining chunks. Prefers a chunk that another
/// move is about to read.
pub(super) fn take_next(
    shared: &CopyRun<'_>,
    may_begin_units: bool,
) -> Result<(Option<(CopyChunk, CopyMethod)>, usize), StepError> {
    let context = shared.context;
    let tables = &context.dispatch.tables;
    let mut queue = shared.queue.lock().map_err(|_| StepError::Interrupted)?;
    let Some(membership) = &shared.membership else {
        let next = queue
            .take_next(may_begin_units)
            .map(|chunk| (chunk, CopyMethod::Alone));
        return Ok((next, queue.chunks.len()));
    };
    let next = membership.with_board(|board, own| {
        let joined = board.join_call(own, |called_piece| {
            let is_called = |chunk: &CopyChunk| {
                shared_piece(&tables[chunk.table], chunk).as_ref() == Some(called_piece)
            };
            let chunk = queue.take_first(may_begin_units, is_called)?;
            let predicate = context.predicate(&tables[chunk.table], "t");
            Some((chunk, predicate))
        });
        if let Some((chunk, receiver)) = joined {
            return Some((chunk, CopyMethod::Receive(receiver)));
        }
        let chunk = queue.take_next(may_begin_units)?;
        let piece = shared_piece(&tables[chunk.table], &chunk);
        let number = piece.and_then(|piece| board.open_call(own, &piece));
        let method = number.map_or(CopyMethod::Alone, |number| {
            CopyMethod::ReadForAll(membership.call_with_number(number))
        });
        Some((chunk, method))
    });
    Ok((next, queue.chunks.len()))
}

/// Reads a chunk for all moves that join the call, and writes the rows of this move.
pub(super) async fn read_for_participants(
    shared: &CopyRun<'_>,
    chunk: &CopyChunk,
    number: Option<i32>,
    reader: &mut CopyReader,
    target: &mut Connected,
    open_call: OpenCall,
) -> Result<ChunkOutcome, StepError> {
    let participants = open_call.wait_for_participants().await;
    if participants.is_empty() {
        return chunk::copy_alone(shared, chunk, number, reader, target).await;
    }
    let context = shared.context;
    let snapshot = shared.snapshot.as_deref().unwrap_or_default();
    if !reader.begin_chunk(context, chunk).await? {
        return Ok(ChunkOutcome::SnapshotLost);
    }
    reader.check_snapshot(snapshot).await?;
    let (sender, receiver) = mpsc::channel(1);
    let own = ScanParticipant {
        predicate: context.predicate(&context.dispatch.tables[chunk.table], "t"),
        sender,
    };
    let all = std::iter::once(own).chain(participants).collect();
    // If this move fails to write its own rows, the other moves still receive theirs.
    let (read, written) = tokio::join!(
        read_and_send(context, chunk, reader, all),
        write_received(shared, chunk, number, target, receiver)
    );
    read?;
    let outcome = written?;
    reader.end_if_old().await?;
    Ok(outcome)
}

/// Reads a chunk, sends each participant its rows, and confirms that these are all.
async fn read_and_send(
    context: &StepContext,
    chunk: &CopyChunk,
    reader: &mut CopyReader,
    all: Vec<ScanParticipant>,
) -> Result<(), StepError> {
    let table = &context.dispatch.tables[chunk.table];
    let (predicates, senders): (Vec<_>, Vec<_>) = all
        .into_iter()
        .map(|participant| (participant.predicate, participant.sender))
        .unzip();
    let mut receivers = CopyReceivers::new(senders);
    let from = &mut reader.session;
    read_for_all(from, table, &chunk.extent, &predicates, &mut receivers).await?;
    reader.check_filenode(context, chunk).await?;
    receivers.end().await;
    Ok(())
}

/// Writes the received rows and marks the chunk as done, in one transaction.
pub(super) async fn write_received(
    shared: &CopyRun<'_>,
    chunk: &CopyChunk,
    number: Option<i32>,
    target: &mut Connected,
    receiver: Receiver<ReceiverInput>,
) -> Result<ChunkOutcome, StepError> {
    let context = shared.context;
    let table = &context.dispatch.tables[chunk.table];
    if !chunk::begin_writing(shared, chunk, target).await? {
        epoch::rollback(target).await;
        return Ok(ChunkOutcome::Done);
    }
    // This work takes no permit of the throttle: streams that wait for each other's rows would also wait for each
    // other's permits. The time of a wait for rows does not count as work: otherwise each stream would also pause for
    // the pauses of the others.
    let work = context.session.throttle.begin_work();
    let reported_bytes = AtomicU64::new(0);
    let on_progress = |rows, bytes| {
        let progress = &shared.progress;
        progress.update_chunk(context, chunk.table, chunk.ordinal, rows, bytes);
        work.finish_piece(bytes - reported_bytes.swap(bytes, Ordering::Relaxed))
    };
    let copied = match write_from_receiver(
        &mut *target,
        table,
        receiver,
        (|| work.restart_piece(), on_progress),
    )
    .await?
    {
        ReceiveOutcome::All(rows, bytes) => (rows, bytes),
        ReceiveOutcome::Left => return Ok(ChunkOutcome::ReaderEnded),
        ReceiveOutcome::TooSlow => {
            // This move leaves the shared scan; otherwise the next reader would wait for this move again.
            let membership = shared.membership.as_ref();
            if let Some(membership) = membership {
                membership.withdraw();
            }
            return Ok(ChunkOutcome::ReaderEnded);
        }
    };
    fail_point::hit("copy.chunk_copied").await?;
    chunk::commit_chunk(context, chunk, number, copied, target).await?;
    let was_begun_before = chunk.begun > 0;
    let progress = &shared.progress;
    progress.finish_chunk(context, chunk.table, chunk.ordinal, was_begun_before);
    Ok(ChunkOutcome::Done)
}
