//! Tables that ALTER TABLE has rewritten while their rows are copied: an older snapshot does not see rows that were
//! rewritten, so the rest of such a table is copied with a later one.

use std::collections::BTreeMap;

use connect::Connected;
use plans::sql::quote_literal;

use super::FollowRequest;
use crate::error::{StepError, WithIntent};
use crate::shard::{epoch, snapshot};

/// A table with rows that are not copied yet, which the copy's snapshot does not see.
#[derive(Debug)]
pub(crate) struct RewrittenTable {
    /// The name, as the chunks have it.
    name: String,
    filenode: i64,
}

/// Returns the tables that have chunks which are not copied yet, and that were rewritten since the chunks were planned
/// or since the copy's snapshot.
///
/// # Errors
/// The errors of the servers.
pub(crate) async fn find(request: &FollowRequest<'_>) -> Result<Vec<RewrittenTable>, StepError> {
    // The present file nodes are read first: the copy's next snapshot is later than this, and sees all their rows.
    let present = file_nodes(request, "pg_catalog.pg_relation_filenode(c.oid)").await?;
    let planned = planned_file_nodes(request).await?;
    let id = request.token.migration.as_str();
    let mut visible = present.clone();
    if !planned.is_empty() && snapshot::begin_with_held(request.upstream, id).await? {
        let read = file_nodes(request, "c.relfilenode").await;
        epoch::rollback(request.upstream).await;
        visible = read?;
    }
    let rewritten = planned.into_iter().filter_map(|(name, planned)| {
        let filenode = *present.get(&name)?;
        let is_rewritten = planned != filenode || visible.get(&name) != Some(&filenode);
        is_rewritten.then_some(RewrittenTable { name, filenode })
    });
    Ok(rewritten.collect())
}

/// Returns the file node of each table, by the name of the table. `expression` reads it from a row `c` of `pg_class`,
/// which is the row that the transaction's snapshot sees.
async fn file_nodes(
    request: &FollowRequest<'_>,
    expression: &str,
) -> Result<BTreeMap<String, i64>, StepError> {
    let tables = request.tables.iter();
    let (names, quoted): (Vec<String>, Vec<String>) = tables
        .map(|table| (table.table.to_string(), table.table.sql()))
        .unzip();
    let sql = format!(
        "select given.name, {expression}::int8
         from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) given (name, quoted)
         join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(given.quoted)"
    );
    let rows = request.upstream.query(&sql, &[&names, &quoted]).await;
    let rows = rows.at(format_args!(
        "shard {}: reading the tables' file nodes",
        request.upstream.name()
    ))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Returns the file node for which the remaining chunks of each table were planned.
async fn planned_file_nodes(
    request: &FollowRequest<'_>,
) -> Result<BTreeMap<String, i64>, StepError> {
    let rows = request
        .downstream
        .query(
            "select relation, min(filenode::int8) from shardwright.chunk
             where migration = $1 and not done group by relation",
            &[&request.token.migration.0],
        )
        .await;
    let rows = rows.at(format_args!(
        "shard {}: reading chunks",
        request.downstream.name()
    ))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Records the file nodes of rewritten tables for the chunks that are not copied yet.
///
/// Between [`find`] and this call the caller must have ended the snapshot with which these chunks were to be copied.
///
/// # Errors
/// The errors of the servers.
pub(crate) async fn adopt(
    request: &FollowRequest<'_>,
    rewritten: &[RewrittenTable],
) -> Result<(), StepError> {
    let downstream: &Connected = request.downstream;
    let migration = quote_literal(request.token.migration.as_str());
    let updates = rewritten.iter().map(|table| {
        format!(
            "update shardwright.chunk set filenode = {}
             where migration = {migration} and relation = {} and not done",
            table.filenode,
            quote_literal(&table.name)
        )
    });
    let sql = updates.collect::<Vec<_>>().join("; ");
    let adopted = epoch::execute(downstream, request.token, &sql).await;
    adopted.at(format_args!(
        "shard {}: recording which tables were rewritten",
        downstream.name()
    ))
}
