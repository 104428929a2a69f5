//! A marker after the wait-out (C5, C8): the transaction that is to write it lists the writers first, and writes the
//! marker only if there is none.
//!
//! If no transaction writes, one round trip closes the register, checks the wait-out and writes the marker.

use std::collections::BTreeSet;

use connect::Connected;
use plans::id::{MapName, MigrationId};
use plans::names::MARKER_PREFIX;
use plans::sql::quote_literal;
use plans::table::MovingTable;
use tokio::time::Instant;

use super::epoch::{
    self, AttemptCount, EpochProof, EpochToken, ProvenTransaction, answered_in_turn,
};
use super::guard;
use super::marker::Marker;
use super::register::{RegisterSetting, set_sql};
use crate::error::{StepError, WithIntent};
use crate::postgres::wait_out::{WRITERS, awaited_names, wait_for_end};
use crate::shard::guard::GuardedRows;

/// The names of the prepared statements.
const MARK_OR_LIST: &str = "shardwright_mark_or_list";
const MARK_OR_LIST_PASSED: &str = "shardwright_mark_or_list_passed";

/// The writers that must end before the marker is written.
#[derive(Clone, Copy)]
pub(crate) enum AwaitedWriters<'a> {
    /// All transactions that write to these tables, and so may have read "open".
    Writers {
        tables: &'a [MovingTable],
        /// The virtual transaction id of a session of the agent that reads the tables under the lock of a writer; empty
        /// if there is none. The statement leaves it out without a list of the other sessions.
        except: &'a str,
    },
    /// Only the transactions that passed the guard because the fence had expired. The earlier writers have ended: the
    /// wait-out after the fence waited for them.
    PassedExpiredFence,
}

impl AwaitedWriters<'_> {
    /// Returns the call of the statement that lists the writers or writes the marker.
    fn call(self, content: &str) -> String {
        let content = quote_literal(content);
        match self {
            Self::Writers { tables, except } => {
                let names = awaited_names(tables).into_iter();
                let names = names.map(|name| quote_literal(&name));
                let names = names.collect::<Vec<_>>().join(", ");
                let except = quote_literal(except);
                format!("{MARK_OR_LIST} (array[{names}]::text[], {content}, {except})")
            }
            Self::PassedExpiredFence => format!("{MARK_OR_LIST_PASSED} ({content})"),
        }
    }
}

/// Prepares the statements in a session, which plans them once. It also replaces the functions of the guard if an agent
/// of another version created them, because the statements rely on the lock that the functions take.
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

/// Returns the query for the transactions that passed an expired fence, by virtual transaction id.
fn passed_writers_sql(migration: &MigrationId) -> String {
    epoch::lock_holders(&guard::passed_lock_key(migration), "virtualtransaction")
}

/// A marker that must come after all awaited writers. The session must have been passed to [`prepare`].
pub(crate) struct MarkerAfterWait<'a> {
    pub(crate) client: &'a Connected,
    pub(crate) token: &'a EpochToken,
    pub(crate) marker: &'a Marker,
}

impl MarkerAfterWait<'_> {
    /// Sets the register. After that has committed, it writes the marker or lists the awaited writers. Returns the
    /// shard's count and the writers; no writers means that the marker is written.
    pub(crate) async fn set_and_mark(
        &self,
        proof: EpochProof,
        setting: RegisterSetting,
        awaited: AwaitedWriters<'_>,
    ) -> Result<(AttemptCount, BTreeSet<String>), StepError> {
        let set = set_sql(self.token, setting);
        let setting = ProvenTransaction {
            token: self.token,
            proof,
            sql: &set,
        };
        self.send(Some(setting), awaited).await
    }

    /// As [`Self::set_and_mark`], if the register is set already.
    pub(crate) async fn mark_or_list(
        &self,
        awaited: AwaitedWriters<'_>,
    ) -> Result<BTreeSet<String>, StepError> {
        self.send(None, awaited).await.map(|(_, writers)| writers)
    }

    /// Writes the marker once every writer in `remembered` has ended. If `remembered` is empty, the marker is written
    /// already.
    ///
    /// # Errors
    /// As [`wait_for_end`].
    pub(crate) async fn wait_and_mark(
        &self,
        remembered: BTreeSet<String>,
        deadline: Instant,
    ) -> Result<(), StepError> {
        if remembered.is_empty() {
            return Ok(());
        }
        wait_for_end(remembered, self.client, deadline).await?;
        self.marker.emit(self.client, self.token).await
    }

    /// Sends the transaction `first`, and then the one that writes the marker or lists the writers.
    async fn send(
        &self,
        first: Option<ProvenTransaction<'_>>,
        awaited: AwaitedWriters<'_>,
    ) -> Result<(AttemptCount, BTreeSet<String>), StepError> {
        let marking = format!("execute {}", awaited.call(&self.marker.content()));
        let marking = ProvenTransaction {
            token: self.token,
            proof: EpochProof::Work,
            sql: &marking,
        };
        let what = format!(
            "shard {}: writing a marker after the writers",
            self.client.name()
        );
        let in_turn: Vec<ProvenTransaction<'_>> = first.into_iter().chain([marking]).collect();
        let (count, answer) = answered_in_turn(self.client, &in_turn, &what).await?;
        let left = answer.get(0).unwrap_or_default();
        Ok((count, left.split_whitespace().map(str::to_owned).collect()))
    }
}
