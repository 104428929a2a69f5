//! Writes rows of the copy again: all that differ go first, so that rows which have swapped a unique
//! value do not meet, then those that the owner has come back.
//!
//! Values travel as the text of each column, one by one; generated columns are computed by the copy.

use connect::Connected;
use futures::future::try_join_all;
use plans::sql::quote_ident;

use super::{GIVEN, MovingRows, canonical, parse_key};
use crate::error::{StepError, WithIntent};

/// Rows that are on their way at once.
const AT_ONCE: usize = 200;

/// A row's values in the order of the table's written columns.
pub(crate) type RepairValues = Vec<Option<String>>;

/// The owner's rows with these keys, each with the key that it has itself.
///
/// A key that another text can name (numeric 1.0 and 1.00) is read once for each.
pub(crate) async fn values(
    side: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<Vec<(String, RepairValues)>, StepError> {
    // A composite of nothing but NULLs "is null" and is not NULL.
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
    let rows = side
        .query(
            &format!(
                "{GIVEN} select {key}, array[{columns}]::pg_catalog.text[] from given {join}",
                key = moving.key_array(),
                columns = columns.join(", "),
                join = moving.join_given(),
            ),
            &[&keys],
        )
        .await
        .at(format_args!(
            "shard {}: reading rows of {} to repair",
            side.name(),
            moving.table.table
        ))?;
    let row = |row: &tokio_postgres::Row| (canonical(&parse_key(row.get(0))), row.get(1));
    Ok(rows.iter().map(row).collect())
}

/// Deletes the copy's rows with these keys, inside the caller's transaction; how many there were.
pub(crate) async fn delete_rows(
    side: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<u64, StepError> {
    side.execute(
        &format!(
            "{GIVEN} delete from only {name} gone using (
                   select t.ctid as shardwright_ctid from given {join}) found
                 where gone.ctid = found.shardwright_ctid",
            name = moving.name(),
            join = moving.join_given(),
        ),
        &[&keys],
    )
    .await
    .at(format_args!(
        "shard {}: repairing {}",
        side.name(),
        moving.table.table
    ))
}

/// Inserts rows of the owner, inside the caller's transaction.
pub(crate) async fn insert_rows(
    side: &Connected,
    moving: &MovingRows<'_>,
    rows: &[RepairValues],
) -> Result<(), StepError> {
    let what = format!("shard {}: repairing {}", side.name(), moving.table.table);
    let (names, values): (Vec<String>, Vec<String>) = moving
        .table
        .written_columns()
        .enumerate()
        .map(|(at, column)| {
            (
                quote_ident(&column.name),
                format!(
                    "(($1::pg_catalog.text[])[{}])::{}",
                    at + 1,
                    column.data_type
                ),
            )
        })
        .unzip();
    let insert = side
        .prepare(&format!(
            "insert into {name} ({names}) overriding system value values ({values})",
            name = moving.name(),
            names = names.join(", "),
            values = values.join(", "),
        ))
        .await
        .at(&what)?;
    for some in rows.chunks(AT_ONCE) {
        let inserted = some.iter().map(|row| {
            let insert = &insert;
            async move { side.execute(insert, &[row]).await }
        });
        try_join_all(inserted).await.at(&what)?;
    }
    Ok(())
}
