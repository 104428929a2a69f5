//! Settings of the library and of one transaction.

pub use controller_client::Identity;
use std::time::Duration;

/// Settings of the library.
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
    /// Connections per shard.
    pub connections: usize,
    /// Total time that one call of `with_shard` may spend on attempts and pauses.
    pub retry_for: Duration,
    /// First pause between two attempts; each further one is about twice as long.
    pub first_pause: Duration,
    /// Longest pause between two attempts.
    pub longest_pause: Duration,
    /// Tells the controller this often which keys were used most, as far as it wants to know; none: never.
    pub report_load: Option<Duration>,
    /// Lookups fail with [`crate::RouteError::Stale`] once no controller has said anything for longer than this; none:
    /// they go on for ever with the map that is known, which a shard's guard makes safe for writes. Below half a second it
    /// may be exceeded while a controller is there.
    pub max_staleness: Option<Duration>,
    /// The token for the controllers and whom to trust about them; by default as the environment says.
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

/// Isolation level of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    #[default]
    ReadCommitted,
    /// All statements see one snapshot.
    RepeatableRead,
    /// As if transactions ran one after the other.
    Serializable,
}

/// How one transaction runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionOptions {
    /// Isolation level.
    pub isolation: Isolation,
    /// False: the acknowledgement does not wait for the disk, a crash of the server may lose the transaction.
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
    /// The statements that begin such a transaction, in one round trip.
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
