//! Definitions of the moving tables on both shards: their differences, and the changes with which a move can continue.
//!
//! The move accepts a column that is new on both shards if rows that are older than the column have the same value on
//! both: NULL, or the constant that is the default. Then it does not matter which shard was changed first. A captured
//! row that is older than the column takes the default on the other shard, as it did on its own.
//!
//! This comparison never accepts a partition that the plan lacks: rows that were written to it meanwhile were neither
//! copied nor captured. The agent adopts new partitions before it compares (ADR 62).

use std::collections::BTreeMap;

use connect::Connected;
use plans::failure::StepCode;
use plans::inspection::check::SchemaFact;
use plans::table::{Column, MovingTable, TableName};

use crate::error::{StepError, WithIntent};
use crate::postgres::catalog::{self, RetiredPartitions, TableFacts};

/// Definitions of tables. Each is a list of facts.
pub(crate) type FactsByTable = BTreeMap<TableName, Vec<SchemaFact>>;

/// One shard of a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DefinitionSide<'a> {
    pub(crate) shard: &'a str,
    pub(crate) definitions: &'a FactsByTable,
}

/// Returns the differences, one line for each: the table, the changed part, and its definition on both shards.
///
/// With `columns_only` it compares only columns and partitions: the copy on a new target gets indexes, constraints and
/// triggers later.
pub(crate) fn differences(
    first: DefinitionSide<'_>,
    second: DefinitionSide<'_>,
    columns_only: bool,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (table, facts) in first.definitions {
        let nothing = Vec::new();
        let others = second.definitions.get(table).unwrap_or(&nothing);
        let counts = |fact: &&SchemaFact| {
            let early = ["column ", "partition "];
            !columns_only || early.iter().any(|part| fact.what.starts_with(part))
        };
        let text = |facts: &[SchemaFact], what: &str| {
            let found = facts.iter().find(|fact| fact.what == what);
            found.map_or_else(|| "missing".to_owned(), |fact| fact.definition.clone())
        };
        let mut names: Vec<&str> = facts
            .iter()
            .chain(others)
            .filter(counts)
            .map(|fact| fact.what.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        for what in names {
            let (one, other) = (text(facts, what), text(others, what));
            if one != other {
                lines.push(format!(
                    "{table}, {what}: on shard {} {one}; on shard {} {other}",
                    first.shard, second.shard
                ));
            }
        }
    }
    lines
}

/// Returns the failure with the given differences.
pub(crate) fn drift_error(lines: &[String]) -> StepError {
    StepError::refused(
        StepCode::SchemaDrift,
        format!("the moving tables differ:\n{}", lines.join("\n")),
        "make the tables equal on both shards, then `resume`; or `abort` the migration",
    )
}

/// Returns the failure for changes that both shards have, but with which the move cannot continue.
pub(crate) fn unsupported_error(lines: &[String]) -> StepError {
    StepError::refused(
        StepCode::SchemaDrift,
        format!(
            "both shards have the moving tables in a form with which this move cannot continue:\n{}",
            lines.join("\n")
        ),
        "revert the change on both shards, then `resume`; or `abort` it and plan it again",
    )
}

/// Returns the tables in their present form, which must be the same on both shards, and the changes, one line for each.
/// The result lacks retired partitions.
///
/// # Errors
/// `schema.drift` if the move cannot continue with a change.
pub(crate) async fn reshaped_tables(
    planned: &[MovingTable],
    sides: [&Connected; 2],
) -> Result<(Vec<MovingTable>, Vec<String>), StepError> {
    let client = sides[0];
    let found = catalog::tables(client).await?;
    let (mut tables, mut changes) = (Vec::new(), Vec::new());
    let mut refused = new_partitions(planned, &found);
    for table in planned.iter().filter(|table| !table.retired) {
        let mut present = table.clone();
        if table.is_reference() {
            tables.push(present);
            continue;
        }
        let name = &table.table;
        let columns = catalog::columns(client, name).await?;
        present.columns = columns.into_iter().map(|found| found.column).collect();
        refused.extend(unsupported_changes(table, &present.columns));
        let identity = found.get(name).map(|found| found.identity(&table.key));
        if identity.as_ref() != Some(&table.identity) {
            refused.push(format!(
                "{name}: its primary key or replica identity has changed"
            ));
        }
        for column in added_columns(table, &present.columns) {
            refused.extend(unsupported_addition(name, column, sides).await?);
            changes.push(format!(
                "{name}: new column {} {}",
                column.name, column.data_type
            ));
        }
        tables.push(present);
    }
    if !refused.is_empty() {
        return Err(unsupported_error(&refused));
    }
    if changes.is_empty() {
        changes
            .push("defaults, indexes, constraints or triggers, the same on both shards".to_owned());
    }
    Ok((tables, changes))
}

/// Returns lines about partitions that the plan does not contain, and about tables that were attached or detached.
pub(crate) fn new_partitions(
    planned: &[MovingTable],
    found: &BTreeMap<TableName, TableFacts>,
) -> Vec<String> {
    let moving = || planned.iter().filter(|old| !old.is_reference());
    let mut lines = Vec::new();
    for table in found.values().filter(|table| table.kind != 'p') {
        let (name, now) = (&table.table, &table.partition_of);
        match (moving().find(|old| &old.table == name), now) {
            (Some(old), now) if !old.retired && &old.partition_of != now => {
                lines.push(format!(
                    "{name}: it was attached to or detached from a table"
                ));
            }
            (None, Some(top)) if moving().any(|old| old.top() == top) => {
                lines.push(format!("{top}: partition {name} is new"));
            }
            (Some(_) | None, _) => {}
        }
    }
    lines
}

/// Returns the columns that the plan does not contain.
fn added_columns<'a>(
    planned: &'a MovingTable,
    now: &'a [Column],
) -> impl Iterator<Item = &'a Column> {
    let known = |column: &&Column| planned.columns.iter().any(|old| old.name == column.name);
    now.iter().filter(move |column| !known(column))
}

/// Returns lines about changes of planned columns to which captured changes cannot be applied.
fn unsupported_changes(planned: &MovingTable, now: &[Column]) -> Vec<String> {
    let mut lines = Vec::new();
    for old in &planned.columns {
        let name = format!("{}, column {}", planned.table, old.name);
        match now.iter().find(|column| column.name == old.name) {
            None => lines.push(format!("{name}: it was dropped or renamed")),
            Some(new) if new.data_type != old.data_type => lines.push(format!(
                "{name}: its type changed from {} to {}",
                old.data_type, new.data_type
            )),
            Some(new) if new.generated != old.generated => {
                lines.push(format!(
                    "{name}: it became a generated column, or no longer is one"
                ));
            }
            Some(_) => {}
        }
    }
    lines
}

/// Returns why rows that are older than the column may have different values of it on the two shards, or `None` if they
/// cannot.
async fn unsupported_addition(
    table: &TableName,
    column: &Column,
    sides: [&Connected; 2],
) -> Result<Option<String>, StepError> {
    let mut values = Vec::new();
    for client in sides {
        let shard = client.name();
        let row = client
            .query_one(
                "select pg_catalog.pg_get_expr(d.adbin, d.adrelid),
                        (a.attmissingval::text::text[])[1], a.attgenerated <> '' or a.attidentity <> ''
                 from pg_catalog.pg_attribute a
                 left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
                 where a.attrelid = pg_catalog.to_regclass($1) and a.attname = $2",
                &[&table.sql(), &column.name],
            )
            .await
            .at(format_args!("shard {shard}: reading column {} of {table}", column.name))?;
        let (default, missing): (Option<String>, Option<String>) = (row.get(0), row.get(1));
        let computed: bool = row.get(2);
        let fits = !computed
            && default.as_deref().and_then(constant_value) == missing
            && (default.is_none() || missing.is_some());
        values.push(fits.then_some(missing));
    }
    let same = values.iter().all(Option::is_some) && values[0] == values[1];
    Ok((!same).then(|| {
        format!(
            "{table}, column {}: older rows may have other values of it on each shard; add it without a default, or with a constant one",
            column.name
        )
    }))
}

/// Returns the value of a default if it is a literal, in the form in which PostgreSQL prints expressions.
pub(crate) fn constant_value(expression: &str) -> Option<String> {
    let Some(rest) = expression.strip_prefix('\'') else {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
        let is_value = matches!(expression, "true" | "false")
            || expression.parse::<f64>().is_ok_and(f64::is_finite);
        return (is_value && expression.chars().all(plain)).then(|| match expression {
            "true" => "t".to_owned(),
            "false" => "f".to_owned(),
            number => number.to_owned(),
        });
    };
    let mut value = String::new();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        if c != '\'' {
            value.push(c);
            continue;
        }
        let after = chars.as_str();
        if let Some(more) = after.strip_prefix('\'') {
            value.push('\'');
            chars = more.chars();
            continue;
        }
        let cast = |c: char| c.is_alphanumeric() || " _\"().,[]".contains(c);
        let casts = after.is_empty()
            || after
                .strip_prefix("::")
                .is_some_and(|name| name.chars().all(cast));
        return casts.then_some(value);
    }
    None
}

/// Checks whether a table definition in the stream is only outdated: both shards have the table as the plan describes
/// it.
///
/// # Errors
/// `schema.drift` with the present differences.
pub(crate) async fn check_unchanged(
    planned: &MovingTable,
    retired: &[TableName],
    sides: [&Connected; 2],
) -> Result<(), StepError> {
    let name = std::slice::from_ref(&planned.table);
    let [upstream, downstream] = sides;
    let upstream_facts =
        catalog::facts(upstream, name, RetiredPartitions::OfOwner(retired)).await?;
    let downstream_facts =
        catalog::facts(downstream, name, RetiredPartitions::OfFollower(retired)).await?;
    let lines = differences(
        DefinitionSide {
            shard: upstream.name(),
            definitions: &upstream_facts,
        },
        DefinitionSide {
            shard: downstream.name(),
            definitions: &downstream_facts,
        },
        true,
    );
    if !lines.is_empty() {
        return Err(drift_error(&lines));
    }
    check_same_columns(planned, [upstream]).await
}

/// Checks that each of these shards has the columns of the plan, whatever defaults and constraints they have.
///
/// # Errors
/// `schema.drift` if a shard has other columns.
pub(crate) async fn check_same_columns<const N: usize>(
    planned: &MovingTable,
    sides: [&Connected; N],
) -> Result<(), StepError> {
    for side in sides {
        let columns = catalog::columns(side, &planned.table).await?;
        let columns: Vec<Column> = columns.into_iter().map(|found| found.column).collect();
        if columns != planned.columns {
            return Err(StepError::refused(
                StepCode::SchemaDrift,
                format!(
                    "shard {} has table {} in another form than the plan",
                    side.name(),
                    planned.table
                ),
                "`resume` continues with this form if it can",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::constant_value;

    #[test]
    fn only_literals_are_constants() {
        let value = |text: &str| constant_value(text);
        assert_eq!(value("5").as_deref(), Some("5"));
        assert_eq!(value("'-1'::integer").as_deref(), Some("-1"));
        assert_eq!(value("'it''s'::character varying").as_deref(), Some("it's"));
        assert_eq!(value("true").as_deref(), Some("t"));
        for text in [
            "now()",
            "nextval('s'::regclass)",
            "'a'::text || 'b'::text",
            "CURRENT_DATE",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
