//! Unique values that both shards have: found by merging two sorted streams, in bounded memory.

use std::cmp::Ordering;

use plans::sql::quote_ident;
use plans::survey::SurveyTask;
use plans::table::MovingTable;

use super::super::sorted::SortedRows;
use super::SurveySessions;
use super::unique::ComparedIndex;
use crate::error::StepError;
use crate::inspect::findings::Findings;

/// How many clashing rows of each side are named, by primary key.
const NAMED: usize = 20;

/// What two streams have in common.
#[derive(Debug, Default)]
struct UniqueConflicts {
    values: u64,
    here: Vec<String>,
    there: Vec<String>,
}

/// Refuses the move when moving rows have values in this index that rows of the target have too.
pub(super) async fn check(
    shards: &SurveySessions,
    table: &MovingTable,
    index: &ComparedIndex,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let what = |shard: &str| format!("shard {shard}: reading {} of {}", index.name, table.table);
    let (source, target) = (
        what(task.source.name.as_str()),
        what(task.target.name.as_str()),
    );
    let moving = Some(table.predicate(&task.keys, ""));
    let here = SortedRows::open(&shards.here, sorted(table, index, moving), source);
    let there = SortedRows::open(&shards.there, sorted(table, index, None), target);
    let (here, there) = tokio::try_join!(here, there)?;
    let clashes = merge(here, there).await?;
    if clashes.values == 0 {
        return Ok(());
    }
    findings.refuse(
        "target.clash",
        format!(
            "shard {}, constraint {} of {}",
            task.target.name, index.name, table.table
        ),
        format!(
            "{} value(s) are on both shards: rows {} of shard {}, rows {} of shard {}{}",
            clashes.values,
            clashes.here.join(", "),
            task.source.name,
            clashes.there.join(", "),
            task.target.name,
            if clashes.here.len() < NAMED {
                ""
            } else {
                ", and more"
            }
        ),
        "change or delete one row of each pair, or add the key's columns to the constraint",
    );
    Ok(())
}

/// The rows of an index as value and primary key, in the order of the value's bytes.
fn sorted(table: &MovingTable, index: &ComparedIndex, moving: Option<String>) -> String {
    let primary = table.identity.iter().map(|name| quote_ident(name));
    let mut primary: Vec<String> = primary.collect();
    if primary.is_empty() {
        primary.extend(table.key_names().into_iter().map(quote_ident));
    }
    let mut conditions: Vec<String> = moving.into_iter().chain(index.condition.clone()).collect();
    if !index.nulls_clash {
        let given = index
            .values
            .iter()
            .map(|value| format!("{value} is not null"));
        conditions.extend(given);
    }
    if conditions.is_empty() {
        conditions.push("true".to_owned());
    }
    format!(
        "select shardwright_value, shardwright_row from (
           select array[{values}]::pg_catalog.text as shardwright_value,
                  row({primary})::pg_catalog.text as shardwright_row
           from only {name} where {conditions}) shardwright_values
         order by shardwright_value collate pg_catalog.\"C\"",
        values = index.values.join(", "),
        primary = primary.join(", "),
        name = table.table.sql(),
        conditions = conditions.join(" and "),
    )
}

async fn merge(mut here: SortedRows, mut there: SortedRows) -> Result<UniqueConflicts, StepError> {
    let mut clashes = UniqueConflicts::default();
    let (mut ours, mut theirs) = (here.next().await?, there.next().await?);
    while let (Some((value, row)), Some((other, other_row))) = (&ours, &theirs) {
        match value.as_bytes().cmp(other.as_bytes()) {
            Ordering::Less => ours = here.next().await?,
            Ordering::Greater => theirs = there.next().await?,
            Ordering::Equal => {
                clashes.values += 1;
                if clashes.here.len() < NAMED {
                    clashes.here.push(row.clone());
                    clashes.there.push(other_row.clone());
                }
                // The index lets a value be in it once, so both sides go on.
                ours = here.next().await?;
                theirs = there.next().await?;
            }
        }
    }
    Ok(clashes)
}
