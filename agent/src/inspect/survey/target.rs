//! Checks the target: whether it is new or live, and on a live target everything that prevents the move.

use std::collections::BTreeSet;

use connect::Connected;
use plans::inspection::check::schema_differences;
use plans::plan::TargetState;
use plans::shard_map::Sequences;
use plans::survey::SurveyTask;
use plans::table::{MovingTable, TableKey, TableName};

use super::super::reference;
use super::tables::ListedTables;
use super::{SurveySessions, unique, unique_conflicts};
use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;
use crate::postgres::catalog::{self, RetiredPartitions};
use crate::shard::{sequences, user_code};

/// The maximum number of differences, sequences or tables that one finding names.
const MAX_NAMED: usize = 10;

/// Determines the state of the target: new if it has none of the tables, live if it has all. Refuses a target that has
/// only some of them. For a move of whole tables the reference tables do not count: the target may own other keys.
pub(super) async fn find_state(
    client: &Connected,
    moving: &[MovingTable],
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<TargetState, StepError> {
    let shard = task.target.name.as_str();
    let mut wanted: BTreeSet<TableName> = BTreeSet::new();
    if task.settings.keyed_by.is_column() {
        wanted.extend(task.settings.reference_tables());
    }
    wanted.extend(moving.iter().map(|table| table.table.clone()));
    wanted.extend(moving.iter().map(|table| table.top().clone()));
    let existing = catalog::existing(client, &wanted).await?;
    let (present, missing): (Vec<_>, Vec<_>) = wanted
        .into_iter()
        .partition(|table| existing.contains(table));
    if present.is_empty() {
        return Ok(TargetState::New);
    }
    if !missing.is_empty() {
        findings.add_refusal(
            "target.partly",
            format!("shard {shard}, tables {}", list_names(&missing)),
            format!("they are missing, while {} are there", list_names(&present)),
            "create the missing tables as they are on the source, or choose an empty database",
        );
    }
    Ok(TargetState::Live)
}

/// Lists the first items as text, and the number of the others.
pub(super) fn list_names<T: ToString>(items: &[T]) -> String {
    let shown: Vec<String> = items
        .iter()
        .take(MAX_NAMED)
        .map(ToString::to_string)
        .collect();
    let more = items.len().saturating_sub(MAX_NAMED);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{rest}", shown.join(", "))
}

/// Checks everything on a live target that could conflict with the moving rows.
pub(super) async fn check_live_target(
    shards: &SurveySessions,
    listed: &ListedTables,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let parents = listed.moving.iter().filter_map(|table| match &table.key {
        TableKey::Through(through) => Some(&through.parent),
        TableKey::Columns(_) | TableKey::Schema(_) | TableKey::Group(_) | TableKey::Reference => {
            None
        }
    });
    let names = listed
        .moving
        .iter()
        .map(|table| &table.table)
        .chain(parents);
    let existing = catalog::existing(&shards.target, names).await?;
    let differing = compare_schemas(shards, listed, task, findings).await?;
    for table in &listed.moving {
        let name = &table.table;
        let is_comparable = existing.contains(name)
            && !listed.unreadable.contains(name)
            && table.key != TableKey::Reference;
        if !is_comparable {
            continue;
        }
        if let TableKey::Through(through) = &table.key
            && !existing.contains(&through.parent)
        {
            continue;
        }
        refuse_present_keys(&shards.target, table, task, findings).await?;
        // Indexes of different tables cannot be compared; the table was refused already.
        if !differing.contains(name) {
            for index in unique::compared_indexes(&shards.source, table, task, findings).await? {
                unique_conflicts::check(shards, table, &index, task, findings).await?;
            }
        }
    }
    compare_reference_tables(shards, task, findings).await?;
    report_sequences(shards, task, findings).await
}

/// Compares the definitions of the tables on both shards. Returns the tables that differ.
async fn compare_schemas(
    shards: &SurveySessions,
    listed: &ListedTables,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<BTreeSet<TableName>, StepError> {
    let names: Vec<TableName> = listed
        .moving
        .iter()
        .map(|table| table.table.clone())
        .collect();
    let (source, target) = (task.source.name.as_str(), task.target.name.as_str());
    let source_definitions =
        catalog::facts(&shards.source, &names, RetiredPartitions::OfOwner(&[])).await?;
    let target_definitions =
        catalog::facts(&shards.target, &names, RetiredPartitions::OfOwner(&[])).await?;
    let mut differing = BTreeSet::new();
    for (name, source_definition) in source_definitions {
        let Some(target_definition) = target_definitions.get(&name) else {
            continue;
        };
        // Another finding reports a table that is missing completely.
        let differences =
            schema_differences((source, &source_definition), (target, target_definition));
        if differences.is_empty() || source_definition.is_empty() || target_definition.is_empty() {
            continue;
        }
        findings.add_refusal(
            "target.schema",
            format!("shard {target}, table {name}"),
            format!("it differs from the source's: {}", differences.join("; ")),
            "make both definitions the same, columns in the same order",
        );
        differing.insert(name);
    }
    Ok(differing)
}

/// Refuses a target that already has rows with moving keys: they would mix with the copied rows.
async fn refuse_present_keys(
    client: &Connected,
    table: &MovingTable,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = &task.target.name;
    let sql = format!(
        "select count(*) from only {} where {}",
        table.table.sql(),
        table.predicate(&task.keys, "")
    );
    let row = client.query_one(&sql, &[]).await.at(format_args!(
        "shard {shard}: looking for moving keys in {}",
        table.table
    ))?;
    let stray: i64 = row.get(0);
    if stray > 0 {
        findings.add_refusal(
            "target.stray",
            format!("shard {shard}, table {}", table.table),
            format!("{stray} row(s) with moving keys are there already"),
            format!(
                "`map check {}` reports which shard owns these rows, and how to repair this",
                task.map
            ),
        );
    }
    Ok(())
}

/// Reports reference tables whose rows differ: moved rows would reference other rows. A difference does not prevent the
/// move.
pub(super) async fn compare_reference_tables(
    shards: &SurveySessions,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let (source, target) = (task.source.name.as_str(), task.target.name.as_str());
    for name in &task.settings.reference {
        let table = TableName::parse(name);
        let mut has_user_code = false;
        for (client, shard) in [(&shards.source, source), (&shards.target, target)] {
            let tables = [MovingTable::bare(table.clone(), TableKey::Reference)];
            for code in user_code::find_untrusted(client, &tables).await? {
                code.add_refusal(shard, findings);
                has_user_code = true;
            }
        }
        if has_user_code {
            continue;
        }
        let source_digest = reference::digest(&shards.source, &table).await?;
        let target_digest = reference::digest(&shards.target, &table).await?;
        if let (Some(source_digest), Some(target_digest)) = (source_digest, target_digest)
            && source_digest != target_digest
        {
            findings.add(
                "reference.drift",
                format!("shards {source} and {target}, table {table}"),
                format!(
                    "the rows of this reference table differ: {} row(s) on {source}, {} on {target}",
                    source_digest.count, target_digest.count
                ),
                format!("`map check {} --request` proposes a repair", task.map),
            );
        }
    }
    Ok(())
}

/// Removes the reference tables that the target has already from the tables that are copied, and compares their rows.
pub(super) async fn omit_existing_reference_tables(
    shards: &SurveySessions,
    task: &SurveyTask,
    listed: &mut ListedTables,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let tops = listed.moving.iter().map(MovingTable::top);
    let existing = catalog::existing(&shards.target, tops).await?;
    listed
        .moving
        .retain(|table| !table.is_reference() || !existing.contains(table.top()));
    compare_reference_tables(shards, task, findings).await
}

async fn report_sequences(
    shards: &SurveySessions,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let (source, target) = (task.source.name.as_str(), task.target.name.as_str());
    let target_names = sequences::list_names(&shards.target).await?;
    let mut common_names = sequences::list_names(&shards.source).await?;
    common_names.retain(|name| target_names.contains(name));
    if common_names.is_empty() {
        return Ok(());
    }
    let problem = match task.settings.sequences {
        Sequences::Stride => "from the flip on each shard issues values of its own remainder",
        Sequences::Block => "from the flip on each shard issues values of its own block",
        Sequences::Keep => "they do not change; both shards may issue the same values",
    };
    findings.add(
        "target.sequence",
        format!(
            "shards {source} and {target}, sequences {}",
            list_names(&common_names)
        ),
        problem,
        "`sequences: stride`, `block` or `keep` of the map decides",
    );
    Ok(())
}
