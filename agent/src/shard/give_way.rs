//! Lets the agent give way when it and the application lock the same tables.
//!
//! A session that waits for a lock searches for a deadlock once, after `deadlock_timeout`, and PostgreSQL cancels the
//! statement of the session that finds one. This must never be a statement of the application. So a transaction of the
//! agent that locks several tables takes all locks in one statement, which ends after [`WAIT_LIMIT`]. A session of the
//! application that waits for one of these locks has then not searched yet. After it the transaction either holds all
//! locks and waits for none, or it releases what it has, and the agent begins again after a pause.
//!
//! A transaction that waits for its first lock needs none of this: no other session can wait for it.

use std::time::Duration;

use connect::Connected;
use tokio_postgres::error::SqlState;

/// Limits the next statements of the transaction. It is less than half of the default of `deadlock_timeout`, 1 s.
pub(crate) const WAIT_LIMIT: &str = "set local statement_timeout = '400ms'";
/// Ends [`WAIT_LIMIT`].
pub(crate) const NO_WAIT_LIMIT: &str = "set local statement_timeout = 0";

/// How often the locks are requested.
const TRIES: u32 = 40;
/// The first pause between two requests, in which sessions that queue for the same locks proceed; each pause is twice
/// the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Begins a transaction that holds the locks of the statement `lock`.
///
/// # Errors
/// An error of the server; that of the lock if other sessions hold conflicting locks for too long.
pub(crate) async fn begin_locked(
    client: &Connected,
    lock: &str,
) -> Result<(), tokio_postgres::Error> {
    let sql = format!("begin; {WAIT_LIMIT}; {lock}; {NO_WAIT_LIMIT}");
    let mut pauses = Pauses::default();
    loop {
        let Err(error) = client.batch_execute(&sql).await else {
            return Ok(());
        };
        // An error ends the session or the transaction, so the result tells nothing.
        let _ = client.batch_execute("rollback").await;
        if !pauses.allow_retry(error.code().map(SqlState::code)).await {
            return Err(error);
        }
    }
}

/// Returns whether a statement with this SQLSTATE failed because it waited for a lock.
fn is_conflict(state: Option<&str>) -> bool {
    let conflicts = [
        SqlState::QUERY_CANCELED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    state.is_some_and(|state| conflicts.iter().any(|conflict| conflict.code() == state))
}

/// The pauses between requests of locks. The requests continue for about a minute.
#[derive(Default)]
pub(crate) struct Pauses {
    done: u32,
}

impl Pauses {
    /// Returns whether a transaction that failed with this SQLSTATE is to be repeated: it failed because of the locks of
    /// other sessions, and not too often. Waits for the next pause before. The transaction must have ended.
    pub(crate) async fn allow_retry(&mut self, state: Option<&str>) -> bool {
        self.done += 1;
        if self.done >= TRIES || !is_conflict(state) {
            return false;
        }
        let factor = 2_u32.saturating_pow(self.done - 1);
        tokio::time::sleep(FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)).await;
        true
    }
}
