//! Options of the library and of a transaction.

pub use controller_client::Identity;
use std::time::Duration;

/// The options of the library.
///
/// ```
/// use client::Options;
/// use std::time::Duration;
///
/// let options = Options {
///     connections: 8,
///     max_staleness: Some(Duration::from_secs(60)),
///     ..Options::default()
/// };
/// # assert_eq!(options.connections, 8);
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    /// The maximum number of connections for each shard.
    pub connections: usize,
    /// The total time that one call of `with_shard` may spend on attempts and pauses.
    pub retry_for: Duration,
    /// The first pause between two attempts. Each later pause is about twice as long.
    pub first_pause: Duration,
    /// The longest pause between two attempts.
    pub longest_pause: Duration,
    /// How often the library reports the most used keys to the controller; `None`: never.
    pub report_load: Option<Duration>,
    /// The time after which lookups fail with [`crate::RouteError::Stale`] if no controller has answered; `None`:
    /// lookups use the cached map for an unlimited time. For writes that is safe because of the shard's guard. If the
    /// value is below half a second, it may be exceeded although a controller answers.
    pub max_staleness: Option<Duration>,
    /// The token for the controllers, and the trusted certificate authorities. By default they come from the
    /// environment.
    pub identity: Identity,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 16,
            retry_for: Duration::from_secs(60),
            first_pause: Duration::from_millis(5),
            longest_pause: Duration::from_millis(250),
            report_load: None,
            max_staleness: None,
            identity: Identity::from_environment(),
        }
    }
}

/// The isolation level of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Each statement sees what was committed before the statement.
    #[default]
    ReadCommitted,
    /// All statements see one snapshot.
    RepeatableRead,
    /// The result is the same as if the transactions ran one after the other.
    Serializable,
}

/// The options of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionOptions {
    /// The isolation level.
    pub isolation: Isolation,
    /// False: the commit is acknowledged before it is on disk, so a crash of the server may lose the transaction.
    pub synchronous_commit: bool,
}

impl Default for TransactionOptions {
    fn default() -> Self {
        Self {
            isolation: Isolation::default(),
            synchronous_commit: true,
        }
    }
}

impl TransactionOptions {
    /// Returns the statements that begin such a transaction, in one round trip.
    pub(crate) fn begin(self) -> String {
        let level = match self.isolation {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        };
        let commit = if self.synchronous_commit { "on" } else { "off" };
        format!("begin isolation level {level}; set local synchronous_commit = {commit}")
    }
}
