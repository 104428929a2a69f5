//! Repairs rows of the downstream shard. First the agent deletes all differing rows, so that rows that have swapped a
//! unique value do not conflict. Then it inserts the rows of the upstream shard.
//!
//! Values are sent as the text of each column; the downstream shard computes generated columns.

use connect::Connected;
use futures::future::try_join_all;
use plans::sql::quote_ident;

use super::{MovingRows, PARAMETER_KEYS, canonical_key, parse_key};
use crate::error::{StepError, WithIntent};

/// The number of inserts that one session pipelines.
const INSERTS_AT_ONCE: usize = 200;

/// A row's values in the order of the table's written columns.
pub(crate) type RepairValues = Vec<Option<String>>;

/// Reads the rows with these keys on the upstream shard. Returns each row with its key.
///
/// If several given keys are equal as values (numeric 1.0 and 1.00), the row is returned once for each of them.
pub(crate) async fn read_rows(
    session: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<Vec<(String, RepairValues)>, StepError> {
    // A composite value of only NULLs "is null" but is not NULL.
    let columns: Vec<String> = moving
        .table
        .written_columns()
        .map(|column| {
            let name = quote_ident(&column.name);
            format!(
                "case when pg_catalog.num_nonnulls(t.{name}) = 1 then pg_catalog.format('%s', t.{name}) end"
            )
        })
        .collect();
    let rows = session
        .query(
            &format!(
                "{PARAMETER_KEYS} select {key}, array[{columns}]::pg_catalog.text[] from given {join}",
                key = moving.key_array(),
                columns = columns.join(", "),
                join = moving.join_parameter_keys(),
            ),
            &[&keys],
        )
        .await
        .at(format_args!(
            "shard {}: reading rows of {} to repair",
            session.name(),
            moving.table.table
        ))?;
    let row = |row: &tokio_postgres::Row| (canonical_key(&parse_key(row.get(0))), row.get(1));
    Ok(rows.iter().map(row).collect())
}

/// Deletes the rows with these keys on the downstream shard, inside the caller's transaction; returns their number.
pub(crate) async fn delete_rows(
    session: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<u64, StepError> {
    session
        .execute(
            &format!(
                "{PARAMETER_KEYS} delete from only {name} gone using (
                   select t.ctid as shardwright_ctid from given {join}) found
                 where gone.ctid = found.shardwright_ctid",
                name = moving.name(),
                join = moving.join_parameter_keys(),
            ),
            &[&keys],
        )
        .await
        .at(format_args!(
            "shard {}: repairing {}",
            session.name(),
            moving.table.table
        ))
}

/// Inserts rows of the upstream shard, inside the caller's transaction.
pub(crate) async fn insert_rows(
    session: &Connected,
    moving: &MovingRows<'_>,
    rows: &[RepairValues],
) -> Result<(), StepError> {
    let what = format!("shard {}: repairing {}", session.name(), moving.table.table);
    let (names, values): (Vec<String>, Vec<String>) = moving
        .table
        .written_columns()
        .enumerate()
        .map(|(index, column)| {
            (
                quote_ident(&column.name),
                format!(
                    "(($1::pg_catalog.text[])[{}])::{}",
                    index + 1,
                    column.data_type
                ),
            )
        })
        .unzip();
    let insert = session
        .prepare(&format!(
            "insert into {name} ({names}) overriding system value values ({values})",
            name = moving.name(),
            names = names.join(", "),
            values = values.join(", "),
        ))
        .await
        .at(&what)?;
    for batch in rows.chunks(INSERTS_AT_ONCE) {
        let inserts = batch.iter().map(|row| {
            let insert = &insert;
            async move { session.execute(insert, &[row]).await }
        });
        try_join_all(inserts).await.at(&what)?;
    }
    Ok(())
}
