//! A marker behind the wait-out (C5, C8): the transaction that writes it looks for writers first, and writes it where
//! there is none.
//!
//! So no answer lies between the two, and where nobody writes, closing the register, its wait-out and its marker are one
//! round trip.

use std::collections::BTreeSet;

use plans::names::MARKER_PREFIX;
use plans::table::{MovingTable, quote_literal};
use tokio::time::Instant;
use tokio_postgres::Client;

use super::epoch::{Proof, Proven, Token, answered_in_turn};
use super::marker::Marker;
use super::register::{Setting, set_sql};
use super::wait_out::{Patience, REMAINING, WRITERS};
use crate::error::{At, StepError};

/// The names of the two statements in a session.
const BEHIND_WRITERS: &str = "shardwright_behind_writers";
const BEHIND_REMEMBERED: &str = "shardwright_behind_remembered";

/// Makes the statements known to a session, which plans each once.
pub(crate) async fn prepare(client: &Client, shard: &str) -> Result<(), StepError> {
    let statement = |name: &str, writers: &str| {
        format!(
            "prepare {name} (text[], text) as
             with writer as materialized ({writers})
             select pg_catalog.string_agg(virtualtransaction, ' '),
                    case when pg_catalog.count(*) = 0
                         then pg_catalog.pg_logical_emit_message(true, '{MARKER_PREFIX}', $2) end
             from writer"
        )
    };
    let both = [
        statement(BEHIND_WRITERS, WRITERS),
        statement(BEHIND_REMEMBERED, REMAINING),
    ];
    let prepared = client.batch_execute(&both.join("; ")).await;
    prepared.at(format_args!("shard {shard}: preparing the wait-out"))
}

/// A marker that is to lie behind every writer; of a session that [`prepare`] was called for.
pub(crate) struct Behind<'a> {
    pub(crate) client: &'a Client,
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
        let names = tables.iter().map(|table| table.table.sql());
        self.transact(Some(setting), BEHIND_WRITERS, names).await
    }

    /// As [`Self::set`] for a register that is set already.
    pub(crate) async fn writers(
        &self,
        tables: &[MovingTable],
    ) -> Result<BTreeSet<String>, StepError> {
        let names = tables.iter().map(|table| table.table.sql());
        let done = self.transact(None, BEHIND_WRITERS, names).await?;
        Ok(done.1)
    }

    /// Writes the marker once every writer of `remembered` has ended; it is written already where there is none.
    ///
    /// # Errors
    /// As [`Patience::pause`].
    pub(crate) async fn written(
        &self,
        mut remembered: BTreeSet<String>,
        deadline: Instant,
    ) -> Result<(), StepError> {
        let mut patience = Patience::until(deadline, self.shard);
        while !remembered.is_empty() {
            patience.pause(remembered.len()).await?;
            remembered = self.remaining(remembered).await?;
        }
        Ok(())
    }

    /// Those of `remembered` that have not ended: none once the marker is written.
    pub(crate) async fn remaining(
        &self,
        remembered: BTreeSet<String>,
    ) -> Result<BTreeSet<String>, StepError> {
        let done = self
            .transact(None, BEHIND_REMEMBERED, remembered.into_iter())
            .await?;
        Ok(done.1)
    }

    async fn transact(
        &self,
        first: Option<Proven<'_>>,
        statement: &str,
        those: impl Iterator<Item = String>,
    ) -> Result<(i64, BTreeSet<String>), StepError> {
        let those: Vec<String> = those.map(|one| quote_literal(&one)).collect();
        let marking = format!(
            "execute {statement} (array[{}]::text[], {})",
            those.join(", "),
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
