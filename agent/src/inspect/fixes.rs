//! Statements that fix what was found: each can run again, and none holds a lock while it reads a whole table.

use plans::fix::{FixStage, FixStatement};
use plans::sql::{quote_ident, quote_literal};
use plans::table::TableName;

/// The longest name that PostgreSQL takes, in bytes.
const NAME_MAX: usize = 63;
/// How many rows are deleted in one transaction.
const BATCH: u32 = 10_000;

/// Declares a column to be never null. A check that is validated first spares the table a lock for as long as it is read;
/// it is not left behind where rows are without a value, for it would refuse the application's own.
pub(super) fn not_null(table: &TableName, column: &str) -> FixStatement {
    let name = quote_ident(&cut(&format!("shardwright_given_{column}"), NAME_MAX));
    let warned = quote_literal(&format!(
        "rows of {table} are without {column}: give it to them, or delete them"
    ));
    let (table, column) = (table.sql(), quote_ident(column));
    let sql = format!(
        "select exists (select from {table} where {column} is null) as without \\gset
\\if :without
select {warned} as warning;
\\set failed 1
\\else
alter table {table} drop constraint if exists {name};
alter table {table} add constraint {name} check ({column} is not null) not valid;
alter table {table} validate constraint {name};
\\if :ERROR
\\set failed 1
alter table {table} drop constraint if exists {name};
\\else
alter table {table} alter column {column} set not null, drop constraint {name};
\\endif
\\endif"
    );
    FixStatement::psql(FixStage::Tables, sql)
}

/// Builds a unique index over these columns, and has it identify the rows; with both statements in short.
pub(super) fn identify_by_new_index(
    table: &TableName,
    columns: &[&str],
) -> (String, Vec<FixStatement>) {
    let name = format!("{}_shard_identity", shortened(&table.name));
    let quoted: Vec<String> = columns.iter().map(|column| quote_ident(column)).collect();
    let index = TableName {
        schema: table.schema.clone(),
        name: name.clone(),
    };
    let create = format!(
        "create unique index concurrently if not exists {} on {} ({})",
        quote_ident(&name),
        table.sql(),
        quoted.join(", ")
    );
    // What an attempt left that was broken off is not valid, and has the name.
    let sql = format!(
        "select pg_catalog.format('drop index %s', i.indexrelid::pg_catalog.regclass) from pg_catalog.pg_index i
  where i.indexrelid = pg_catalog.to_regclass({}) and i.indrelid = pg_catalog.to_regclass({}) and not i.indisvalid \\gexec
{create}",
        quote_literal(&index.sql()),
        quote_literal(&table.sql()),
    );
    let identify = identify_by(table, &name);
    let short = format!("{create}; {}", identify.sql);
    (
        short,
        vec![FixStatement::new(FixStage::Indexes, sql), identify],
    )
}

/// Has an index identify the rows.
pub(super) fn identify_by(table: &TableName, index: &str) -> FixStatement {
    let (table, index) = (table.sql(), quote_ident(index));
    let sql = format!("alter table {table} replica identity using index {index}");
    FixStatement::new(FixStage::Identities, sql)
}

/// Has the primary key, or the whole row, identify the rows.
pub(super) fn identify_by_default(table: &TableName) -> FixStatement {
    identify(table, "default")
}

/// Has the whole row identify itself.
pub(super) fn identify_by_row(table: &TableName) -> FixStatement {
    identify(table, "full")
}

fn identify(table: &TableName, by: &str) -> FixStatement {
    let sql = format!("alter table {} replica identity {by}", table.sql());
    FixStatement::new(FixStage::Identities, sql)
}

/// Deletes the rows `t` of a table that fulfil a condition, some at a time.
pub(super) fn delete(table: &TableName, condition: &str) -> FixStatement {
    let table = table.sql();
    let body = format!(
        "begin
  loop
    delete from only {table} where ctid = any (array(select t.ctid from only {table} t where {condition} limit {BATCH}));
    exit when not found;
    commit;
  end loop;
end"
    );
    let sql = format!("do {}", quote_literal(&body));
    FixStatement::new(FixStage::Deletes, sql)
}

/// A table's name with room for an ending: of a long one both ends, for long names often begin alike.
fn shortened(name: &str) -> String {
    if name.len() <= NAME_MAX - 15 {
        return name.to_owned();
    }
    let mut tail = name.len() - 23;
    while !name.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}_{}", cut(name, 24), &name[tail..])
}

/// As much of a text as fits into so many bytes.
fn cut(text: &str, bytes: usize) -> String {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
