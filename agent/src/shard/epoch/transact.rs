//! Complete transactions with their proof in one round trip. The agent sees no result in between, so the server itself
//! must refuse.

use connect::Connected;
use plans::id::AttemptNo;
use plans::names::BYPASS_SETTING;
use plans::sql::quote_literal;
use tokio_postgres::error::SqlState;
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

use super::{AttemptCount, EpochToken, last_row, lock_key, next_count_sql, parse_count, rollback};
use crate::error::{StepError, WithIntent};

/// The session's setting that passes the shard's count from one transaction to the next.
const COUNT: &str = "shardwright.count";

/// The proof that a transaction in one batch starts with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EpochProof {
    /// As [`super::begin`].
    Work,
    /// As [`super::begin_attempt`], for this cutover attempt.
    Next(AttemptNo),
    /// Excludes workers and other owners, and proves that this is still the shard's count.
    Count(AttemptCount),
    /// As [`EpochProof::Count`], with the count of the session's last [`EpochProof::Next`].
    LastCount,
}

impl EpochProof {
    /// Returns the statements of the proof.
    ///
    /// If there is no row, the second statement divides by zero, which ends the batch. A PL/pgSQL block with its own
    /// error would load and compile that language within the write-blocked window.
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

/// A transaction and its proof.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProvenTransaction<'a> {
    pub(crate) token: &'a EpochToken,
    pub(crate) proof: EpochProof,
    pub(crate) sql: &'a str,
}

impl ProvenTransaction<'_> {
    /// Returns the whole transaction, with a query for the shard's count before its commit.
    fn sql_with_commit(&self) -> String {
        format!(
            "{}; select attempt from shardwright.move where migration = {}; commit",
            self.sql_without_commit(),
            quote_literal(&self.token.migration.0)
        )
    }

    /// Returns the transaction up to its statements, without a commit.
    fn sql_without_commit(&self) -> String {
        format!(
            "begin; set local {BYPASS_SETTING} = 'on'; {}; {}",
            self.proof.sql(self.token),
            self.sql
        )
    }
}

/// Executes `sql` in a separate transaction, with its proof, in one round trip. If the proof fails, the server executes
/// nothing of `sql`. Returns the shard's count.
pub(crate) async fn transact(
    client: &Connected,
    token: &EpochToken,
    proof: EpochProof,
    sql: &str,
    what: &str,
) -> Result<AttemptCount, StepError> {
    transact_in_turn(client, &[ProvenTransaction { token, proof, sql }], what).await
}

/// Executes transactions in order, each with its own commit, in one round trip. After the first failure the server
/// executes no further one. Returns the shard's count.
pub(crate) async fn transact_in_turn(
    client: &Connected,
    transactions: &[ProvenTransaction<'_>],
    what: &str,
) -> Result<AttemptCount, StepError> {
    let messages = send(client, &batch_sql(transactions), what).await?;
    let row = last_row(messages);
    parse_count(
        row.ok_or_else(|| StepError::superseded(client.name()))?,
        what,
    )
}

/// As [`transact_in_turn`], if the last statement of the last transaction returns a row. Returns the shard's count and
/// this row.
pub(crate) async fn answered_in_turn(
    client: &Connected,
    transactions: &[ProvenTransaction<'_>],
    what: &str,
) -> Result<(AttemptCount, SimpleQueryRow), StepError> {
    let messages = send(client, &batch_sql(transactions), what).await?;
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

/// Joins the transactions to one batch.
fn batch_sql(transactions: &[ProvenTransaction<'_>]) -> String {
    let texts: Vec<String> = transactions
        .iter()
        .map(ProvenTransaction::sql_with_commit)
        .collect();
    texts.join("; ")
}

/// Executes the transaction `first`, and then opens the transaction `then`, which stays open, in one round trip.
/// Returns the row of its last statement.
pub(crate) async fn transact_and_open(
    client: &Connected,
    first: &ProvenTransaction<'_>,
    then: &ProvenTransaction<'_>,
    what: &str,
) -> Result<Option<SimpleQueryRow>, StepError> {
    let text = format!("{}; {}", first.sql_with_commit(), then.sql_without_commit());
    send(client, &text, what).await.map(last_row)
}

/// Sends a batch. If a proof fails, the batch divides by zero, and no transaction stays open.
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
