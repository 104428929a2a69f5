//! What Shardwright has left on the shards, found by the names of its objects.

use connect::{ConnectError, Dsn, Session};
use plans::id::ShardName;
use plans::names::{REPLICATION_PREFIX, SCHEMA, TRIGGER_PREFIX};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Objects on all shards together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Leftovers {
    /// Replication slots.
    pub slots: i64,
    /// Publications.
    pub publications: i64,
    /// Guard triggers.
    pub guards: i64,
    /// Schemas with more in them than the id of the database.
    pub schemas: i64,
    /// Sessions.
    pub backends: i64,
    /// What stays by design: a shard that gave keys away refuses them for good.
    pub standing: Standing,
}

/// What stays by design after a completed move.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Standing {
    /// Guard triggers "never again one of my keys".
    pub guards: i64,
    /// The schemas with their functions and registers.
    pub schemas: i64,
}

/// Why the objects could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum LeftoversError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The query failed.
    #[error("could not count what is left on shard {shard}")]
    Query {
        /// The shard.
        shard: ShardName,
        /// The server's words.
        #[source]
        source: tokio_postgres::Error,
    },
}

impl Leftovers {
    /// Objects that should not be there.
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

    /// Counts on every shard; guards and schemas of shards that gave keys away for good are standing.
    ///
    /// # Errors
    /// [`LeftoversError`], naming the shard.
    pub async fn count(
        shards: &[(ShardName, Dsn)],
        sources: &[ShardName],
    ) -> Result<Self, LeftoversError> {
        let mut sum = Self::default();
        for (shard, dsn) in shards {
            let found = on_shard(shard, dsn).await?;
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

async fn on_shard(shard: &ShardName, dsn: &Dsn) -> Result<Leftovers, LeftoversError> {
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
                "; standing by design: {} guards that refuse the given keys for good, in {} schema",
                self.standing.guards, self.standing.schemas
            )?;
        }
        f.write_str(".")
    }
}
