//! Writes the SQL statements that fix findings. Each statement can be repeated, and none holds a lock while it reads a
//! whole table.

use plans::fix::{FixStage, FixStatement};
use plans::sql::{quote_ident, quote_literal};
use plans::table::TableName;

/// The maximum length of a PostgreSQL name, in bytes.
const NAME_MAX: usize = 63;
/// The number of rows that one transaction deletes.
const BATCH: u32 = 10_000;

/// Returns the statements that set a column NOT NULL. They first validate a CHECK constraint, so that SET NOT NULL need
/// not read the table under its lock. If rows have a null in the column, the statements drop the constraint again;
/// otherwise it would refuse updates of these rows by the application.
pub(super) fn set_not_null(table: &TableName, column: &str) -> FixStatement {
    let name = quote_ident(&truncated(&format!("shardwright_given_{column}"), NAME_MAX));
    let warning = quote_literal(&format!(
        "rows of {table} have a null in column {column}: set the column, or delete the rows"
    ));
    let (table, column) = (table.sql(), quote_ident(column));
    let sql = format!(
        "select exists (select from {table} where {column} is null) as without \\gset
\\if :without
select {warning} as warning;
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

/// Returns the statements that build a unique index over these columns and make it the replica identity, and a short
/// form of both as text.
pub(super) fn identify_by_new_index(
    table: &TableName,
    columns: &[&str],
) -> (String, Vec<FixStatement>) {
    let name = format!("{}_shard_identity", shortened_name(&table.name));
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
    // An interrupted attempt leaves an invalid index with this name.
    let sql = format!(
        "select pg_catalog.format('drop index %s', i.indexrelid::pg_catalog.regclass) from pg_catalog.pg_index i
  where i.indexrelid = pg_catalog.to_regclass({}) and i.indrelid = pg_catalog.to_regclass({}) and not i.indisvalid \\gexec
{create}",
        quote_literal(&index.sql()),
        quote_literal(&table.sql()),
    );
    let identify = identify_by(table, &name);
    let short_text = format!("{create}; {}", identify.sql);
    (
        short_text,
        vec![FixStatement::new(FixStage::Indexes, sql), identify],
    )
}

/// Makes an index the replica identity.
pub(super) fn identify_by(table: &TableName, index: &str) -> FixStatement {
    let (table, index) = (table.sql(), quote_ident(index));
    let sql = format!("alter table {table} replica identity using index {index}");
    FixStatement::new(FixStage::Identities, sql)
}

/// Sets the replica identity to the default: the primary key.
pub(super) fn identify_by_default(table: &TableName) -> FixStatement {
    set_replica_identity(table, "default")
}

/// Sets the replica identity to the full row.
pub(super) fn identify_by_row(table: &TableName) -> FixStatement {
    set_replica_identity(table, "full")
}

fn set_replica_identity(table: &TableName, by: &str) -> FixStatement {
    let sql = format!("alter table {} replica identity {by}", table.sql());
    FixStatement::new(FixStage::Identities, sql)
}

/// Deletes the rows `t` of a table that satisfy a condition, in batches.
pub(super) fn delete_rows(table: &TableName, condition: &str) -> FixStatement {
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

/// Shortens a table's name so that a suffix fits. Of a long name the beginning and the end remain, because long names
/// often begin alike.
fn shortened_name(name: &str) -> String {
    // 15 bytes are the suffix `_shard_identity`. A shortened name has 24 + 1 + 23 bytes.
    if name.len() <= NAME_MAX - 15 {
        return name.to_owned();
    }
    let mut tail = name.len() - 23;
    while !name.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}_{}", truncated(name, 24), &name[tail..])
}

/// Truncates a text to at most this number of bytes.
fn truncated(text: &str, bytes: usize) -> String {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
