//! The protocol on one shard: the owner of a migration (epoch), the right to write (register, guard), and the released
//! keys.
//!
//! Each transaction that changes a shard proves its epoch first (I7).

pub(crate) mod adopted_storage;
pub(crate) mod apply_progress;
pub(crate) mod conflicting_migrations;
pub(crate) mod created;
pub(crate) mod database;
pub(crate) mod ddl;
pub(crate) mod dual_write;
pub(crate) mod epoch;
pub(crate) mod give_way;
pub(crate) mod guard;
pub(crate) mod identity;
pub(crate) mod load;
pub(crate) mod long_writers;
pub(crate) mod marker;
pub(crate) mod marker_after_wait;
pub(crate) mod monitor_session;
pub(crate) mod parents;
pub(crate) mod partitions;
pub(crate) mod publication;
pub(crate) mod published_tables;
pub(crate) mod register;
pub(crate) mod released_keys;
pub(crate) mod released_keys_check;
pub(crate) mod seed;
pub(crate) mod sequences;
pub(crate) mod sidecar_schema;
pub(crate) mod snapshot;
pub(crate) mod standby_slot;
pub(crate) mod user_code;
