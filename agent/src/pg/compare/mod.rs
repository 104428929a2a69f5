//! Comparison of the two copies; shares no code with the copy or the apply.
//!
//! Order: a table is cut into chunks by its primary key, each side digests a chunk, and where the
//! digests differ its rows are looked at: sub-chunks first, then keys, then columns.
//!
//! A row is compared as the text of its columns, which is exact to the byte: numeric keeps its scale,
//! json its spaces, citext its case, char(n) its padding, a float its last bit and the sign of zero,
//! NULL is not the empty text. Both sides print it under the same settings ([`prepare`]).
//! Names of ours have a prefix, since a column of the user's may be called anything.

mod cut;
mod digest;
mod dirty;
mod drill;
mod record;
mod repair;
mod report;

pub(crate) use cut::{Part, cut};
#[cfg(test)]
pub(crate) use digest::Digest;
pub(crate) use digest::digest;
pub(crate) use dirty::{DirtyRow, dirty_relations, rows_of_dirty};
pub(crate) use drill::{Found, drill, keyed_rows};
pub(crate) use record::{Chunk, Records, Sums};
pub(crate) use repair::{delete_rows, insert_rows, values};
pub(crate) use report::read_report;

use plans::key_set::KeySet;
use plans::table::{MovingTable, quote_ident};
use tokio_postgres::Client;

use crate::error::{At, StepError};

/// A session and the name of its shard.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) client: &'a Client,
    pub(crate) shard: &'a str,
}

/// The moving rows of one table.
#[derive(Debug)]
pub(crate) struct Moving<'a> {
    pub(crate) table: &'a MovingTable,
    /// Over a row called `t`.
    predicate: String,
}

impl<'a> Moving<'a> {
    pub(crate) fn new(table: &'a MovingTable, keys: &KeySet) -> Self {
        Self {
            table,
            predicate: table.predicate(keys, "t"),
        }
    }

    fn name(&self) -> String {
        self.table.table.sql()
    }

    /// Every column as one text: those of the plan in its order, whatever the physical one is.
    fn row(&self) -> String {
        text_of(self.table.columns.iter().map(|column| &column.name))
    }

    /// The primary key as one text.
    fn key(&self) -> String {
        text_of(&self.table.primary_key)
    }

    /// The primary key as a JSON array of its columns' output; `::text` would strip char(n).
    fn key_array(&self) -> String {
        let parts: Vec<String> = self
            .table
            .primary_key
            .iter()
            .map(|column| format!("pg_catalog.format('%s', t.{})", quote_ident(column)))
            .collect();
        format!(
            "pg_catalog.json_build_array({})::pg_catalog.text",
            parts.join(", ")
        )
    }

    /// A join that finds the row of each `given.shardwright_text`, a key as [`canonical`] writes it.
    fn join_given(&self) -> String {
        let columns: Vec<String> = self
            .table
            .primary_key
            .iter()
            .map(|column| format!("t.{}", quote_ident(column)))
            .collect();
        let values: Vec<String> = self
            .table
            .primary_key
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let data_type = self.type_of(column);
                format!("(k.shardwright_key operator(pg_catalog.->>) {at})::{data_type}")
            })
            .collect();
        format!(
            "cross join lateral (select given.shardwright_text::pg_catalog.jsonb as shardwright_key) k
             join only {name} t on ({columns}) = ({values}) and {predicate}",
            name = self.name(),
            columns = columns.join(", "),
            values = values.join(", "),
            predicate = self.predicate,
        )
    }

    fn type_of(&self, column: &str) -> &str {
        let mut columns = self.table.columns.iter();
        columns
            .find(|c| c.name == column)
            .map_or("text", |c| c.data_type.as_str())
    }
}

fn text_of<'a>(columns: impl IntoIterator<Item = &'a String>) -> String {
    let columns: Vec<String> = columns
        .into_iter()
        .map(|column| format!("t.{}", quote_ident(column)))
        .collect();
    format!("row({})::pg_catalog.text", columns.join(", "))
}

/// A key as it stands in `shardwright.dirty` and in reports: a JSON array of text without spaces.
pub(crate) fn canonical(key: &[String]) -> String {
    serde_json::json!(key).to_string()
}

/// The columns of a key that [`canonical`] or the server wrote.
pub(crate) fn parse_key(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_default()
}

/// Settings on which the text of a value depends beyond those that every session of ours has.
pub(crate) async fn prepare(client: &Client, shard: &str) -> Result<(), StepError> {
    client
        .batch_execute(
            "set lc_monetary = 'C'; set xmlbinary = 'base64'; set xmloption = 'content';
             set array_nulls = on",
        )
        .await
        .at(format_args!("shard {shard}: preparing a comparison"))
}
