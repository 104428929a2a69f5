//! A marker behind the wait-out (C5, C8): the transaction that would write it looks for writers first, and writes it
//! where there is none.
//!
//! So where nobody writes, closing the register, its wait-out and its marker are one round trip.

use std::collections::BTreeSet;

use connect::Connected;
use plans::names::MARKER_PREFIX;
use plans::table::{MovingTable, quote_literal};
use tokio::time::Instant;

use super::epoch::{Proof, Proven, Token, answered_in_turn};
use super::marker::Marker;
use super::register::{Setting, set_sql};
use super::wait_out::{WRITERS, ended};
use crate::error::{At, StepError};

/// The name of the statement in a session.
const MARK_OR_LIST: &str = "shardwright_mark_or_list";

/// Makes the statement known to a session, which plans it once.
pub(crate) async fn prepare(client: &Connected, shard: &str) -> Result<(), StepError> {
    let statement = format!(
        "prepare {MARK_OR_LIST} (text[], text) as
         with writer as materialized ({WRITERS})
         select pg_catalog.string_agg(virtualtransaction, ' '),
                case when pg_catalog.count(*) = 0
                     then pg_catalog.pg_logical_emit_message(true, '{MARKER_PREFIX}', $2) end
         from writer"
    );
    let prepared = client.batch_execute(&statement).await;
    prepared.at(format_args!("shard {shard}: preparing the wait-out"))
}

/// A marker that is to lie behind every writer; of a session that [`prepare`] was called for.
pub(crate) struct Behind<'a> {
    pub(crate) client: &'a Connected,
    pub(crate) token: &'a Token,
    pub(crate) marker: &'a Marker,
    pub(crate) shard: &'a str,
}

impl Behind<'_> {
    /// Sets the register, and once that is committed writes the marker, or finds the writers that are there. The
    /// shard's count, and those writers: none once the marker is written.
    pub(crate) async fn set(
        &self,
        (proof, setting): (Proof, Setting),
        tables: &[MovingTable],
    ) -> Result<(i64, BTreeSet<String>), StepError> {
        let set = set_sql(self.token, setting);
        let setting = Proven {
            token: self.token,
            proof,
            sql: &set,
        };
        self.mark(Some(setting), tables).await
    }

    /// As [`Self::set`] for a register that is set already.
    pub(crate) async fn writers(
        &self,
        tables: &[MovingTable],
    ) -> Result<BTreeSet<String>, StepError> {
        self.mark(None, tables).await.map(|(_, writers)| writers)
    }

    /// Writes the marker once every writer of `remembered` has ended; it is written already where there is none.
    ///
    /// # Errors
    /// As [`ended`].
    pub(crate) async fn written(
        &self,
        remembered: BTreeSet<String>,
        deadline: Instant,
    ) -> Result<(), StepError> {
        if remembered.is_empty() {
            return Ok(());
        }
        ended(remembered, self.client, deadline, self.shard).await?;
        self.marker.emit(self.client, self.token, self.shard).await
    }

    async fn mark(
        &self,
        first: Option<Proven<'_>>,
        tables: &[MovingTable],
    ) -> Result<(i64, BTreeSet<String>), StepError> {
        let names = tables.iter().map(|table| quote_literal(&table.table.sql()));
        let marking = format!(
            "execute {MARK_OR_LIST} (array[{}]::text[], {})",
            names.collect::<Vec<_>>().join(", "),
            quote_literal(&self.marker.content())
        );
        let marking = Proven {
            token: self.token,
            proof: Proof::Work,
            sql: &marking,
        };
        let what = format!("shard {}: writing a marker behind the writers", self.shard);
        let in_turn: Vec<Proven<'_>> = first.into_iter().chain([marking]).collect();
        let (count, answer) = answered_in_turn(self.client, &in_turn, (&what, self.shard)).await?;
        let left = answer.get(0).unwrap_or_default();
        Ok((count, left.split_whitespace().map(str::to_owned).collect()))
    }
}
