//! The shard map as an application sees it: which shard has a key, and a transaction on that shard.
//!
//! Order: [`Map::connect`] reads the map once, a task follows its changes, reads go to the cache.
//! [`Map::with_shard`] runs a whole transaction on the key's shard; the library owns begin and commit,
//! so it alone decides what may be run again: a refusal of the guard, a serialization failure, a connection
//! that was lost before the commit was sent. A commit with an unknown end is never repeated here.
//! Absent: writing the map, proxies, transactions over several shards.

mod access;
mod error;
mod feed;
mod map;
mod options;
mod pool;
mod retry;
mod sse;
mod stats;
mod transaction;

pub use access::ShardAccess;
pub use error::{BoxError, ClientError, RouteError};
pub use map::Map;
pub use options::{Isolation, Options, TransactionOptions};
pub use stats::Stats;
pub use transaction::Transaction;
