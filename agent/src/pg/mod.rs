//! What the agent says to PostgreSQL, and how it reads the answers.

pub(crate) mod apply;
pub(crate) mod away;
pub(crate) mod away_check;
pub(crate) mod catalog;
pub(crate) mod compare;
pub(crate) mod copy_stream;
pub(crate) mod ddl;
pub(crate) mod ddl_guard;
pub mod decode;
pub(crate) mod epoch;
pub(crate) mod guard;
pub(crate) mod home;
pub(crate) mod long_writers;
pub mod lsn;
pub(crate) mod marker;
pub(crate) mod masked;
pub(crate) mod progress;
pub(crate) mod register;
pub mod replication;
pub(crate) mod schema;
pub(crate) mod sequences;
pub(crate) mod shard;
pub(crate) mod snapshot;
pub(crate) mod standbys;
pub(crate) mod visibility;
pub(crate) mod wait_out;
