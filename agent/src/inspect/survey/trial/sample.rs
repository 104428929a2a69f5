//! Which rows a trial copies, and their copy.
//!
//! A hundredth of a table's pages is read, at least a few: some at random, and the last ones, where new rows are. Of the
//! rows there that move the first are taken, and of each column the least and the greatest value or the widest, a NULL,
//! and each value of an enum.

use bytes::Bytes;
use connect::Connected;
use futures::{SinkExt, StreamExt, pin_mut};
use plans::sql::quote_ident;
use plans::table::MovingTable;
use tokio_postgres::{Error, Row};

use crate::error::{StepError, WithIntent};
use crate::postgres::copy_stream;

/// Rows of a table that are taken whatever they hold.
pub(super) const FIRST: i64 = 200;
/// Rows of the pages that are looked at.
const SEEN: i64 = 2_000;
/// Pages that are read of a table that has more than a hundred times as many.
const PAGES: i64 = 16;
/// The last pages.
const NEWEST: i64 = 4;
/// Columns that are looked at; a statement has room for so many results.
const COLUMNS: usize = 500;
/// A value is taken for its width up to so many bytes.
const WIDEST: i64 = 1 << 20;
/// Bytes that a sample may have on its way.
const LARGEST: usize = 64 << 20;

/// Types whose least and greatest values are taken, as `format_type` prints them before a modifier.
const ORDERED: [&str; 10] = [
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
    let mut names = ORDERED.iter();
    let is = |rest: &str| rest.is_empty() || rest.starts_with(['(', ' ']);
    let named = names.any(|name| data_type.strip_prefix(name).is_some_and(is));
    named && !data_type.ends_with("[]")
}

/// Pages of each table, and its columns of an enum.
const SIZED: &str = "select pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::pg_catalog.int8,
    array(select a.attname::pg_catalog.text from pg_catalog.pg_attribute a join pg_catalog.pg_type y on y.oid = a.atttypid
          where a.attrelid = c.oid and y.typtype = 'e')
    from pg_catalog.unnest($1::pg_catalog.text[]) with ordinality given (name, place)
    cross join lateral (select pg_catalog.to_regclass(given.name)::pg_catalog.oid as oid) c order by given.place";

/// How large a table is, as far as its sample depends on it.
pub(super) struct TableSize {
    pub(super) pages: i64,
    enums: Vec<String>,
}

/// The sizes of tables, in their order.
pub(super) async fn sizes(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<TableSize>, StepError> {
    let shard = client.name();
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    let rows = client.query(SIZED, &[&names]).await;
    let rows = rows.at(format_args!("shard {shard}: reading the sizes of tables"))?;
    let size = |row: &Row| TableSize {
        pages: row.get::<_, Option<i64>>(0).unwrap_or_default(),
        enums: row.get(1),
    };
    Ok(rows.iter().map(size).collect())
}

/// Rows of one table.
#[derive(Default)]
pub(super) struct RowSample {
    /// Where they are on the source.
    pub(super) places: Vec<String>,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

impl RowSample {
    /// The condition on a row called `t` of the source.
    pub(super) fn condition(&self) -> String {
        among(&self.places)
    }
}

fn among(places: &[String]) -> String {
    format!(
        "t.ctid = any ('{{\"{}\"}}'::pg_catalog.tid[])",
        places.join("\",\"")
    )
}

/// Where the rows of the sample are on the source; none where none was seen that moves.
pub(super) async fn places(
    client: &Connected,
    table: &MovingTable,
    size: &TableSize,
    predicate: &str,
) -> Result<Vec<String>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: taking a sample of {}", table.table);
    let name = table.table.sql();
    let sql = places_sql(table, predicate, size);
    let rows = client.query(&sql, &[]).await.at(&what)?;
    let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    by_index(client, &name, predicate, &what).await
}

/// The rows of the pages that are read: some at random, the same ones each time, and the last.
fn pages_sql(name: &str, columns: &[String], predicate: &str, pages: i64) -> String {
    let some = (pages / 100).max(PAGES);
    let percent = (some as f64 * 100.0 / pages.max(1) as f64).min(100.0);
    let newest = (pages - NEWEST).max(0);
    let columns = columns.join(", ");
    let half = |of: &str, rows: i64| {
        format!(
            "(select t.ctid as shardwright_ctid, {columns} from only {name} t {of} and {predicate} limit {rows})"
        )
    };
    format!(
        "{} union all {}",
        half(
            &format!("tablesample system ({percent}) repeatable (1) where true"),
            SEEN
        ),
        half(
            &format!("where t.ctid >= '({newest},0)'::pg_catalog.tid"),
            SEEN / 4
        )
    )
}

/// The query for the places.
fn places_sql(table: &MovingTable, predicate: &str, size: &TableSize) -> String {
    let mut columns: Vec<String> = Vec::new();
    let (mut ends, mut picked) = (Vec::new(), Vec::new());
    let mut each = Vec::new();
    for (at, column) in table.written_columns().enumerate().take(COLUMNS) {
        let own = format!("c{at}");
        columns.push(format!("t.{} as {own}", quote_ident(&column.name)));
        if is_ordered(&column.data_type) {
            for (end, of) in [("least", "min"), ("most", "max")] {
                ends.push(format!("pg_catalog.{of}(s.{own}) as {end}_{at}"));
                picked.push(format!(
                    "pg_catalog.min(s.shardwright_ctid) filter (where s.{own} = e.{end}_{at})"
                ));
            }
        } else {
            let width = format!("pg_catalog.pg_column_size(s.{own})");
            ends.push(format!(
                "pg_catalog.max({width}) filter (where {width} <= {WIDEST}) as most_{at}"
            ));
            picked.push(format!(
                "pg_catalog.min(s.shardwright_ctid) filter (where {width} = e.most_{at})"
            ));
        }
        picked.push(format!(
            "pg_catalog.min(s.shardwright_ctid) filter (where s.{own} is null)"
        ));
        if size.enums.contains(&column.name) {
            each.push(format!(
                "union select pg_catalog.min(s.shardwright_ctid) from s group by s.{own}"
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
           (select shardwright_ctid as p from s limit {FIRST})
           union (select pg_catalog.unnest(array[{picked}]::pg_catalog.tid[]) from s cross join e)
           {each}) places where p is not null",
        ends = ends.join(", "),
        picked = picked.join(", "),
        each = each.join(" "),
    )
}

/// The first rows that move, where an index finds them.
async fn by_index(
    client: &Connected,
    name: &str,
    predicate: &str,
    what: &str,
) -> Result<Vec<String>, StepError> {
    let sql = format!(
        "select t.ctid::pg_catalog.text from only {name} t where {predicate} limit {FIRST}"
    );
    let planned = client
        .query_one(&format!("explain (format json) {sql}"), &[])
        .await
        .at(what)?;
    let planned: serde_json::Value = planned.get(0);
    if planned.to_string().contains("\"Seq Scan\"") {
        return Ok(Vec::new());
    }
    let rows = client.query(&sql, &[]).await.at(what)?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Reads rows by the statement of the copy; none where they are too large for a trial.
pub(super) async fn read(
    client: &Connected,
    table: &MovingTable,
    places: &[String],
) -> Result<Vec<Bytes>, Error> {
    let mut pieces = Vec::new();
    if places.is_empty() {
        return Ok(pieces);
    }
    let rows = client
        .copy_out(&copy_stream::out_of(table, &among(places)))
        .await?;
    pin_mut!(rows);
    let mut bytes = 0;
    while let Some(piece) = rows.next().await {
        let piece = piece?;
        bytes += piece.len();
        if bytes > LARGEST {
            return Ok(Vec::new());
        }
        pieces.push(piece);
    }
    Ok(pieces)
}

/// Writes rows by the statement of the copy; their number.
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
