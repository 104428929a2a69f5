//! One of the sessions of the copy on the source. Its transaction imports the snapshot, and reads one chunk after
//! another for a limited time.
//!
//! The transaction keeps its lock on the table that it reads, so no command can rewrite the table until it ends. It
//! therefore checks the file node of a table only once. Because of the time limit, DDL of other sessions waits only
//! shortly. The transaction locks one table only: if it kept the lock on a table while it waited for the next one, a
//! statement of the application could be cancelled because of a deadlock.

use std::sync::Arc;
use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use tokio::time::Instant;

use super::rewritten_error;
use super::units::CopyChunk;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::copy_stream::CopyExtent;
use crate::shard::snapshot;
use crate::shard::user_code::CodeProver;

/// No chunk begins in a transaction that is older than this.
const MAX_TRANSACTION_AGE: Duration = Duration::from_secs(1);

/// One session of the copy on the source, and its open transaction.
pub(super) struct CopyReader {
    pub(super) session: Connected,
    /// Checks a table for untrusted code. It reads the current catalog, not the catalog of the snapshot.
    prover: Arc<CodeProver>,
    transaction: Option<OpenTransaction>,
}

/// The open transaction, and what was checked in it. In an online move the transaction has an imported snapshot.
struct OpenTransaction {
    began_at: Instant,
    /// The table that was checked for untrusted code. Its definition cannot change until the transaction ends.
    proved_table: Option<usize>,
    /// Whether the file node of the table was checked to be the one that was divided into chunks.
    is_filenode_checked: bool,
}

impl CopyReader {
    pub(super) fn new(session: Connected, prover: Arc<CodeProver>) -> Self {
        Self {
            session,
            prover,
            transaction: None,
        }
    }

    /// Continues a recent transaction, or opens a new one, to read the chunk. Returns `false` if the snapshot can no
    /// longer be imported. An offline move needs no snapshot, because its moving rows do not change.
    ///
    /// # Errors
    /// `code.untrusted`; the errors of the server.
    pub(super) async fn begin_chunk(
        &mut self,
        context: &StepContext,
        chunk: &CopyChunk,
    ) -> Result<bool, StepError> {
        let begun = self.begin_transaction(context, chunk.table).await?;
        if begun {
            self.prove_code_once(context, chunk.table).await?;
        }
        Ok(begun)
    }

    /// Proves, once in each transaction, that reading the table runs no untrusted code.
    async fn prove_code_once(
        &mut self,
        context: &StepContext,
        table: usize,
    ) -> Result<(), StepError> {
        let Some(open) = self.transaction.as_mut() else {
            return Ok(());
        };
        if open.proved_table == Some(table) {
            return Ok(());
        }
        let tables = &context.dispatch.tables[table..=table];
        self.prover.prove(&self.session, tables).await?;
        open.proved_table = Some(table);
        Ok(())
    }

    /// Ends an old transaction, and one that has locked another table. Begins a new one if none is open. Returns `false`
    /// if the snapshot can no longer be imported.
    async fn begin_transaction(
        &mut self,
        context: &StepContext,
        table: usize,
    ) -> Result<bool, StepError> {
        if let Some(open) = &self.transaction {
            let may_read = open.proved_table.is_none_or(|proved| proved == table);
            if may_read && open.began_at.elapsed() < MAX_TRANSACTION_AGE {
                return Ok(true);
            }
            self.end().await?;
        }
        let began_at = Instant::now();
        let shard = self.session.name();
        if context.is_online() {
            let id = context.dispatch.migration.as_str();
            if !snapshot::begin_with_held(&self.session, id).await? {
                return Ok(false);
            }
        } else {
            let begin = "begin isolation level repeatable read read only";
            let begun = self.session.batch_execute(begin).await;
            begun.at(format_args!(
                "shard {shard}: beginning the transaction of the copy"
            ))?;
        }
        self.transaction = Some(OpenTransaction {
            began_at,
            proved_table: None,
            is_filenode_checked: false,
        });
        Ok(true)
    }

    /// Checks that the open transaction has the snapshot `text`, which the other participants of the shared scan have
    /// recorded.
    pub(super) async fn check_snapshot(&mut self, text: &str) -> Result<(), StepError> {
        let what = format!("shard {}: checking the snapshot", self.session.name());
        let read = "select pg_catalog.pg_current_snapshot()::text";
        let row = self.session.query_one(read, &[]).await.at(&what)?;
        let held: String = row.get(0);
        if held == text {
            return Ok(());
        }
        Err(StepError::passing(
            StepCode::CopySnapshot,
            format!(
                "{what}: the session has snapshot {held}, but the migration has recorded {text}"
            ),
        ))
    }

    /// Checks that the table still has the file node for which the chunks were planned; otherwise the block numbers
    /// would select other rows. It must also be the file node that the snapshot knows: a snapshot does not see rows that
    /// a later ALTER TABLE has rewritten. The caller must have read the chunk in this transaction: only then does the transaction
    /// have the table's lock.
    pub(super) async fn check_filenode(
        &mut self,
        context: &StepContext,
        chunk: &CopyChunk,
    ) -> Result<(), StepError> {
        let Some(open) = &mut self.transaction else {
            return Ok(());
        };
        // A snapshot does not see rows that a later ALTER TABLE has rewritten, so a move that follows changes checks key
        // ranges too.
        let needs_no_check =
            matches!(chunk.extent, CopyExtent::Keys(_)) && !context.follows_definitions();
        if needs_no_check || open.is_filenode_checked {
            return Ok(());
        }
        let (shard, table) = (self.session.name(), &context.dispatch.tables[chunk.table]);
        let (present, visible) = snapshot::file_nodes(&self.session, &table.table).await?;
        if present != chunk.filenode || present != visible {
            return Err(rewritten_error(format!(
                "shard {shard}: a command has rewritten table {} during the copy",
                table.table
            )));
        }
        open.is_filenode_checked = true;
        Ok(())
    }

    /// Ends the transaction if it is older than [`MAX_TRANSACTION_AGE`].
    pub(super) async fn end_if_old(&mut self) -> Result<(), StepError> {
        match &self.transaction {
            Some(open) if open.began_at.elapsed() >= MAX_TRANSACTION_AGE => self.end().await,
            Some(_) | None => Ok(()),
        }
    }

    /// Ends the transaction, in which one or more chunks were read.
    async fn end(&mut self) -> Result<(), StepError> {
        self.transaction = None;
        let ended = self.session.batch_execute("commit").await;
        ended.at(format_args!(
            "shard {}: ending the transaction of the copy",
            self.session.name()
        ))
    }
}
