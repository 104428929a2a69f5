//! Constraints, indexes, comments, and the values of enum types.

use plans::sql::{quote_ident, quote_literal};
use plans::table::TableName;

use super::{Due, FollowStatement, TableDifference};
use crate::schema::follow::definition::{ConstraintDefinition, EnumDefinition, IndexDefinition};

/// What PostgreSQL adds to the definition of a constraint that it has not checked for the rows that exist.
const NOT_VALID: &str = " NOT VALID";
/// Values of `contype`.
const PRIMARY_KEY: &str = "p";
const FOREIGN_KEY: &str = "f";
const CHECK: &str = "c";

/// Adds the statements for constraints that were added, dropped, renamed or validated.
pub(super) fn compare_constraints(table: &mut TableDifference<'_>) {
    let (recorded, upstream, downstream) = (table.recorded, table.upstream, table.downstream);
    let named = |list: &'_ [ConstraintDefinition], name: &str| {
        list.iter().find(|found| found.name == name).cloned()
    };
    let mut kept_names = Vec::new();
    for now in &upstream.constraints {
        let other = named(&downstream.constraints, &now.name);
        let before = named(&recorded.constraints, &now.name);
        match other {
            Some(other) if other.definition == now.definition => {}
            Some(other) if other.definition == format!("{}{NOT_VALID}", now.definition) => {
                let name = quote_ident(&now.name);
                table.alter(Due::Validated, &format!("validate constraint {name}"));
            }
            // The definition differs because of a column that the next statements rename or change.
            Some(other)
                if before
                    .as_ref()
                    .is_none_or(|b| b.definition != other.definition) => {}
            Some(_) if now.kind == PRIMARY_KEY => {
                table.refuse("its primary key changed".to_owned());
            }
            Some(_) => {
                let name = quote_ident(&now.name);
                if is_settled(table) {
                    table.alter(Due::Now, &format!("drop constraint {name}"));
                }
            }
            None => match renamed_constraint(table, now) {
                Some(old) => {
                    table.alter(
                        Due::Now,
                        &format!(
                            "rename constraint {} to {}",
                            quote_ident(&old),
                            quote_ident(&now.name)
                        ),
                    );
                    kept_names.push(old);
                }
                None if now.kind == PRIMARY_KEY => {
                    table.refuse("its primary key changed".to_owned());
                }
                None => add_constraint(table, now),
            },
        }
    }
    for other in &downstream.constraints {
        let is_dropped = named(&upstream.constraints, &other.name).is_none()
            && named(&recorded.constraints, &other.name).is_some()
            && !kept_names.contains(&other.name);
        if is_dropped && other.kind == PRIMARY_KEY {
            table.refuse("its primary key was dropped".to_owned());
        } else if is_dropped {
            let name = quote_ident(&other.name);
            table.alter(Due::Now, &format!("drop constraint if exists {name}"));
        }
    }
}

/// Adds the statement that adds a constraint. It checks no rows that exist: the next pass validates the constraint, after
/// the agent has proved that this runs no untrusted code.
fn add_constraint(table: &mut TableDifference<'_>, now: &ConstraintDefinition) {
    let name = quote_ident(&now.name);
    let is_foreign_key = now.kind == FOREIGN_KEY;
    let is_validated_later = (now.kind == CHECK || is_foreign_key)
        && !now.definition.ends_with(NOT_VALID)
        // PostgreSQL refuses it for a foreign key of a partitioned table.
        && !(is_foreign_key && table.upstream.is_partitioned);
    let suffix = if is_validated_later { NOT_VALID } else { "" };
    let definition = &now.definition;
    table.alter(
        Due::Applied,
        &format!("add constraint {name} {definition}{suffix}"),
    );
}

/// Returns whether no statement for columns is due, so that definitions which name columns can be compared.
fn is_settled(table: &TableDifference<'_>) -> bool {
    let mut statements = table.statements.iter();
    !statements.any(|statement| statement.due == Due::Now)
}

/// Returns the name that a constraint of the owner has on the other shard, if it was renamed.
fn renamed_constraint(table: &TableDifference<'_>, now: &ConstraintDefinition) -> Option<String> {
    let was_recorded = |name: &str| table.recorded.constraints.iter().any(|c| c.name == name);
    let mut others = table.downstream.constraints.iter();
    let other = others.find(|other| {
        other.definition == now.definition
            && was_recorded(&other.name)
            && !table
                .upstream
                .constraints
                .iter()
                .any(|c| c.name == other.name)
    });
    (!was_recorded(&now.name)).then(|| other.map(|other| other.name.clone()))?
}

/// Adds the statements for indexes that were added, dropped or renamed.
pub(super) fn compare_indexes(table: &mut TableDifference<'_>) {
    let (recorded, upstream, downstream) = (table.recorded, table.upstream, table.downstream);
    let mut kept_names = Vec::new();
    // CREATE INDEX CONCURRENTLY on the owner is not finished before the index is valid.
    for now in upstream.indexes.iter().filter(|index| index.is_valid) {
        let other = named_index(&downstream.indexes, &now.name);
        let before = named_index(&recorded.indexes, &now.name);
        match other {
            Some(other) if other.is_valid && other.definition == now.definition => {}
            Some(other) if other.is_valid => {
                let is_older = before.is_some_and(|b| b.definition == other.definition);
                if is_older && is_settled(table) {
                    drop_index(table, &now.name);
                }
            }
            // An earlier agent did not finish it.
            Some(_) => {
                drop_index(table, &now.name);
            }
            None => match renamed_index(table, now) {
                Some(old) => {
                    let schema = quote_ident(&upstream.table.schema);
                    let sql = format!(
                        "alter index {schema}.{} rename to {}",
                        quote_ident(&old),
                        quote_ident(&now.name)
                    );
                    table.add(Due::Now, sql);
                    kept_names.push(old);
                }
                None => build_index(table, now),
            },
        }
    }
    for other in &downstream.indexes {
        let is_dropped = named_index(&upstream.indexes, &other.name).is_none()
            && named_index(&recorded.indexes, &other.name).is_some()
            && !kept_names.contains(&other.name);
        if is_dropped {
            drop_index(table, &other.name);
        }
    }
}

fn named_index<'a>(indexes: &'a [IndexDefinition], name: &str) -> Option<&'a IndexDefinition> {
    indexes.iter().find(|index| index.name == name)
}

fn drop_index(table: &mut TableDifference<'_>, name: &str) {
    let index = TableName {
        schema: table.upstream.table.schema.clone(),
        name: name.to_owned(),
    };
    table.add(Due::Now, format!("drop index if exists {}", index.sql()));
}

fn build_index(table: &mut TableDifference<'_>, index: &IndexDefinition) {
    // PostgreSQL builds no index of a partitioned table concurrently. Its definition is that of the index alone, without
    // those of the partitions.
    if table.upstream.is_partitioned {
        let name = quote_ident_if_needed(&index.name);
        let alone = format!(" INDEX {name} ON ONLY ");
        let with_partitions = format!(" INDEX {name} ON ");
        let sql = index.definition.replacen(&alone, &with_partitions, 1);
        return table.add(Due::Applied, sql);
    }
    for head in ["CREATE UNIQUE INDEX ", "CREATE INDEX "] {
        if let Some(rest) = index.definition.strip_prefix(head) {
            return table.add(Due::Concurrently, format!("{head}CONCURRENTLY {rest}"));
        }
    }
}

/// Returns the name that an index of the owner has on the other shard, if it was renamed.
fn renamed_index(table: &TableDifference<'_>, now: &IndexDefinition) -> Option<String> {
    if named_index(&table.recorded.indexes, &now.name).is_some() {
        return None;
    }
    let without_name = |index: &IndexDefinition| {
        index
            .definition
            .replacen(&quote_ident_if_needed(&index.name), "", 1)
    };
    let mut others = table.downstream.indexes.iter();
    let other = others.find(|other| {
        other.is_valid
            && named_index(&table.recorded.indexes, &other.name).is_some()
            && named_index(&table.upstream.indexes, &other.name).is_none()
            && without_name(other) == without_name(now)
    });
    other.map(|other| other.name.clone())
}

/// Quotes a name as `pg_get_indexdef` does, for names that need no quotes because of a keyword.
fn quote_ident_if_needed(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => quote_ident(name),
    }
}

/// Adds the statements for comments on the table and its columns.
pub(super) fn compare_comments(table: &mut TableDifference<'_>) {
    let (upstream, downstream) = (table.upstream, table.downstream);
    let literal = |comment: &Option<String>| {
        let quoted = comment.as_deref().map(quote_literal);
        quoted.unwrap_or_else(|| "null".to_owned())
    };
    let name = upstream.table.sql();
    if upstream.comment != downstream.comment {
        let text = literal(&upstream.comment);
        table.add(Due::Applied, format!("comment on table {name} is {text}"));
    }
    for now in &upstream.columns {
        let Some(other) = downstream.column(&now.name) else {
            continue;
        };
        if other.comment != now.comment {
            let text = literal(&now.comment);
            table.add(
                Due::Applied,
                format!(
                    "comment on column {name}.{} is {text}",
                    quote_ident(&now.name)
                ),
            );
        }
    }
}

/// Adds the statements for values that were added to enum types of the table's columns.
pub(super) fn compare_enums(table: &mut TableDifference<'_>) {
    let (upstream, downstream) = (table.upstream, table.downstream);
    for now in &upstream.enums {
        let mut others = downstream.enums.iter();
        let Some(other) = others.find(|other| other.name == now.name) else {
            continue;
        };
        let mut before = table.recorded.enums.iter();
        let before = before.find(|before| before.name == now.name);
        let labels = before.into_iter().flat_map(|before| &before.labels);
        if let Some(renamed) = labels.into_iter().find(|label| !now.labels.contains(label)) {
            table.refuse(format!("value {renamed} of type {} was renamed", now.name));
            continue;
        }
        let added = added_values(now, other);
        table.statements.extend(added);
    }
}

fn added_values(now: &EnumDefinition, other: &EnumDefinition) -> Vec<FollowStatement> {
    let mut statements = Vec::new();
    for (place, label) in now.labels.iter().enumerate() {
        if other.labels.contains(label) {
            continue;
        }
        // The value before it exists by then, because the values are added in their order.
        let position = match place.checked_sub(1).and_then(|place| now.labels.get(place)) {
            Some(before) => format!(" after {}", quote_literal(before)),
            None => other
                .labels
                .first()
                .map(|first| format!(" before {}", quote_literal(first)))
                .unwrap_or_default(),
        };
        statements.push(FollowStatement {
            lacks_values: false,
            due: Due::Now,
            table: None,
            sql: format!(
                "alter type {} add value if not exists {}{position}",
                now.name,
                quote_literal(label)
            ),
        });
    }
    statements
}
