//! A whole transaction with its proof in one round trip: nobody can be asked half-way, so the server refuses by itself.

use plans::names::{BYPASS_SETTING, SQLSTATE_SUPERSEDED};
use plans::table::quote_literal;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::{SUPERSEDED, Token, count, last_row, lock_key, next_count, rollback};
use crate::error::{At, StepError};

/// What a transaction that is one batch proves before its own statements.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof {
    /// As [`super::begin`].
    Work,
    /// As [`super::begin_next`], for this cutover attempt.
    Next(i64),
    /// No worker and no other owner is beside it, and this is still the shard's count.
    Count(i64),
}

impl Proof {
    fn sql(self, token: &Token) -> String {
        let own = format!(
            "perform from shardwright.move where migration = {} and epoch = {}",
            quote_literal(&token.migration.0),
            token.epoch
        );
        let (how, proof) = match self {
            Self::Work => (
                "pg_advisory_xact_lock_shared",
                format!("{own} and coalesce(flipped, 0) <= {}", token.until),
            ),
            Self::Next(number) => ("pg_advisory_xact_lock", next_count(token, number)),
            Self::Count(count) => (
                "pg_advisory_xact_lock",
                format!("{own} and attempt = {count} for update"),
            ),
        };
        format!(
            "select pg_catalog.{how}({key}); do $proof$ begin
               {proof};
               if not found then
                 raise exception using errcode = '{SQLSTATE_SUPERSEDED}', message = '{SUPERSEDED}';
               end if;
             end $proof$",
            key = lock_key(&token.migration),
        )
    }
}

/// Runs `sql` in a transaction of its own, with its proof, in one round trip: the server refuses by itself what is not
/// proven, and runs nothing of `sql` then. The shard's count.
pub(crate) async fn transact(
    client: &Client,
    token: &Token,
    proof: Proof,
    sql: &str,
    (what, shard): (&str, &str),
) -> Result<i64, StepError> {
    let sent = client
        .simple_query(&format!(
            "begin; set local {BYPASS_SETTING} = 'on'; {}; {sql};
             select attempt from shardwright.move where migration = {}; commit",
            proof.sql(token),
            quote_literal(&token.migration.0)
        ))
        .await;
    let superseded = |error: &tokio_postgres::Error| {
        let state = error.code().map(SqlState::code);
        state == Some(SQLSTATE_SUPERSEDED)
    };
    if let Err(error) = &sent {
        rollback(client).await;
        if superseded(error) {
            return Err(StepError::superseded(shard));
        }
    }
    let row = last_row(sent.at(what)?).ok_or_else(|| StepError::superseded(shard))?;
    count(row, what)
}
