//! A stream's transaction on the source: it reads one chunk after the other for a while, on the unit's snapshot.
//!
//! What a chunk has read stays locked against a rewrite until the transaction ends, so a table's file is looked at once
//! in each; and DDL of others never waits for us much longer than for one chunk.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use connect::Connected;
use tokio::time::Instant;

use super::rewritten;
use super::units::CopyChunk;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::copy_stream::CopyExtent;
use crate::shard::snapshot;
use crate::shard::user_code::CodeProver;

/// No chunk begins in a transaction that is older.
const LASTS: Duration = Duration::from_secs(1);

pub(super) struct CopyReader {
    pub(super) session: Connected,
    /// Sees the catalog as it is now, not as it was at the snapshot.
    prover: Arc<CodeProver>,
    open: Option<OpenSnapshot>,
}

struct OpenSnapshot {
    since: Instant,
    /// Tables that nobody gives code any more, and that have none which is not trusted.
    proved: BTreeSet<usize>,
    /// Tables whose file was seen to be the one that was divided.
    seen: BTreeSet<usize>,
}

impl CopyReader {
    pub(super) fn new(session: Connected, prover: Arc<CodeProver>) -> Self {
        Self {
            session,
            prover,
            open: None,
        }
    }

    /// Goes on in a young transaction, or opens one, in which the chunk may be read; `false` when the snapshot is gone.
    /// Offline there is none, since the moving rows do not change.
    ///
    /// # Errors
    /// `code.untrusted`; what the server says.
    pub(super) async fn begin(
        &mut self,
        context: &StepContext,
        chunk: &CopyChunk,
    ) -> Result<bool, StepError> {
        let begun = self.begin_any(context).await?;
        if begun {
            self.prove(context, chunk.table).await?;
        }
        Ok(begun)
    }

    async fn prove(&mut self, context: &StepContext, table: usize) -> Result<(), StepError> {
        let Some(open) = self.open.as_mut() else {
            return Ok(());
        };
        if open.proved.contains(&table) {
            return Ok(());
        }
        let tables = &context.dispatch.tables[table..=table];
        self.prover.prove(&self.session, tables).await?;
        open.proved.insert(table);
        Ok(())
    }

    async fn begin_any(&mut self, context: &StepContext) -> Result<bool, StepError> {
        if let Some(open) = &self.open {
            if open.since.elapsed() < LASTS {
                return Ok(true);
            }
            self.end().await?;
        }
        let since = Instant::now();
        let shard = self.session.name();
        if context.is_online() {
            let id = context.dispatch.migration.as_str();
            if !snapshot::begin_with_held(&self.session, id).await? {
                return Ok(false);
            }
        } else {
            let begin = "begin isolation level repeatable read read only";
            let begun = self.session.batch_execute(begin).await;
            begun.at(format_args!("shard {shard}: beginning a chunk"))?;
        }
        self.open = Some(OpenSnapshot {
            since,
            proved: BTreeSet::new(),
            seen: BTreeSet::new(),
        });
        Ok(true)
    }

    /// Others rely on it that the open transaction sees what the snapshot sees that prints as `text`.
    pub(super) async fn sees(&mut self, text: &str) -> Result<(), StepError> {
        let what = format!("shard {}: looking at the snapshot", self.session.name());
        let read = "select pg_catalog.pg_current_snapshot()::text";
        let row = self.session.query_one(read, &[]).await.at(&what)?;
        let held: String = row.get(0);
        if held == text {
            return Ok(());
        }
        Err(StepError::passing(
            "copy.snapshot",
            format!("{what}: {held} is held under this migration's name, not {text}"),
        ))
    }

    /// Block numbers only mean something while the table keeps its file; the chunk has been read in this transaction.
    pub(super) async fn check(
        &mut self,
        context: &StepContext,
        chunk: &CopyChunk,
    ) -> Result<(), StepError> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        if matches!(chunk.extent, CopyExtent::Keys(_)) || open.seen.contains(&chunk.table) {
            return Ok(());
        }
        let (shard, table) = (self.session.name(), &context.dispatch.tables[chunk.table]);
        let row = self
            .session
            .query_one(
                "select pg_catalog.pg_relation_filenode(pg_catalog.to_regclass($1))",
                &[&table.table.sql()],
            )
            .await
            .at(format_args!("shard {shard}: checking {}", table.table))?;
        if row.get::<_, u32>(0) != chunk.filenode {
            return Err(rewritten(format!(
                "shard {shard}: table {} was rewritten during the copy",
                table.table
            )));
        }
        open.seen.insert(chunk.table);
        Ok(())
    }

    /// Ends a transaction that has lasted long enough.
    pub(super) async fn rest(&mut self) -> Result<(), StepError> {
        match &self.open {
            Some(open) if open.since.elapsed() >= LASTS => self.end().await,
            Some(_) | None => Ok(()),
        }
    }

    async fn end(&mut self) -> Result<(), StepError> {
        self.open = None;
        let ended = self.session.batch_execute("commit").await;
        ended.at(format_args!(
            "shard {}: ending a chunk",
            self.session.name()
        ))
    }
}
