//! A whole transaction with its proof in one round trip: nobody can be asked half-way, so the server refuses by itself.

use connect::Connected;
use plans::names::BYPASS_SETTING;
use plans::sql::quote_literal;
use tokio_postgres::error::SqlState;
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

use super::{EpochToken, last_row, lock_key, next_count_sql, parse_count, rollback};
use crate::error::{StepError, WithIntent};

/// The session's setting that keeps the shard's count from one of its transactions to the next.
const COUNT: &str = "shardwright.count";

/// What a transaction that is one batch proves before its own statements.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EpochProof {
    /// As [`super::begin`].
    Work,
    /// As [`super::begin_attempt`], for this cutover attempt.
    Next(i64),
    /// No worker and no other owner is beside it, and this is still the shard's count.
    Count(i64),
    /// The same, for the count that the session's last [`EpochProof::Next`] came to.
    LastCount,
}

impl EpochProof {
    /// The statements of the proof.
    ///
    /// Without a row the second one divides by zero, which ends the batch: a block of PL/pgSQL that raised an error of
    /// its own would load and compile that language inside the write stop.
    fn sql(self, token: &EpochToken) -> String {
        let own = format!(
            "select from shardwright.move where migration = {} and epoch = {}",
            quote_literal(&token.migration.0),
            token.epoch
        );
        let counted = |count: &str| {
            format!(
                "select 1 / pg_catalog.count(*) from ({own} and attempt = {count} for update) own"
            )
        };
        let exclusive = "pg_advisory_xact_lock";
        let (lock_function, proof) = match self {
            Self::Work => (
                "pg_advisory_xact_lock_shared",
                format!(
                    "select 1 / pg_catalog.count(*) from ({own} and coalesce(flipped, 0) <= {}) own",
                    token.until
                ),
            ),
            Self::Next(number) => (
                exclusive,
                format!(
                    "with own as ({} returning attempt)
                     select 1 / pg_catalog.count(*),
                            pg_catalog.set_config('{COUNT}', pg_catalog.max(attempt)::pg_catalog.text, false) from own",
                    next_count_sql(token, number)
                ),
            ),
            Self::Count(count) => (exclusive, counted(&count.to_string())),
            Self::LastCount => {
                let last = format!("pg_catalog.current_setting('{COUNT}')::pg_catalog.int8");
                (exclusive, counted(&last))
            }
        };
        format!(
            "select pg_catalog.{lock_function}({key}); {proof}",
            key = lock_key(&token.migration),
        )
    }
}

/// A transaction and what it proves first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProvenTransaction<'a> {
    pub(crate) token: &'a EpochToken,
    pub(crate) proof: EpochProof,
    pub(crate) sql: &'a str,
}

impl ProvenTransaction<'_> {
    fn sql_with_commit(&self) -> String {
        format!(
            "{}; select attempt from shardwright.move where migration = {}; commit",
            self.sql_without_commit(),
            quote_literal(&self.token.migration.0)
        )
    }

    /// As far as the statements, without a commit.
    fn sql_without_commit(&self) -> String {
        format!(
            "begin; set local {BYPASS_SETTING} = 'on'; {}; {}",
            self.proof.sql(self.token),
            self.sql
        )
    }
}

/// Runs `sql` in a transaction of its own, with its proof, in one round trip: the server refuses by itself what is not
/// proven, and runs nothing of `sql` then. The shard's count.
pub(crate) async fn transact(
    client: &Connected,
    token: &EpochToken,
    proof: EpochProof,
    sql: &str,
    what: &str,
) -> Result<i64, StepError> {
    transact_in_turn(client, &[ProvenTransaction { token, proof, sql }], what).await
}

/// Runs transactions one after the other, each committed by itself, in one round trip: behind the first that fails the
/// server runs none. The shard's count.
pub(crate) async fn transact_in_turn(
    client: &Connected,
    transactions: &[ProvenTransaction<'_>],
    what: &str,
) -> Result<i64, StepError> {
    let messages = send(client, &in_turn(transactions), what).await?;
    let row = last_row(messages);
    parse_count(
        row.ok_or_else(|| StepError::superseded(client.name()))?,
        what,
    )
}

/// As [`transact_in_turn`], where the last transaction's own statement returns a row: the shard's count, and that row.
pub(crate) async fn answered_in_turn(
    client: &Connected,
    transactions: &[ProvenTransaction<'_>],
    what: &str,
) -> Result<(i64, SimpleQueryRow), StepError> {
    let messages = send(client, &in_turn(transactions), what).await?;
    let mut rows = messages
        .into_iter()
        .rev()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            SimpleQueryMessage::CommandComplete(_) | _ => None,
        });
    let (last, answer) = rows
        .next()
        .zip(rows.next())
        .ok_or_else(|| StepError::superseded(client.name()))?;
    Ok((parse_count(last, what)?, answer))
}

fn in_turn(transactions: &[ProvenTransaction<'_>]) -> String {
    let texts: Vec<String> = transactions
        .iter()
        .map(ProvenTransaction::sql_with_commit)
        .collect();
    texts.join("; ")
}

/// Runs the first as a transaction, and opens another with the second, which stays open: in one round trip. The row of
/// its last statement.
pub(crate) async fn transact_and_open(
    client: &Connected,
    first: &ProvenTransaction<'_>,
    then: &ProvenTransaction<'_>,
    what: &str,
) -> Result<Option<SimpleQueryRow>, StepError> {
    let text = format!("{}; {}", first.sql_with_commit(), then.sql_without_commit());
    send(client, &text, what).await.map(last_row)
}

/// What is not proven divides by zero, and nothing stays open then.
async fn send(
    client: &Connected,
    text: &str,
    what: &str,
) -> Result<Vec<SimpleQueryMessage>, StepError> {
    let sent = client.simple_query(text).await;
    if let Err(error) = &sent {
        rollback(client).await;
        if error.code() == Some(&SqlState::DIVISION_BY_ZERO) {
            return Err(StepError::superseded(client.name()));
        }
    }
    sent.at(what)
}
