//! Access to PostgreSQL: catalogs, COPY, logical replication, pg_dump.
//!
//! No module in this folder knows an epoch, a register or a migration.

pub(crate) mod archive;
pub(crate) mod catalog;
pub(crate) mod copy_pipe;
pub(crate) mod copy_stream;
pub(crate) mod definitions;
pub(crate) mod lock_wait;
pub mod lsn;
pub(crate) mod pg_dump;
pub mod pgoutput;
pub(crate) mod redacted;
pub mod replication;
pub(crate) mod standby_names;
pub(crate) mod standbys;
pub(crate) mod statements;
pub(crate) mod types;
pub(crate) mod versions;
pub mod visibility;
pub(crate) mod wait_out;
