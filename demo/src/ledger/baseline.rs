//! The baseline: the rows on the shards before the workload, in the columns that the workload never changes.

use crate::shop::{self, KeyShape, ShopError};
use connect::Dsn;
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::Mapping;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The initial rows of every table, and their owners.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The columns of the shard key.
    pub shape: KeyShape,
    /// The keys that are going to move, as far as that is known.
    pub moving: KeySet,
    /// The initial owners.
    pub owners: Vec<Mapping>,
    /// The tables by name.
    pub tables: BTreeMap<String, TableBase>,
}

/// The rows of a table before the workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TableBase {
    /// The number of rows.
    pub rows: i64,
    /// The sum of a 64-bit digest of each row's unchanging columns.
    pub digest: String,
}

/// Why no baseline could be read.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// A shard could not be opened.
    #[error(transparent)]
    Open(#[from] ShopError),
    /// A query failed.
    #[error("could not digest table {table} on shard {shard}")]
    Query {
        /// The shard.
        shard: ShardName,
        /// The table.
        table: String,
        /// The error of the server.
        #[source]
        source: tokio_postgres::Error,
    },
}

/// For each table: the condition for its initial rows, and their unchanging columns.
const BASES: [(&str, &str, &str); 6] = [
    ("tenants", "true", "t"),
    ("accounts", "true", "({key_name}, t.id, t.email)"),
    ("orders", "t.op is null", "t"),
    ("order_items", "t.op is null", "t"),
    (
        "events",
        "t.op is null",
        "({key_name}, t.id, t.kind, t.payload, t.body)",
    ),
    ("bank", "true", "({key_name}, t.id)"),
];

/// Returns one query for each table. `condition` (with the alias `t`) limits the rows, by table and key column.
///
/// The result columns are: number of rows (bigint), digest (text).
pub fn base_digest_sql(
    shape: KeyShape,
    condition: impl Fn(&str) -> String,
) -> impl Iterator<Item = (&'static str, String)> {
    BASES.into_iter().map(move |(table, first, constant)| {
        let constant = shape.fill(constant);
        let sql = format!(
            "select count(*), coalesce(sum(hashtextextended({constant}::text, 0)), 0)::text \
             from {table} t where {first} and {}",
            condition(table)
        );
        (table, sql)
    })
}

impl Baseline {
    /// Reads the shards that own keys, which together have all rows.
    ///
    /// # Errors
    /// [`BaselineError`] names the shard and the table.
    pub async fn read(
        shards: &[(ShardName, Dsn)],
        shape: KeyShape,
        owners: Vec<Mapping>,
        moving: KeySet,
    ) -> Result<Self, BaselineError> {
        let mut sums: BTreeMap<String, (i64, i128)> = BTreeMap::new();
        for (shard, dsn) in shards {
            if !owners.iter().any(|mapping| &mapping.shard == shard) {
                continue;
            }
            let session = shop::open_reader(dsn, "demo", shape).await?;
            for (table, sql) in base_digest_sql(shape, |_| "true".to_owned()) {
                let failed = |source| BaselineError::Query {
                    shard: shard.clone(),
                    table: table.to_owned(),
                    source,
                };
                let row = session.query_one(&sql, &[]).await.map_err(failed)?;
                let digest: String = row.get(1);
                let sum = sums.entry(table.to_owned()).or_default();
                sum.0 += row.get::<_, i64>(0);
                sum.1 += digest.parse::<i128>().unwrap_or_default();
            }
            session.close().await;
        }
        let base = |(table, (rows, digest)): (String, (i64, i128))| {
            let digest = digest.to_string();
            (table, TableBase { rows, digest })
        };
        Ok(Self {
            shape,
            moving,
            owners,
            tables: sums.into_iter().map(base).collect(),
        })
    }
}
