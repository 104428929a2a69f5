//! Finds everything on one shard that would prevent a move, without planning a move (`shardwright doctor`).
//!
//! The agent first checks the server, then the tables of each map of the task, as a survey checks the tables of a
//! source.

use std::collections::BTreeSet;
use std::time::Instant;

use plans::doctor::{DoctorTask, Examined, MapTables, sort};
use plans::key_set::KeySet;
use plans::survey::SurveyTask;

use super::findings::Findings;
use super::{queries, survey};
use crate::error::{StepError, WithIntent};

/// Examines one shard.
///
/// # Errors
/// If the shard cannot be reached or read. Everything that would prevent a move is in the findings.
pub(super) async fn run(task: &DoctorTask) -> Result<Examined, StepError> {
    let started = Instant::now();
    let client = super::session(&task.shard, "doctor").await?;
    let shard = task.shard.name.as_str();
    client
        .batch_execute("set default_transaction_read_only = on; set lock_timeout = '5s'")
        .await
        .at(format_args!("shard {shard}"))?;
    let mut findings = Findings::default();
    survey::check_server(&client, task.mode, &mut findings).await?;
    queries::check_unneeded_privileges(&client, &mut findings).await?;
    let mut tables = BTreeSet::new();
    for map in &task.maps {
        let survey_task = survey_task_for(task, map);
        let moving = survey::check_source_tables(&client, &survey_task, &mut findings).await?;
        tables.extend(moving.into_iter().map(|table| table.table));
    }
    let mut sorted = findings.into_vec();
    sort(&mut sorted);
    sorted.dedup();
    Ok(Examined {
        shard: task.shard.name.clone(),
        identity: task.shard.identity.clone(),
        tables: u64::try_from(tables.len()).unwrap_or(u64::MAX),
        findings: sorted,
        took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// Returns a survey task for a move of all keys without a real target. Tables that other maps list are ignored.
fn survey_task_for(task: &DoctorTask, map: &MapTables) -> SurveyTask {
    let mut settings = map.settings.clone();
    for other_map in task
        .maps
        .iter()
        .filter(|other_map| other_map.map != map.map)
    {
        let listed = &other_map.settings;
        let names = listed.tables.keys().chain(listed.through.keys());
        let names = names.chain(listed.groups.values().flatten());
        let names = names.chain(&listed.reference).chain(&listed.ignore);
        settings.ignore.extend(names.cloned());
    }
    SurveyTask {
        map: map.map.clone(),
        source: task.shard.clone(),
        target: task.shard.clone(),
        settings,
        keys: match &map.mapped {
            Some(schemas) => schemas.clone(),
            None => KeySet::range(None, None),
        },
        mapped: map.mapped.clone(),
        key: map.key.clone(),
        mode: task.mode,
        seed: plans::request::Seed::Copy,
        again: false,
        trial: false,
    }
}
