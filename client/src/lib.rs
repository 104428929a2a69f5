//! The shard map for applications: it finds the shard of a key, and runs a transaction on that shard.
//!
//! - [`Map::connect`] reads the map once. A task follows its changes, and lookups use the cache.
//! - [`Map::with_shard`] runs a whole transaction on the key's shard. The library begins and commits it, so it decides
//!   what can be repeated: a refusal by the guard, a serialization failure, a connection that was lost before the
//!   commit was sent. A commit with an unknown outcome is never repeated.
//! - A key is any value of the application that fits the map's key type ([`IntoKey`]). A value that is not mapped or is
//!   not a key of the map causes an error that contains it. No statement runs on any other shard.
//! - [`Map::on_all`] sends a query to all shards.
//! - With [`Options::max_staleness`], lookups fail if no controller has confirmed the map for that time. Without it,
//!   the cached map is used for an unlimited time.
//! - With [`Options::report_load`], the library reports the most used keys to the controller.
//!
//! The library does not write the map, is no proxy, and has no transactions over several shards.

mod access;
mod answer;
mod attempt;
mod controllers;
mod error;
mod fan_out;
mod feed;
mod into_key;
mod load;
mod map;
mod options;
mod pool;
mod retry;
mod routes;
mod sorted;
mod sse;
mod stats;
mod transaction;

pub use access::ShardAccess;
pub use connect::Dsn;
pub use error::{BoxError, ClientError, RouteError};
pub use fan_out::{FanOut, Part};
pub use into_key::IntoKey;
pub use map::Map;
pub use options::{Identity, Isolation, Options, TransactionOptions};
pub use plans::id::{MapName, MapVersion, ShardName};
pub use plans::key::{Key, KeyError};
pub use plans::key_set::KeySet;
pub use plans::shard_map::{MapError, ShardMap};
pub use routes::Routes;
pub use stats::Stats;
pub use transaction::Transaction;
