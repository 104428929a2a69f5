//! Chunks that several moves have in common: one of them reads, each writes its own rows.
//!
//! Each move writes in its own transaction, which proved its own epoch, with its own mark: a chunk is done for it when
//! its rows and its mark have committed on its target. The reader tells the others that they have all rows once it has
//! looked at the table's file; who is not told so keeps nothing of it and copies the chunk again.
//! The reader's transaction must see what the others' snapshot sees: that is looked at in it, because another owner of
//! the reader's migration may hold another one by now, and it is only its own commit that its epoch would stop.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use connect::Connected;
use plans::table::{Format, MovingTable};
use tokio::sync::mpsc::{self, Receiver};

use super::chunk::{self, ChunkOutcome};
use super::reader::CopyReader;
use super::units::CopyChunk;
use super::{ChunkQueue, CopyRun};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::copy_stream::{
    CopyExtent, CopyReceivers, ReceiveOutcome, ReceiverInput, into, read_for_all, write_given,
};
use crate::shard::epoch;
use crate::shared_scan::calls::{OpenCall, ScanParticipant, SharedPiece};

/// How a chunk is to be copied.
pub(super) enum CopyMethod {
    Alone,
    /// For others as well that come to this call.
    Reading(OpenCall),
    /// Another one reads it.
    Given(Receiver<ReceiverInput>),
}

/// What others may have to copy too; `None` for what is read for one move alone: rows that are found by their key, text
/// forms, and rows that do not say themselves to whom they belong.
fn piece(table: &MovingTable, chunk: &CopyChunk) -> Option<SharedPiece> {
    let CopyExtent::Blocks(blocks) = &chunk.extent else {
        return None;
    };
    let fits = table.has_key() && table.format == Format::Binary;
    fits.then(|| SharedPiece {
        into: into(table),
        filenode: chunk.filenode,
        blocks: blocks.clone(),
    })
}

/// What of `queue` can be read for others as well.
pub(super) fn pieces(context: &StepContext, queue: &ChunkQueue) -> BTreeSet<SharedPiece> {
    let tables = &context.dispatch.tables;
    let chunks = queue.chunks.iter();
    chunks
        .filter_map(|chunk| piece(&tables[chunk.table], chunk))
        .collect()
}

/// The next chunk for a stream, and how many are left: one that another move is about to read, else the first.
pub(super) fn next(
    shared: &CopyRun<'_>,
    open: bool,
) -> Result<(Option<(CopyChunk, CopyMethod)>, usize), StepError> {
    let context = shared.context;
    let tables = &context.dispatch.tables;
    let mut queue = shared.queue.lock().map_err(|_| StepError::Interrupted)?;
    let Some(membership) = &shared.membership else {
        let next = queue.next(open).map(|chunk| (chunk, CopyMethod::Alone));
        return Ok((next, queue.chunks.len()));
    };
    let next = membership.with_board(|board, own| {
        let called = board.join(own, |wanted| {
            let same =
                |chunk: &CopyChunk| piece(&tables[chunk.table], chunk).as_ref() == Some(wanted);
            let chunk = queue.first(open, same)?;
            let predicate = context.predicate(&tables[chunk.table], "t");
            Some((chunk, predicate))
        });
        if let Some((chunk, given)) = called {
            return Some((chunk, CopyMethod::Given(given)));
        }
        let chunk = queue.next(open)?;
        let piece = piece(&tables[chunk.table], &chunk);
        let number = piece.and_then(|piece| board.call(own, &piece));
        let way = number.map_or(CopyMethod::Alone, |number| {
            CopyMethod::Reading(membership.called(number))
        });
        Some((chunk, way))
    });
    Ok((next, queue.chunks.len()))
}

/// Reads a chunk for all that have come to the call, and writes the rows of this move.
pub(super) async fn read(
    shared: &CopyRun<'_>,
    chunk: &CopyChunk,
    number: Option<i32>,
    reader: &mut CopyReader,
    target: &mut Connected,
    called: OpenCall,
) -> Result<ChunkOutcome, StepError> {
    let guests = called.guests().await;
    if guests.is_empty() {
        return chunk::copy(shared, chunk, number, reader, target).await;
    }
    let context = shared.context;
    let same = shared.snapshot.as_deref().unwrap_or_default();
    if !reader.begin(context, chunk).await? {
        return Ok(ChunkOutcome::SnapshotLost);
    }
    reader.sees(same).await?;
    let (sender, given) = mpsc::channel(1);
    let own = ScanParticipant {
        predicate: context.predicate(&context.dispatch.tables[chunk.table], "t"),
        sender,
    };
    let all = std::iter::once(own).chain(guests).collect();
    // The others have their rows although this move could not keep its own.
    let (read, written) = tokio::join!(
        read_for(context, chunk, reader, all),
        write(shared, chunk, number, target, given)
    );
    read?;
    let outcome = written?;
    reader.rest().await?;
    Ok(outcome)
}

async fn read_for(
    context: &StepContext,
    chunk: &CopyChunk,
    reader: &mut CopyReader,
    all: Vec<ScanParticipant>,
) -> Result<(), StepError> {
    let table = &context.dispatch.tables[chunk.table];
    let (predicates, senders): (Vec<_>, Vec<_>) = all
        .into_iter()
        .map(|guest| (guest.predicate, guest.sender))
        .unzip();
    let mut receivers = CopyReceivers::new(senders);
    let from = &mut reader.session;
    read_for_all(from, table, &chunk.extent, &predicates, &mut receivers).await?;
    reader.check(context, chunk).await?;
    receivers.end().await;
    Ok(())
}

/// Writes the rows that are given, and marks the chunk as done, in one transaction.
pub(super) async fn write(
    shared: &CopyRun<'_>,
    chunk: &CopyChunk,
    number: Option<i32>,
    target: &mut Connected,
    given: Receiver<ReceiverInput>,
) -> Result<ChunkOutcome, StepError> {
    let context = shared.context;
    let table = &context.dispatch.tables[chunk.table];
    if !chunk::begin_writing(shared, chunk, target).await? {
        epoch::rollback(target).await;
        return Ok(ChunkOutcome::Done);
    }
    // No place among the streams is kept: those that wait for each other's rows would wait for each other's places. Nor is
    // a wait for rows work to rest for: each would rest for the rests of the others.
    let turn = context.session.throttle.turn();
    let spent = AtomicU64::new(0);
    let moved = |rows, bytes| {
        let progress = &shared.progress;
        progress.moving(context, chunk.table, chunk.ordinal, rows, bytes);
        turn.spend(bytes - spent.swap(bytes, Ordering::Relaxed))
    };
    let copied = match write_given(&mut *target, table, given, (|| turn.resume(), moved)).await? {
        ReceiveOutcome::All(rows, bytes) => (rows, bytes),
        ReceiveOutcome::Left => return Ok(ChunkOutcome::Left),
        ReceiveOutcome::TooSlow => {
            // Whoever reads for it would wait for it again.
            let membership = shared.membership.as_ref();
            if let Some(membership) = membership {
                membership.withdraw();
            }
            return Ok(ChunkOutcome::Left);
        }
    };
    fail_point::hit("copy.chunk_copied").await?;
    chunk::commit(context, chunk, number, copied, target).await?;
    let again = chunk.begun > 0;
    let progress = &shared.progress;
    progress.done(context, chunk.table, chunk.ordinal, again);
    Ok(ChunkOutcome::Done)
}
