//! What the shards held before the workload began, in the columns that it never changes.

use connect::{ConnectError, Dsn, Session};
use plans::key_set::KeySet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The first rows of every table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The keys that are going to move.
    pub moving: KeySet,
    /// Tables by name.
    pub tables: BTreeMap<String, TableBase>,
}

/// Rows that were there before the workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TableBase {
    /// Their number.
    pub rows: i64,
    /// Sum of a 64-bit digest of each row's unchanging columns.
    pub digest: String,
}

/// Why there is no baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A query failed.
    #[error("could not digest table {table}")]
    Query {
        /// The table.
        table: String,
        /// The server's words.
        #[source]
        source: tokio_postgres::Error,
    },
}

/// First rows of each table: which they are, and what in them never changes.
const BASES: [(&str, &str, &str); 5] = [
    ("tenants", "true", "t"),
    ("accounts", "true", "(t.tenant_id, t.id, t.email)"),
    ("orders", "t.op is null", "t"),
    ("order_items", "t.op is null", "t"),
    (
        "events",
        "t.op is null",
        "(t.tenant_id, t.id, t.kind, t.payload, t.body)",
    ),
];

/// One query per table; `condition` (over alias `t`) limits the rows, by table and key column.
///
/// Columns: number of rows (bigint), digest (text).
pub fn base_digest_sql(
    condition: impl Fn(&str) -> String,
) -> impl Iterator<Item = (&'static str, String)> {
    BASES.into_iter().map(move |(table, first, constant)| {
        let sql = format!(
            "select count(*), coalesce(sum(hashtextextended({constant}::text, 0)), 0)::text \
             from public.{table} t where {first} and {}",
            condition(table)
        );
        (table, sql)
    })
}

impl Baseline {
    /// Reads the one shard that holds everything so far.
    ///
    /// # Errors
    /// [`BaselineError`], naming the table.
    pub async fn read(shard: &Dsn, moving: KeySet) -> Result<Self, BaselineError> {
        let session = connect::connect(shard, &Session::named("demo")).await?;
        let mut tables = BTreeMap::new();
        for (table, sql) in base_digest_sql(|_| "true".to_owned()) {
            let row =
                session
                    .query_one(&sql, &[])
                    .await
                    .map_err(|source| BaselineError::Query {
                        table: table.to_owned(),
                        source,
                    })?;
            let base = TableBase {
                rows: row.get(0),
                digest: row.get(1),
            };
            tables.insert(table.to_owned(), base);
        }
        session.close().await;
        Ok(Self { moving, tables })
    }
}
