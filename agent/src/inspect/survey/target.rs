//! The target: new, or live with the same tables; on a live one everything that is in the way at once.

use std::collections::BTreeSet;

use connect::Connected;
use plans::inspection::check::schema_differences;
use plans::plan::TargetState;
use plans::shard_map::Sequences;
use plans::survey::SurveyTask;
use plans::table::{MovingTable, TableKey, TableName};

use super::super::reference;
use super::tables::ListedTables;
use super::{SurveySessions, clashes, unique};
use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;
use crate::postgres::catalog;
use crate::shard::{sequences, user_code};

/// How many differences, sequences or tables one finding names.
const NAMED: usize = 10;

/// Whether the target has none of the tables or all of them; some is refused.
pub(super) async fn state(
    client: &Connected,
    moving: &[MovingTable],
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<TargetState, StepError> {
    let shard = task.target.name.as_str();
    let there = catalog::tables(client).await?;
    let names = task.settings.reference.iter();
    let mut wanted: BTreeSet<TableName> = names.map(|name| TableName::parse(name)).collect();
    wanted.extend(moving.iter().map(|table| table.table.clone()));
    wanted.extend(moving.iter().map(|table| table.top().clone()));
    let (present, missing): (Vec<_>, Vec<_>) = wanted
        .into_iter()
        .partition(|table| there.contains_key(table));
    if present.is_empty() {
        return Ok(TargetState::New);
    }
    if !missing.is_empty() {
        findings.refuse(
            "target.partly",
            format!("shard {shard}, tables {}", named(&missing)),
            format!("they are missing, while {} are there", named(&present)),
            "create the missing tables as they are on the source, or choose an empty database",
        );
    }
    Ok(TargetState::Live)
}

/// The first of them, and how many more there are.
pub(super) fn named<T: ToString>(items: &[T]) -> String {
    let shown: Vec<String> = items.iter().take(NAMED).map(ToString::to_string).collect();
    let more = items.len().saturating_sub(NAMED);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{rest}", shown.join(", "))
}

/// Everything on a live target that the moving rows would meet.
pub(super) async fn check_live(
    shards: &SurveySessions,
    listed: &ListedTables,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let there = catalog::tables(&shards.there).await?;
    let drifted = check_schema(shards, listed, task, findings).await?;
    for table in &listed.moving {
        let name = &table.table;
        let comparable = there.contains_key(name)
            && !listed.unfit.contains(name)
            && table.key != TableKey::Reference;
        if !comparable {
            continue;
        }
        if let TableKey::Through(through) = &table.key
            && !there.contains_key(&through.parent)
        {
            continue;
        }
        check_stray(&shards.there, table, task, findings).await?;
        // Indexes that differ cannot be compared one by one; the drift is refused already.
        if !drifted.contains(name) {
            for index in unique::indexes(&shards.here, table, task, findings).await? {
                clashes::check(shards, table, &index, task, findings).await?;
            }
        }
    }
    check_reference(shards, task, findings).await?;
    note_sequences(shards, task, findings).await
}

/// The same definitions on both sides; returns the tables that differ.
async fn check_schema(
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
    let ours = catalog::facts(&shards.here, &names).await?;
    let theirs = catalog::facts(&shards.there, &names).await?;
    let mut drifted = BTreeSet::new();
    for (name, here) in ours {
        let Some(there) = theirs.get(&name) else {
            continue;
        };
        // A table that is missing as a whole has been told of.
        let differences = schema_differences((source, &here), (target, there));
        if differences.is_empty() || here.is_empty() || there.is_empty() {
            continue;
        }
        findings.refuse(
            "target.schema",
            format!("shard {target}, table {name}"),
            format!("it differs from the source's: {}", differences.join("; ")),
            "make both definitions the same, columns in the same order",
        );
        drifted.insert(name);
    }
    Ok(drifted)
}

/// Rows of the moving keys that are there already would be mixed with those that come.
async fn check_stray(
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
        findings.refuse(
            "target.stray",
            format!("shard {shard}, table {}", table.table),
            format!("{stray} row(s) with moving keys are there already"),
            format!(
                "`map check {}` tells where they come from and what mends it",
                task.map
            ),
        );
    }
    Ok(())
}

/// Rows that refer to a reference table find other rows there; never in the way of a move.
async fn check_reference(
    shards: &SurveySessions,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let (source, target) = (task.source.name.as_str(), task.target.name.as_str());
    for name in &task.settings.reference {
        let table = TableName::parse(name);
        let mut runs = false;
        for (client, shard) in [(&shards.here, source), (&shards.there, target)] {
            let bare = [MovingTable::bare(table.clone(), TableKey::Reference)];
            for code in user_code::find_untrusted(client, &bare).await? {
                code.refuse(shard, findings);
                runs = true;
            }
        }
        if runs {
            continue;
        }
        let here = reference::digest(&shards.here, &table).await?;
        let there = reference::digest(&shards.there, &table).await?;
        if let (Some(here), Some(there)) = (here, there)
            && here != there
        {
            findings.add(
                "reference.drift",
                format!("shards {source} and {target}, table {table}"),
                format!(
                    "reference table drifted: {} row(s) on {source}, {} on {target}",
                    here.count, there.count
                ),
                format!("`map check {} --request` proposes what mends it", task.map),
            );
        }
    }
    Ok(())
}

async fn note_sequences(
    shards: &SurveySessions,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let (source, target) = (task.source.name.as_str(), task.target.name.as_str());
    let there = sequences::list_names(&shards.there).await?;
    let mut both = sequences::list_names(&shards.here).await?;
    both.retain(|name| there.contains(name));
    if both.is_empty() {
        return Ok(());
    }
    let problem = match task.settings.sequences {
        Sequences::Stride => "from the flip on each shard issues values of its own remainder",
        Sequences::Block => "from the flip on each shard issues values of its own block",
        Sequences::Keep => "they go on as they are; both shards may issue the same values",
    };
    findings.add(
        "target.sequence",
        format!("shards {source} and {target}, sequences {}", named(&both)),
        problem,
        "`sequences: stride`, `block` or `keep` of the map decides",
    );
    Ok(())
}
