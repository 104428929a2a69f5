//! A marker behind the wait-out (C5, C8): the transaction that would write it looks for writers first, and writes it
//! where there is none.
//!
//! So where nobody writes, closing the register, its wait-out and its marker are one round trip.

use std::collections::BTreeSet;

use connect::Connected;
use plans::id::{MapName, MigrationId};
use plans::names::MARKER_PREFIX;
use plans::sql::quote_literal;
use plans::table::MovingTable;
use tokio::time::Instant;

use super::epoch::{self, EpochProof, EpochToken, ProvenTransaction, answered_in_turn};
use super::guard;
use super::marker::Marker;
use super::register::{RegisterSetting, set_sql};
use crate::error::{StepError, WithIntent};
use crate::postgres::wait_out::{WRITERS, ended};
use crate::shard::guard::GuardedRows;

/// The names of the statements in a session.
const MARK_OR_LIST: &str = "shardwright_mark_or_list";
const MARK_OR_LIST_PASSED: &str = "shardwright_mark_or_list_passed";

/// Who is waited for before a marker is written.
#[derive(Clone, Copy)]
pub(crate) enum AwaitedWriters<'a> {
    /// Everybody who writes to these tables, and may have read "open".
    Writers {
        tables: &'a [MovingTable],
        /// The virtual transaction id of a session of ours that reads them under the lock of a writer; empty: there is
        /// none. The sessions of others need not be listed to leave it out.
        except: &'a str,
    },
    /// Who has passed the guard since because the fence had ended: the others were waited for behind it.
    PassedExpiredFence,
}

impl AwaitedWriters<'_> {
    /// The call of the statement that lists them, or writes the marker.
    fn call(self, content: &str) -> String {
        let content = quote_literal(content);
        match self {
            Self::Writers { tables, except } => {
                let names = tables.iter().map(|table| quote_literal(&table.table.sql()));
                let names = names.collect::<Vec<_>>().join(", ");
                let except = quote_literal(except);
                format!("{MARK_OR_LIST} (array[{names}]::text[], {content}, {except})")
            }
            Self::PassedExpiredFence => format!("{MARK_OR_LIST_PASSED} ({content})"),
        }
    }
}

/// Makes the statements known to a session, which plans them once, and the guard one that takes the note they look for:
/// an agent of another version may have put it.
pub(crate) async fn prepare(
    client: &Connected,
    token: &EpochToken,
    map: &MapName,
    guarded: GuardedRows<'_>,
) -> Result<(), StepError> {
    let shard = client.name();
    guard::replace_if_outdated(client, token, map, guarded).await?;
    let statement = |head: &str, awaited: &str, content: &str| {
        format!(
            "prepare {head} as
             with writer as materialized ({awaited})
             select pg_catalog.string_agg(virtualtransaction, ' '),
                    case when pg_catalog.count(*) = 0
                         then pg_catalog.pg_logical_emit_message(true, '{MARKER_PREFIX}', {content}) end
             from writer"
        )
    };
    let passed = passed_writers_sql(&token.migration);
    let writers = format!("{WRITERS} and l.virtualtransaction <> $3");
    let heads = [
        format!("{MARK_OR_LIST} (text[], text, text)"),
        format!("{MARK_OR_LIST_PASSED} (text)"),
    ];
    let statements = [
        statement(&heads[0], &writers, "$2"),
        statement(&heads[1], &passed, "$1"),
    ];
    let prepared = client.batch_execute(&statements.join("; ")).await;
    prepared.at(format_args!("shard {shard}: preparing the wait-out"))
}

/// Transactions that hold the note, by virtual transaction id.
fn passed_writers_sql(migration: &MigrationId) -> String {
    epoch::lock_holders(&guard::passed_lock_key(migration), "virtualtransaction")
}

/// A marker that is to lie behind every writer; of a session that [`prepare`] was called for.
pub(crate) struct MarkerAfterWait<'a> {
    pub(crate) client: &'a Connected,
    pub(crate) token: &'a EpochToken,
    pub(crate) marker: &'a Marker,
}

impl MarkerAfterWait<'_> {
    /// Sets the register, and once that is committed writes the marker, or finds the writers that are there. The
    /// shard's count, and those writers: none once the marker is written.
    pub(crate) async fn set_and_mark(
        &self,
        proof: EpochProof,
        setting: RegisterSetting,
        awaited: AwaitedWriters<'_>,
    ) -> Result<(i64, BTreeSet<String>), StepError> {
        let set = set_sql(self.token, setting);
        let setting = ProvenTransaction {
            token: self.token,
            proof,
            sql: &set,
        };
        self.send(Some(setting), awaited).await
    }

    /// As [`Self::set`] for a register that is set already.
    pub(crate) async fn mark_or_list(
        &self,
        awaited: AwaitedWriters<'_>,
    ) -> Result<BTreeSet<String>, StepError> {
        self.send(None, awaited).await.map(|(_, writers)| writers)
    }

    /// Writes the marker once every writer of `remembered` has ended; it is written already where there is none.
    ///
    /// # Errors
    /// As [`ended`].
    pub(crate) async fn wait_and_mark(
        &self,
        remembered: BTreeSet<String>,
        deadline: Instant,
    ) -> Result<(), StepError> {
        if remembered.is_empty() {
            return Ok(());
        }
        ended(remembered, self.client, deadline).await?;
        self.marker.emit(self.client, self.token).await
    }

    async fn send(
        &self,
        first: Option<ProvenTransaction<'_>>,
        awaited: AwaitedWriters<'_>,
    ) -> Result<(i64, BTreeSet<String>), StepError> {
        let marking = format!("execute {}", awaited.call(&self.marker.content()));
        let marking = ProvenTransaction {
            token: self.token,
            proof: EpochProof::Work,
            sql: &marking,
        };
        let what = format!(
            "shard {}: writing a marker behind the writers",
            self.client.name()
        );
        let in_turn: Vec<ProvenTransaction<'_>> = first.into_iter().chain([marking]).collect();
        let (count, answer) = answered_in_turn(self.client, &in_turn, &what).await?;
        let left = answer.get(0).unwrap_or_default();
        Ok((count, left.split_whitespace().map(str::to_owned).collect()))
    }
}
