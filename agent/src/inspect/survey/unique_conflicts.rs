//! Finds unique values that exist on both shards, by merging two sorted results in limited memory.

use std::cmp::Ordering;

use plans::sql::quote_ident;
use plans::survey::SurveyTask;
use plans::table::MovingTable;

use super::super::sorted::SortedRows;
use super::SurveySessions;
use super::unique::ComparedIndex;
use crate::error::StepError;
use crate::inspect::findings::Findings;

/// The maximum number of conflicting rows that a finding names on each shard, by their identity, or by the shard key if
/// the table has no identity.
const MAX_NAMED: usize = 20;

/// The unique values that both results contain, and the first rows with them.
#[derive(Debug, Default)]
struct UniqueConflicts {
    values: u64,
    source: Vec<String>,
    target: Vec<String>,
}

/// Refuses the move if a moving row and a row of the target have the same values in this index.
pub(super) async fn check(
    shards: &SurveySessions,
    table: &MovingTable,
    index: &ComparedIndex,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let action_on =
        |shard: &str| format!("shard {shard}: reading {} of {}", index.name, table.table);
    let (source_action, target_action) = (
        action_on(task.source.name.as_str()),
        action_on(task.target.name.as_str()),
    );
    let moving = Some(table.predicate(&task.keys, ""));
    let source = SortedRows::open(
        &shards.source,
        indexed_values_sql(table, index, moving),
        source_action,
    );
    let target = SortedRows::open(
        &shards.target,
        indexed_values_sql(table, index, None),
        target_action,
    );
    let (source, target) = tokio::try_join!(source, target)?;
    let conflicts = find_conflicts(source, target).await?;
    if conflicts.values == 0 {
        return Ok(());
    }
    findings.add_refusal(
        "target.clash",
        format!(
            "shard {}, constraint {} of {}",
            task.target.name, index.name, table.table
        ),
        format!(
            "{} value(s) are on both shards: rows {} of shard {}, rows {} of shard {}{}",
            conflicts.values,
            conflicts.source.join(", "),
            task.source.name,
            conflicts.target.join(", "),
            task.target.name,
            if conflicts.source.len() < MAX_NAMED {
                ""
            } else {
                ", and more"
            }
        ),
        "change or delete one row of each pair, or add the columns of the shard key to the constraint",
    );
    Ok(())
}

/// Returns the query for the indexed rows: the value, and the identity of the row (the shard key if the table has no
/// identity), in the order of the value's bytes.
fn indexed_values_sql(
    table: &MovingTable,
    index: &ComparedIndex,
    moving: Option<String>,
) -> String {
    let row_columns = table.identity.iter().map(|name| quote_ident(name));
    let mut row_columns: Vec<String> = row_columns.collect();
    if row_columns.is_empty() {
        row_columns.extend(table.key_names().into_iter().map(quote_ident));
    }
    let mut conditions: Vec<String> = moving.into_iter().chain(index.condition.clone()).collect();
    if !index.nulls_conflict {
        let not_null = index
            .values
            .iter()
            .map(|value| format!("{value} is not null"));
        conditions.extend(not_null);
    }
    if conditions.is_empty() {
        conditions.push("true".to_owned());
    }
    format!(
        "select shardwright_value, shardwright_row from (
           select array[{values}]::pg_catalog.text as shardwright_value,
                  row({row_columns})::pg_catalog.text as shardwright_row
           from only {name} where {conditions}) shardwright_values
         order by shardwright_value collate pg_catalog.\"C\"",
        values = index.values.join(", "),
        row_columns = row_columns.join(", "),
        name = table.table.sql(),
        conditions = conditions.join(" and "),
    )
}

async fn find_conflicts(
    mut source: SortedRows,
    mut target: SortedRows,
) -> Result<UniqueConflicts, StepError> {
    let mut conflicts = UniqueConflicts::default();
    let (mut source_row, mut target_row) = (source.next().await?, target.next().await?);
    while let (Some((source_value, source_id)), Some((target_value, target_id))) =
        (&source_row, &target_row)
    {
        match source_value.as_bytes().cmp(target_value.as_bytes()) {
            Ordering::Less => source_row = source.next().await?,
            Ordering::Greater => target_row = target.next().await?,
            Ordering::Equal => {
                conflicts.values += 1;
                if conflicts.source.len() < MAX_NAMED {
                    conflicts.source.push(source_id.clone());
                    conflicts.target.push(target_id.clone());
                }
                // Each side has a value only once, because the index is unique.
                source_row = source.next().await?;
                target_row = target.next().await?;
            }
        }
    }
    Ok(conflicts)
}
