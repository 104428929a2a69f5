//! Digests reference tables, which should have the same rows on every shard.

use connect::Connected;
use plans::table::TableName;

use crate::error::{StepError, WithIntent};

/// The number of rows of a table, and a digest that does not depend on their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReferenceDigest {
    pub(super) count: i64,
    pub(super) digest: String,
}

/// Digests all rows of a table. Returns `None` if the table does not exist.
pub(super) async fn digest(
    client: &Connected,
    table: &TableName,
) -> Result<Option<ReferenceDigest>, StepError> {
    let shard = client.name();
    let action = format!("shard {shard}: digesting {table}");
    let row = client
        .query_one(
            "select pg_catalog.to_regclass($1) is not null",
            &[&table.sql()],
        )
        .await
        .at(&action)?;
    if !row.get::<_, bool>(0) {
        return Ok(None);
    }
    let row = client
        .query_one(
            &format!(
                "select count(*), pg_catalog.concat_ws('/', count(*),
                        coalesce(sum(pg_catalog.hashtextextended((t.*)::text, 1)), 0),
                        coalesce(sum(pg_catalog.hashtextextended((t.*)::text, 2)), 0))
                 from {} t",
                table.sql()
            ),
            &[],
        )
        .await
        .at(&action)?;
    Ok(Some(ReferenceDigest {
        count: row.get(0),
        digest: row.get(1),
    }))
}
