//! Compares the moving rows of the two shards; shares no code with the copy or the apply.
//!
//! Order: a table is cut into chunks by its primary key, and each shard computes a digest of a chunk. If the digests
//! differ, the rows are compared: first sub-chunks, then keys, then columns.
//!
//! A row is compared as the text of its columns, which is exact to the byte: numeric keeps its scale, json its
//! spaces, citext its case, char(n) its padding, a float its last bit and the sign of zero. NULL is not the empty
//! text. Both shards print the text under the same settings (`prepare`).
//! Names in the statements have a prefix, since a column of a user's table may have any name.

mod cut;
mod digest;
mod dirty;
mod drill;
mod record;
mod repair;
mod report;

pub(crate) use cut::{ChunkScope, cut_into_chunks};
pub(crate) use digest::{RowsDigest, digest};
pub(crate) use dirty::{DirtyPage, delete_dirty_entries, dirty_page, dirty_relations};
pub(crate) use drill::{RowDifferences, find_differences, hashes_by_key, read_keys};
pub(crate) use record::{ChunkRecord, ComparisonRecords, RunTotals, TableStorage};
pub(crate) use repair::{RepairValues, delete_rows, insert_rows, read_rows};
pub(crate) use report::read_report;

use plans::key_set::KeySet;
use plans::sql::quote_ident;
use plans::table::MovingTable;

/// The moving rows of one table.
#[derive(Debug)]
pub(crate) struct MovingRows<'a> {
    pub(crate) table: &'a MovingTable,
    /// The condition on a row with the alias `t`.
    predicate: String,
}

impl<'a> MovingRows<'a> {
    pub(crate) fn new(table: &'a MovingTable, keys: &KeySet) -> Self {
        Self {
            table,
            predicate: table.predicate(keys, "t"),
        }
    }

    /// The rows of `table` that match a predicate over the alias `t`.
    pub(crate) fn of_rows(table: &'a MovingTable, predicate: String) -> Self {
        Self { table, predicate }
    }

    fn name(&self) -> String {
        self.table.table.sql()
    }

    /// Returns the expression of all columns as one text, in the order of the plan. The physical order of the
    /// columns does not matter.
    fn row(&self) -> String {
        text_of(self.table.columns.iter().map(|column| &column.name))
    }

    /// Whether the table has no key: rows are then identified by all written columns, and equal rows are counted.
    fn has_no_key(&self) -> bool {
        self.table.identity.is_empty()
    }

    /// Returns the expression of a row's key as one text.
    fn key(&self) -> String {
        if self.has_no_key() {
            return text_of(self.table.written_columns().map(|column| &column.name));
        }
        text_of(&self.table.identity)
    }

    /// Returns the expression of the hash of the rows with one key. For a table without a key it is an aggregate.
    fn hash(&self) -> String {
        let row = self.row();
        if self.has_no_key() {
            return format!(
                "pg_catalog.md5(pg_catalog.concat(pg_catalog.count(*), pg_catalog.min({row})))"
            );
        }
        format!("pg_catalog.md5({row})")
    }

    /// Returns the expressions of the values of a whole row: text in quotes, or NULL.
    fn whole_row_values(&self) -> Vec<String> {
        let columns = self.table.written_columns();
        columns
            .map(|column| {
                format!(
                    "case when pg_catalog.num_nonnulls(t.{column}) = 1 then pg_catalog.format('''%s''', t.{column}) else 'NULL' end",
                    column = quote_ident(&column.name)
                )
            })
            .collect()
    }

    /// Returns the expression of a row's key as a JSON array of its columns' output; `::text` would strip the padding
    /// of char(n).
    fn key_array(&self) -> String {
        let identity = self.table.identity.iter();
        let parts: Vec<String> = if self.has_no_key() {
            self.whole_row_values()
        } else {
            identity
                .map(|column| format!("pg_catalog.format('%s', t.{})", quote_ident(column)))
                .collect()
        };
        format!(
            "pg_catalog.json_build_array({})::pg_catalog.text",
            parts.join(", ")
        )
    }

    /// Returns a join that finds the row of each `given.shardwright_text`, a key as [`canonical_key`] writes it;
    /// `given` is a common table expression. The session must be one for lookups.
    fn join_parameter_keys(&self) -> String {
        if self.has_no_key() {
            return self.join_whole();
        }
        let identity = self.table.identity.iter().enumerate();
        let parts: Vec<String> = identity
            .map(|(at, column)| {
                let data_type = self.type_of(column);
                format!("(j.shardwright_json operator(pg_catalog.->>) {at})::{data_type} as shardwright_{at}")
            })
            .collect();
        let values: Vec<String> = (0..parts.len())
            .map(|at| format!("k.shardwright_{at}"))
            .collect();
        // The values are computed once for each key. The predicate stays outside, so that the planner does not choose
        // an index by it.
        format!(
            "cross join lateral (
               select {parts} from (select given.shardwright_text::pg_catalog.jsonb as shardwright_json) j offset 0
             ) k
             join lateral (select t.ctid, t.* from only {name} t {lookup}) t on {predicate}",
            parts = parts.join(", "),
            name = self.name(),
            lookup = self.table.lookup("t", &values),
            predicate = self.predicate,
        )
    }

    /// Returns the same join as [`MovingRows::join_parameter_keys`] for a table without a key. The text of each row with
    /// one of the given shard keys is computed once, for any number of given rows, and matched by hash. The
    /// columns of the shard key may have an index.
    fn join_whole(&self) -> String {
        let names = self.table.key_names();
        let columns = self.table.written_columns().enumerate();
        let (own, texts): (Vec<String>, Vec<String>) = columns
            .filter(|(_, column)| names.contains(&column.name.as_str()))
            .map(|(at, column)| {
                let text = format!(
                    "(given.shardwright_text::pg_catalog.jsonb operator(pg_catalog.->>) {at})"
                );
                let value = format!(
                    "pg_catalog.substr({text}, 2, pg_catalog.length({text}) - 2)::{}",
                    column.data_type
                );
                (format!("t.{}", quote_ident(&column.name)), value)
            })
            .unzip();
        // Rows of a dependent table have no shard key of their own.
        let in_parameter_keys = if own.is_empty() {
            "true".to_owned()
        } else {
            format!(
                "({}) in (select {} from given)",
                own.join(", "),
                texts.join(", ")
            )
        };
        format!(
            "join (
               select t.ctid, t.*, {whole}::pg_catalog.jsonb as shardwright_key from only {name} t
               where {predicate} and {in_parameter_keys}
             ) t on t.shardwright_key = given.shardwright_text::pg_catalog.jsonb",
            whole = self.key_array(),
            name = self.name(),
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

/// Returns a key in the form of `shardwright.dirty` and of reports: a JSON array of text without spaces.
pub(crate) fn canonical_key(key: &[String]) -> String {
    serde_json::json!(key).to_string()
}

/// Parses the columns of a key that [`canonical_key`] or the server wrote.
pub(crate) fn parse_key(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_default()
}

/// The common table expression `given` for [`MovingRows::join_parameter_keys`], from the statement's first parameter.
const PARAMETER_KEYS: &str = "with given as materialized (select pg_catalog.unnest($1::pg_catalog.text[]) as shardwright_text)";
