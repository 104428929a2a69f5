//! Builds the statement of a single change. Its parameters have the format in which the values arrived.

use plans::sql::quote_ident;

use super::change::{RowChange, RowChangeKind};
use super::param::{StatementParam, as_param};
use super::target::ApplyTarget;
use crate::error::StepError;
use crate::postgres::pgoutput::{OldRow, Tuple};

/// Builds the statement of the change, which must affect exactly one row.
///
/// # Errors
/// `capture.incomplete_row` if the change lacks a value.
pub(super) fn statement(change: &RowChange) -> Result<(String, Vec<StatementParam>), StepError> {
    let target = &*change.target;
    let statement = match &change.kind {
        RowChangeKind::Insert(new) => insert(target, new),
        RowChangeKind::Update {
            old,
            new,
            key_changed,
        } => update(target, old, new, *key_changed),
        RowChangeKind::Delete(old) => delete(target, old),
    };
    statement.ok_or_else(|| target.incomplete_row_error())
}

fn insert(target: &ApplyTarget, new: &Tuple) -> Option<(String, Vec<StatementParam>)> {
    let mut params = Vec::with_capacity(new.0.len());
    let mut columns = Vec::with_capacity(new.0.len());
    for (index, value) in new.0.iter().enumerate() {
        if target.is_written[index] {
            columns.push(target.column(index));
            params.push(as_param(value)?);
        }
    }
    let parameters: Vec<String> = (1..=columns.len()).map(|n| format!("${n}")).collect();
    let sql = format!(
        "insert into {} ({}) overriding system value values ({})",
        target.name.sql(),
        columns.join(", "),
        parameters.join(", ")
    );
    Some((sql, params))
}

/// Builds an UPDATE. Columns whose values did not arrive keep their values.
fn update(
    target: &ApplyTarget,
    old: &OldRow,
    new: &Tuple,
    key_changed: bool,
) -> Option<(String, Vec<StatementParam>)> {
    let mut params = Vec::new();
    let mut set = Vec::new();
    for (index, column) in target.relation.columns.iter().enumerate() {
        let is_unchanged_key = !key_changed && target.key.contains(&index);
        if let (false, true, Some(value)) = (
            is_unchanged_key,
            target.is_settable[index],
            as_param(&new.0[index]),
        ) {
            params.push(value);
            set.push(format!("{} = ${}", quote_ident(&column.name), params.len()));
        }
    }
    let before = match old {
        OldRow::Absent => new,
        OldRow::Key(row) | OldRow::Full(row) => row,
    };
    let mut condition = target.row_condition(before, &mut params)?;
    for (index, column) in target.relation.columns.iter().enumerate() {
        // No UPDATE can set this column to a value, but `SET column = DEFAULT` may have changed it upstream. This
        // cannot be repeated, so the statement compares the column, and affects no row if the value differs.
        let must_compare = target.is_written[index] && !target.is_settable[index];
        if let (true, Some(value)) = (must_compare, as_param(&new.0[index])) {
            params.push(value);
            let column = quote_ident(&column.name);
            condition.push_str(&format!(" and {column} = ${}", params.len()));
        }
    }
    let table = target.name.sql();
    let sql = if set.is_empty() {
        format!("select 1 from {table} where {condition} for update")
    } else {
        format!("update {table} set {} where {condition}", set.join(", "))
    };
    Some((sql, params))
}

fn delete(target: &ApplyTarget, old: &Tuple) -> Option<(String, Vec<StatementParam>)> {
    let mut params = Vec::new();
    let condition = target.row_condition(old, &mut params)?;
    let sql = format!("delete from {} where {condition}", target.name.sql());
    Some((sql, params))
}
