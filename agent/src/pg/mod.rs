//! What the agent says to PostgreSQL, and how it reads the answers.

pub mod decode;
pub mod lsn;
pub mod replication;
