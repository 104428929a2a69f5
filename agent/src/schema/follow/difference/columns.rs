//! Columns: added, dropped and renamed ones, types, defaults and NOT NULL.

use plans::sql::{quote_ident, quote_literal};

use super::{Due, TableDifference};
use crate::schema::follow::definition::{ColumnDefinition, TableDefinition};
use crate::shard::ddl::constant_value;

/// Adds the statements for changes of the table's columns.
pub(super) fn compare(table: &mut TableDifference<'_>) {
    let (recorded, upstream) = (table.recorded, table.upstream);
    for before in &recorded.columns {
        match upstream.numbered(before.number) {
            None => drop_column(table, before),
            Some(now) => change_column(table, before, now),
        }
    }
    for added in &upstream.columns {
        if recorded.numbered(added.number).is_none() {
            add_column(table, added);
        }
    }
}

fn drop_column(table: &mut TableDifference<'_>, before: &ColumnDefinition) {
    let name = &before.name;
    if table.key_columns.contains(&name.as_str()) {
        return table.refuse(format!(
            "column {name}, which identifies rows, holds the shard key or is referenced, was dropped"
        ));
    }
    if table.downstream.column(name).is_some() && table.upstream.column(name).is_none() {
        table.alter(Due::Now, &format!("drop column {}", quote_ident(name)));
    }
}

fn change_column(
    table: &mut TableDifference<'_>,
    before: &ColumnDefinition,
    now: &ColumnDefinition,
) {
    if before.name != now.name {
        rename_column(table, before, now);
    }
    let downstream = table.downstream;
    let renamed = downstream.column(&now.name);
    let Some(other) = renamed.or_else(|| downstream.column(&before.name)) else {
        // The other shard has never had it: it was added before the definitions were recorded.
        return add_new_column(table, now);
    };
    if other.data_type != now.data_type && other.data_type == before.data_type {
        change_type(table, before, now);
    }
    if other.generated != now.generated {
        // Captured changes do not have the values of generated columns.
        table.refuse(format!(
            "column {} became a generated column, or no longer is one",
            now.name
        ));
    } else if !now.generated.is_empty()
        && other.default != now.default
        && now.default != before.default
    {
        table.refuse(format!(
            "the expression of generated column {} changed",
            now.name
        ));
    }
    if other.identity != now.identity && now.identity != before.identity {
        table.refuse(format!("the identity of column {} changed", now.name));
    }
    if other.not_null && !now.not_null && before.not_null {
        let column = quote_ident(&now.name);
        table.alter(Due::Now, &format!("alter column {column} drop not null"));
    }
    compare_values(table, now, other);
    add_identity(table, now, other);
}

/// Adds the statement that makes a new column an identity column. PostgreSQL demands that it is NOT NULL.
fn add_identity(table: &mut TableDifference<'_>, now: &ColumnDefinition, other: &ColumnDefinition) {
    let kind = match now.identity.as_str() {
        "a" => "always",
        "d" => "by default",
        _ => return,
    };
    if !other.identity.is_empty() || !other.not_null {
        return;
    }
    let sequence = now
        .sequence
        .iter()
        .map(|name| format!(" (sequence name {name})"));
    let sequence: String = sequence.collect();
    let column = quote_ident(&now.name);
    table.alter(
        Due::Applied,
        &format!("alter column {column} add generated {kind} as identity{sequence}"),
    );
}

/// Adds the statements that wait for the stream: the default and NOT NULL.
fn compare_values(
    table: &mut TableDifference<'_>,
    now: &ColumnDefinition,
    other: &ColumnDefinition,
) {
    let column = quote_ident(&now.name);
    if now.generated.is_empty() && other.default != now.default {
        let action = now.default.as_ref().map_or_else(
            || format!("alter column {column} drop default"),
            |default| format!("alter column {column} set default {default}"),
        );
        table.alter(Due::Applied, &action);
    }
    if now.not_null && !other.not_null {
        table.alter(Due::Applied, &format!("alter column {column} set not null"));
    }
}

fn rename_column(
    table: &mut TableDifference<'_>,
    before: &ColumnDefinition,
    now: &ColumnDefinition,
) {
    let (from, to) = (&before.name, &now.name);
    if table.key_columns.contains(&from.as_str()) {
        return table.refuse(format!(
            "column {from}, which identifies rows, holds the shard key or is referenced, was renamed to {to}"
        ));
    }
    if is_used_name(table.recorded, to) {
        return table.refuse(format!(
            "column {from} was renamed to {to}, the earlier name of another column; captured changes do not tell the two apart"
        ));
    }
    let downstream = table.downstream;
    if downstream.column(from).is_some() && downstream.column(to).is_none() {
        table.alter(
            Due::Now,
            &format!("rename column {} to {}", quote_ident(from), quote_ident(to)),
        );
    }
}

/// Returns whether a column of the table has had this name since the capture began.
fn is_used_name(recorded: &TableDefinition, name: &str) -> bool {
    recorded.column(name).is_some()
        || recorded.renamed_columns.contains_key(name)
        || recorded.dropped_columns.contains(name)
}

fn change_type(table: &mut TableDifference<'_>, before: &ColumnDefinition, now: &ColumnDefinition) {
    let (name, from, to) = (&now.name, &before.data_type, &now.data_type);
    if !is_widening(from, to) {
        return table.refuse(format!(
            "the type of column {name} changed from {from} to {to}, which can change its values"
        ));
    }
    table.alter(
        Due::Now,
        &format!(
            "alter column {} type {to}{}",
            quote_ident(name),
            collation(now)
        ),
    );
}

fn add_column(table: &mut TableDifference<'_>, added: &ColumnDefinition) {
    let name = &added.name;
    if is_used_name(table.recorded, name) {
        return table.refuse(format!(
            "column {name} was added, and another column had this name before; captured changes do not tell the two apart"
        ));
    }
    if let Some(other) = table.downstream.column(name) {
        if other.data_type != added.data_type {
            table.refuse(format!(
                "column {name} is {} there, and {} on the other shard",
                added.data_type, other.data_type
            ));
        } else if added.generated == other.generated {
            compare_values(table, added, other);
            add_identity(table, added, other);
        }
        return;
    }
    add_new_column(table, added);
}

/// Adds the statement that adds a column which the other shard does not have.
fn add_new_column(table: &mut TableDifference<'_>, added: &ColumnDefinition) {
    let name = &added.name;
    // The statement would evaluate them for each row, with the privileges of the agent (ADR 49).
    if added.runs_code {
        return table.refuse(format!(
            "column {name} was added, and its default, expression or domain can call functions of users"
        ));
    }
    // The application would lack privileges on it after the flip.
    if let (Some(sequence), "") = (&added.sequence, added.identity.as_str()) {
        return table.refuse(format!(
            "column {name} was added with sequence {sequence}, which the other shard does not have; use an identity column"
        ));
    }
    let value = value_of_older_rows(table, added);
    if value.is_none() && !table.may_compare_rows {
        return table.refuse(format!(
            "column {name} was added with a default or an identity that is computed for each row; older rows would have other values on the other shard, and the agent can copy them again only before the flip, and not those of a reference table"
        ));
    }
    let head = format!(
        "add column {} {}{}",
        quote_ident(name),
        added.data_type,
        collation(added)
    );
    let clause = value.as_deref().unwrap_or_default();
    table.alter(Due::Now, &format!("{head}{clause}"));
    if let Some(statement) = table.statements.last_mut() {
        statement.lacks_values = value.is_none();
    }
}

/// Returns the clause that gives rows which are older than the column the values that they have on the owner. `None` if
/// there is none.
fn value_of_older_rows(table: &TableDifference<'_>, added: &ColumnDefinition) -> Option<String> {
    if !added.identity.is_empty() {
        return None;
    }
    let expression = added.default.as_deref();
    match (added.generated.as_str(), expression, &added.missing) {
        ("", _, Some(value)) => Some(format!(" default {}", quote_literal(value))),
        ("", None, None) => Some(String::new()),
        ("", Some(expression), None) => {
            let is_rewritten = table.recorded.filenode != table.upstream.filenode;
            // Without a rewrite, the default is younger than the column: older rows have NULL.
            if !is_rewritten && !table.upstream.is_partitioned {
                return Some(String::new());
            }
            constant_value(expression).map(|_| format!(" default {expression}"))
        }
        ("s", Some(expression), _) => Some(format!(" generated always as ({expression}) stored")),
        ("v", Some(expression), _) => Some(format!(" generated always as ({expression}) virtual")),
        _ => None,
    }
}

fn collation(column: &ColumnDefinition) -> String {
    let clause = |name: &String| format!(" collate {name}");
    column.collation.as_ref().map(clause).unwrap_or_default()
}

/// Returns whether every value of the type `from` has the same text in the type `to`.
fn is_widening(from: &str, to: &str) -> bool {
    let integers = ["smallint", "integer", "bigint", "numeric"];
    let place = |name: &str| integers.iter().position(|known| *known == name);
    if let (Some(from), Some(to)) = (place(from), place(to)) {
        return from < to;
    }
    let (from, to) = (ParsedType::parse(from), ParsedType::parse(to));
    match (from.name, to.name) {
        ("character varying", "text") => true,
        ("numeric", "numeric") => match (from.modifiers(), to.modifiers()) {
            (_, None) => true,
            (Some([precision, scale]), Some([wider, same])) => precision <= wider && scale == same,
            (None, Some(_)) => false,
        },
        ("character varying" | "bit varying", name) if name == from.name => {
            to.modifier.is_none()
                || matches!((from.first(), to.first()), (Some(from), Some(to)) if from <= to)
        }
        _ => false,
    }
}

/// A type as `format_type` prints it.
struct ParsedType<'a> {
    name: &'a str,
    modifier: Option<&'a str>,
}

impl<'a> ParsedType<'a> {
    fn parse(text: &'a str) -> Self {
        let split = text.strip_suffix(')').and_then(|text| text.split_once('('));
        match split {
            Some((name, modifier)) => Self {
                name,
                modifier: Some(modifier),
            },
            None => Self {
                name: text,
                modifier: None,
            },
        }
    }

    /// Returns the first number of the modifier.
    fn first(&self) -> Option<i32> {
        self.modifier?.split(',').next()?.parse().ok()
    }

    /// Returns precision and scale of a number.
    fn modifiers(&self) -> Option<[i32; 2]> {
        let (precision, scale) = self.modifier?.split_once(',')?;
        Some([precision.parse().ok()?, scale.parse().ok()?])
    }
}

#[cfg(test)]
mod tests {
    use super::is_widening;

    #[test]
    fn a_type_is_widened_if_each_value_keeps_its_text() {
        for (from, to) in [
            ("integer", "bigint"),
            ("smallint", "numeric"),
            ("character varying(20)", "character varying(40)"),
            ("character varying(20)", "character varying"),
            ("character varying", "text"),
            ("numeric(10,2)", "numeric(12,2)"),
            ("numeric(10,2)", "numeric"),
        ] {
            assert!(is_widening(from, to), "{from} to {to}");
            assert!(!is_widening(to, from), "{to} to {from}");
        }
        for (from, to) in [
            ("real", "double precision"),
            ("numeric(10,2)", "numeric(12,3)"),
            ("character(3)", "text"),
            ("timestamp without time zone", "timestamp with time zone"),
            ("text", "citext"),
        ] {
            assert!(!is_widening(from, to), "{from} to {to}");
        }
    }
}
