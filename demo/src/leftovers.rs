//! Counts objects of Shardwright that remain on the shards, by their names.

use connect::{ConnectError, Dsn, Session};
use plans::id::ShardName;
use plans::names::{REPLICATION_PREFIX, SCHEMA, TRIGGER_PREFIX};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The objects on all shards together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Leftovers {
    /// The number of replication slots.
    pub slots: i64,
    /// The number of publications.
    pub publications: i64,
    /// The number of guard triggers.
    pub guards: i64,
    /// The number of schemas that contain more than the id of the database.
    pub schemas: i64,
    /// The number of sessions.
    pub backends: i64,
    /// Objects that remain intentionally: a shard permanently refuses writes to keys that it has released.
    pub standing: Standing,
}

/// Objects that remain intentionally after a completed move.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Standing {
    /// The number of guard triggers for released keys.
    pub guards: i64,
    /// The number of schemas with their functions and registers.
    pub schemas: i64,
}

/// Why the objects could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum LeftoversError {
    /// A shard could not be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The query failed.
    #[error("could not count the objects that remain on shard {shard}")]
    Query {
        /// The shard.
        shard: ShardName,
        /// The error of the server.
        #[source]
        source: tokio_postgres::Error,
    },
}

impl Leftovers {
    /// Returns the number of objects that should not remain.
    #[must_use]
    pub fn total(&self) -> u64 {
        let all = [
            self.slots,
            self.publications,
            self.guards,
            self.schemas,
            self.backends,
        ];
        all.iter().map(|count| count.unsigned_abs()).sum()
    }

    /// Counts the objects on every shard. Guards and schemas of shards that have released keys count as intentional.
    ///
    /// # Errors
    /// [`LeftoversError`] names the shard.
    pub async fn count(
        shards: &[(ShardName, Dsn)],
        sources: &[ShardName],
    ) -> Result<Self, LeftoversError> {
        let mut sum = Self::default();
        for (shard, dsn) in shards {
            let found = count_on_shard(shard, dsn).await?;
            sum.slots += found.slots;
            sum.publications += found.publications;
            sum.backends += found.backends;
            if sources.contains(shard) {
                sum.standing.guards += found.guards;
                sum.standing.schemas += found.schemas;
            } else {
                sum.guards += found.guards;
                sum.schemas += found.schemas;
            }
        }
        Ok(sum)
    }
}

async fn count_on_shard(shard: &ShardName, dsn: &Dsn) -> Result<Leftovers, LeftoversError> {
    let session = connect::connect(dsn, &Session::named("demo")).await?;
    let sql = "select \
        (select count(*) from pg_catalog.pg_replication_slots where starts_with(slot_name, $1)), \
        (select count(*) from pg_catalog.pg_publication where starts_with(pubname, $1)), \
        (select count(*) from pg_catalog.pg_trigger \
            where not tgisinternal and starts_with(tgname, $2)), \
        (select count(*) from pg_catalog.pg_namespace where nspname = $3 \
            and pg_catalog.to_regclass('shardwright.move') is not null), \
        (select count(*) from pg_catalog.pg_stat_activity \
            where datname = current_database() and starts_with(application_name, $4))";
    let sessions = format!("{SCHEMA}/");
    let row = session
        .query_one(
            sql,
            &[&REPLICATION_PREFIX, &TRIGGER_PREFIX, &SCHEMA, &sessions],
        )
        .await
        .map_err(|source| LeftoversError::Query {
            shard: shard.clone(),
            source,
        })?;
    session.close().await;
    Ok(Leftovers {
        slots: row.get(0),
        publications: row.get(1),
        guards: row.get(2),
        schemas: row.get(3),
        backends: row.get(4),
        standing: Standing::default(),
    })
}

impl fmt::Display for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} slots, {} publications, {} guards, {} schemas, {} sessions",
            self.slots, self.publications, self.guards, self.schemas, self.backends
        )?;
        if self.standing != Standing::default() {
            write!(
                f,
                "; intentional: {} guards that permanently refuse the released keys, in {} schemas",
                self.standing.guards, self.standing.schemas
            )?;
        }
        f.write_str(".")
    }
}
