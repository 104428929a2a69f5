//! Compares the moving rows of the two shards. The comparison shares no code with the copy or the apply.
//!
//! Order: a table is cut into chunks by its primary key, and each shard computes a digest of a chunk. If the digests
//! differ, the rows are compared: first sub-chunks, then keys, then columns.
//!
//! A row is compared as the text of its columns, which is exact to the byte: numeric keeps its scale, json its
//! spaces, citext its case, char(n) its padding, a float its last bit and the sign of zero. NULL is not the empty
//! text. Both shards print the text under the same settings (`prepare`).
//! Names in the statements have the prefix `shardwright_`, because a column of a user's table may have any name.

mod cut;
mod digest;
mod dirty;
mod record;
mod repair;
mod report;
mod row_differences;

pub(crate) use cut::{ChunkScope, cut_into_chunks};
pub(crate) use digest::{RowsDigest, digest};
pub(crate) use dirty::{DirtyPage, delete_dirty_entries, dirty_page, dirty_relations};
pub(crate) use record::{ChunkRecord, ComparisonRecords, RunTotals, TableStorage};
pub(crate) use repair::{RepairValues, delete_rows, insert_rows, read_rows};
pub(crate) use report::read_report;
pub(crate) use row_differences::{
    RowDifferences, differing_groups, differing_keys, find_differences, hashes_by_key, read_keys,
};

use plans::key_set::KeySet;
use plans::sql::{quote_ident, quote_literal};
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

    /// Returns the rows of `table` that match a predicate over the alias `t`.
    pub(crate) fn matching(table: &'a MovingTable, predicate: String) -> Self {
        Self { table, predicate }
    }

    fn name(&self) -> String {
        self.table.table.sql()
    }

    /// Returns the expression of all columns as one text, in the order of the plan. The physical order of the
    /// columns does not matter.
    fn row(&self) -> String {
        row_text(self.table.columns.iter().map(|column| &column.name))
    }

    /// Returns whether the table has no identity. Its rows are then identified by all written columns, and equal rows
    /// are counted.
    fn has_no_key(&self) -> bool {
        self.table.identity.is_empty()
    }

    /// Returns the expression of a row's key as one text.
    fn key(&self) -> String {
        if self.has_no_key() {
            return row_text(self.table.written_columns().map(|column| &column.name));
        }
        row_text(&self.table.identity)
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

    /// Returns the condition on a row `t` that it is the row of one of these keys. The session must be one for lookups.
    pub(crate) fn key_condition(&self, keys: &[String]) -> String {
        let keys: Vec<String> = keys.iter().map(|key| quote_literal(key)).collect();
        format!(
            "t.ctid = any (array(
               with given as materialized (
                 select pg_catalog.unnest(array[{keys}]::pg_catalog.text[]) as shardwright_text)
               select t.ctid from given {join}))",
            keys = keys.join(", "),
            join = self.join_parameter_keys(),
        )
    }

    /// Returns a join that finds the row of each `given.shardwright_text`, a key as [`canonical_key`] writes it.
    /// `given` is the common table expression [`PARAMETER_KEYS`]. The session must be one for lookups.
    fn join_parameter_keys(&self) -> String {
        if self.has_no_key() {
            return self.join_by_whole_row();
        }
        let identity = self.table.identity.iter().enumerate();
        let parts: Vec<String> = identity
            .map(|(index, column)| {
                let data_type = self.type_of(column);
                format!("(j.shardwright_json operator(pg_catalog.->>) {index})::{data_type} as shardwright_{index}")
            })
            .collect();
        let values: Vec<String> = (0..parts.len())
            .map(|index| format!("k.shardwright_{index}"))
            .collect();
        // `offset 0` makes the server compute the values once for each key. The predicate is outside of the subquery,
        // so that the planner does not choose an index for it.
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

    /// Returns the same join as [`MovingRows::join_parameter_keys`] for a table without a key. The server computes the
    /// text of each row with one of the given shard keys once, for any number of given rows, and joins the rows by
    /// hash. The columns of the shard key may have an index.
    fn join_by_whole_row(&self) -> String {
        let names = self.table.key_names();
        let columns = self.table.written_columns().enumerate();
        let (columns, values): (Vec<String>, Vec<String>) = columns
            .filter(|(_, column)| names.contains(&column.name.as_str()))
            .map(|(index, column)| {
                let text = format!(
                    "(given.shardwright_text::pg_catalog.jsonb operator(pg_catalog.->>) {index})"
                );
                // The text of a value is in quotes, as `whole_row_values` returns it.
                let value = format!(
                    "pg_catalog.substr({text}, 2, pg_catalog.length({text}) - 2)::{}",
                    column.data_type
                );
                (format!("t.{}", quote_ident(&column.name)), value)
            })
            .unzip();
        // Rows of a dependent table have no shard key of their own.
        let in_parameter_keys = if columns.is_empty() {
            "true".to_owned()
        } else {
            format!(
                "({}) in (select {} from given)",
                columns.join(", "),
                values.join(", ")
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

/// Returns the expression of these columns of the row `t` as one text.
fn row_text<'a>(columns: impl IntoIterator<Item = &'a String>) -> String {
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
