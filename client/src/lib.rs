//! The shard map as an application sees it: which shard has a key, and a transaction on that shard.
//!
//! Order: [`Map::connect`] reads the map once, a task follows its changes, reads go to the cache.
//! [`Map::with_shard`] runs a whole transaction on the key's shard; the library owns begin and commit,
//! so it alone decides what may be run again: a refusal of the guard, a serialization failure, a connection
//! that was lost before the commit was sent. A commit with an unknown end is never repeated here.
//! A key is any value of the application that fits the map's key type ([`IntoKey`]). One that is unmapped, or
//! no key of the map, is an error that names it; nothing is ever run on a shard that was not asked for.
//! [`Map::on_all`] asks all shards one question. With [`Options::max_staleness`] a map that no controller has confirmed
//! for that long is no answer any more; without it the cache answers for ever.
//! On request ([`Options::report_load`]) the controller is told which keys were used most.
//! Absent: writing the map, proxies, transactions over several shards.

mod access;
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
