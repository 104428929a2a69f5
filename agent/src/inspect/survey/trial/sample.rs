//! Chooses the rows that a trial copies, and copies them.
//!
//! The agent reads one percent of a table's pages, with a minimum: some random pages and the last ones, which contain
//! the newest rows. Of the moving rows in these pages, it takes the first ones, and for each column a row with the
//! least and the greatest value or with the widest value, a row with a NULL, and a row with each value of an enum.

use bytes::Bytes;
use connect::Connected;
use futures::{SinkExt, StreamExt, pin_mut};
use plans::sql::quote_ident;
use plans::table::MovingTable;
use tokio_postgres::{Error, Row};

use crate::error::{StepError, WithIntent};
use crate::postgres::copy_stream;

/// The number of rows that are taken first, regardless of their values.
pub(super) const FIRST_ROWS: i64 = 200;
/// The maximum number of rows that are read from the random pages.
const CANDIDATE_ROWS: i64 = 2_000;
/// The minimum number of pages that are read.
const MIN_PAGES: i64 = 16;
/// The number of pages at the end of the table that are read.
const LAST_PAGES: i64 = 4;
/// The number of columns that are considered, because a statement can return only a limited number of results.
const MAX_COLUMNS: usize = 500;
/// The largest value that is taken because it is the widest, in bytes.
const MAX_VALUE_BYTES: i64 = 1 << 20;
/// The maximum size of a sample, in bytes.
const MAX_SAMPLE_BYTES: usize = 64 << 20;

/// The types whose least and greatest values are taken, as `format_type` prints them without a modifier.
const ORDERED_TYPES: [&str; 10] = [
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "real",
    "double precision",
    "date",
    "timestamp",
    "time",
    "interval",
];

fn is_ordered(data_type: &str) -> bool {
    let mut names = ORDERED_TYPES.iter();
    let is = |rest: &str| rest.is_empty() || rest.starts_with(['(', ' ']);
    let has_name = names.any(|name| data_type.strip_prefix(name).is_some_and(is));
    has_name && !data_type.ends_with("[]")
}

/// The number of pages of each table, and its columns of an enum type.
const SIZES_SQL: &str = "select pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::pg_catalog.int8,
    array(select a.attname::pg_catalog.text from pg_catalog.pg_attribute a join pg_catalog.pg_type y on y.oid = a.atttypid
          where a.attrelid = c.oid and y.typtype = 'e')
    from pg_catalog.unnest($1::pg_catalog.text[]) with ordinality given (name, place)
    cross join lateral (select pg_catalog.to_regclass(given.name)::pg_catalog.oid as oid) c order by given.place";

/// The size of a table and its enum columns, which determine the sample.
pub(super) struct TableSize {
    pub(super) pages: i64,
    enums: Vec<String>,
}

/// Returns the sizes of the tables, in the order of the tables.
pub(super) async fn sizes(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<TableSize>, StepError> {
    let shard = client.name();
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    let rows = client.query(SIZES_SQL, &[&names]).await;
    let rows = rows.at(format_args!("shard {shard}: reading the sizes of tables"))?;
    let size = |row: &Row| TableSize {
        pages: row.get::<_, Option<i64>>(0).unwrap_or_default(),
        enums: row.get(1),
    };
    Ok(rows.iter().map(size).collect())
}

/// The sample of one table.
#[derive(Default)]
pub(super) struct RowSample {
    /// The row ids (`ctid`) on the source.
    pub(super) row_ids: Vec<String>,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

impl RowSample {
    /// Returns the SQL condition that selects the sample from the source's table `t`.
    pub(super) fn condition(&self) -> String {
        row_id_condition(&self.row_ids)
    }
}

fn row_id_condition(row_ids: &[String]) -> String {
    format!(
        "t.ctid = any ('{{\"{}\"}}'::pg_catalog.tid[])",
        row_ids.join("\",\"")
    )
}

/// Returns the row ids of the sample on the source. Empty if no moving row was found.
pub(super) async fn row_ids(
    client: &Connected,
    table: &MovingTable,
    size: &TableSize,
    predicate: &str,
) -> Result<Vec<String>, StepError> {
    let shard = client.name();
    let action = format!("shard {shard}: taking a sample of {}", table.table);
    let name = table.table.sql();
    let sql = row_ids_sql(table, predicate, size);
    let rows = client.query(&sql, &[]).await.at(&action)?;
    let ids: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if !ids.is_empty() {
        return Ok(ids);
    }
    row_ids_by_index(client, &name, predicate, &action).await
}

/// Returns the query for the rows of the chosen pages: random pages, the same ones each time, and the last pages.
fn pages_sql(name: &str, columns: &[String], predicate: &str, pages: i64) -> String {
    let page_count = (pages / 100).max(MIN_PAGES);
    let percent = (page_count as f64 * 100.0 / pages.max(1) as f64).min(100.0);
    let newest = (pages - LAST_PAGES).max(0);
    let columns = columns.join(", ");
    let part = |of: &str, rows: i64| {
        format!(
            "(select t.ctid as shardwright_ctid, {columns} from only {name} t {of} and {predicate} limit {rows})"
        )
    };
    format!(
        "{} union all {}",
        part(
            &format!("tablesample system ({percent}) repeatable (1) where true"),
            CANDIDATE_ROWS
        ),
        part(
            &format!("where t.ctid >= '({newest},0)'::pg_catalog.tid"),
            CANDIDATE_ROWS / 4
        )
    )
}

/// Returns the query for the row ids of the sample.
fn row_ids_sql(table: &MovingTable, predicate: &str, size: &TableSize) -> String {
    let mut columns: Vec<String> = Vec::new();
    let (mut ends, mut picked) = (Vec::new(), Vec::new());
    let mut each = Vec::new();
    for (index, column) in table.written_columns().enumerate().take(MAX_COLUMNS) {
        let alias = format!("c{index}");
        columns.push(format!("t.{} as {alias}", quote_ident(&column.name)));
        if is_ordered(&column.data_type) {
            for (end, of) in [("least", "min"), ("most", "max")] {
                ends.push(format!("pg_catalog.{of}(s.{alias}) as {end}_{index}"));
                picked.push(format!(
                    "pg_catalog.min(s.shardwright_ctid) filter (where s.{alias} = e.{end}_{index})"
                ));
            }
        } else {
            let width = format!("pg_catalog.pg_column_size(s.{alias})");
            ends.push(format!(
                "pg_catalog.max({width}) filter (where {width} <= {MAX_VALUE_BYTES}) as most_{index}"
            ));
            picked.push(format!(
                "pg_catalog.min(s.shardwright_ctid) filter (where {width} = e.most_{index})"
            ));
        }
        picked.push(format!(
            "pg_catalog.min(s.shardwright_ctid) filter (where s.{alias} is null)"
        ));
        if size.enums.contains(&column.name) {
            each.push(format!(
                "union select pg_catalog.min(s.shardwright_ctid) from s group by s.{alias}"
            ));
        }
    }
    if columns.is_empty() {
        columns.push("1 as c0".to_owned());
        ends.push("1 as none".to_owned());
    }
    let rows = pages_sql(&table.table.sql(), &columns, predicate, size.pages);
    format!(
        "with s as materialized ({rows}),
              e as materialized (select {ends} from s)
         select distinct p::pg_catalog.text from (
           (select shardwright_ctid as p from s limit {FIRST_ROWS})
           union (select pg_catalog.unnest(array[{picked}]::pg_catalog.tid[]) from s cross join e)
           {each}) places where p is not null",
        ends = ends.join(", "),
        picked = picked.join(", "),
        each = each.join(" "),
    )
}

/// Returns the row ids of the first moving rows, if an index finds them.
async fn row_ids_by_index(
    client: &Connected,
    name: &str,
    predicate: &str,
    action: &str,
) -> Result<Vec<String>, StepError> {
    let sql = format!(
        "select t.ctid::pg_catalog.text from only {name} t where {predicate} limit {FIRST_ROWS}"
    );
    let plan = client
        .query_one(&format!("explain (format json) {sql}"), &[])
        .await
        .at(action)?;
    let plan: serde_json::Value = plan.get(0);
    if plan.to_string().contains("\"Seq Scan\"") {
        return Ok(Vec::new());
    }
    let rows = client.query(&sql, &[]).await.at(action)?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Reads rows with the statement of the copy. Returns nothing if they are too large for a trial.
pub(super) async fn read(
    client: &Connected,
    table: &MovingTable,
    row_ids: &[String],
) -> Result<Vec<Bytes>, Error> {
    let mut pieces = Vec::new();
    if row_ids.is_empty() {
        return Ok(pieces);
    }
    let rows = client
        .copy_out(&copy_stream::out_of(table, &row_id_condition(row_ids)))
        .await?;
    pin_mut!(rows);
    let mut bytes = 0;
    while let Some(piece) = rows.next().await {
        let piece = piece?;
        bytes += piece.len();
        if bytes > MAX_SAMPLE_BYTES {
            return Ok(Vec::new());
        }
        pieces.push(piece);
    }
    Ok(pieces)
}

/// Writes rows with the statement of the copy, and returns their number.
pub(super) async fn write(
    client: &Connected,
    table: &MovingTable,
    pieces: Vec<Bytes>,
) -> Result<u64, Error> {
    if pieces.is_empty() {
        return Ok(0);
    }
    let rows = client
        .copy_in::<_, Bytes>(&copy_stream::into(table))
        .await?;
    pin_mut!(rows);
    for piece in pieces {
        rows.feed(piece).await?;
    }
    rows.finish().await
}
