//! The doctor: everything of one shard that would stand in the way of a move, without a move.
//!
//! Order: the server, then the tables of each map that is there, as a survey reads a source.

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
/// When the shard cannot be reached or read; what stands in the way of a move is in the findings.
pub(super) async fn run(task: &DoctorTask) -> Result<Examined, StepError> {
    let began = Instant::now();
    let client = super::session(&task.shard, "doctor").await?;
    let shard = task.shard.name.as_str();
    client
        .batch_execute("set default_transaction_read_only = on; set lock_timeout = '5s'")
        .await
        .at(format_args!("shard {shard}"))?;
    let mut findings = Findings::default();
    survey::check_server(&client, task.mode, &mut findings).await?;
    queries::check_beyond(&client, &mut findings).await?;
    let mut tables = BTreeSet::new();
    for map in &task.maps {
        let asked = survey_of(task, map);
        let moving = survey::examine(&client, &asked, &mut findings).await?;
        tables.extend(moving.into_iter().map(|table| table.table));
    }
    let mut found = findings.into_vec();
    sort(&mut found);
    found.dedup();
    Ok(Examined {
        shard: task.shard.name.clone(),
        identity: task.shard.identity.clone(),
        tables: u64::try_from(tables.len()).unwrap_or(u64::MAX),
        findings: found,
        took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// The survey of a move from this shard to nowhere; the other maps' tables are none of this map's.
fn survey_of(task: &DoctorTask, map: &MapTables) -> SurveyTask {
    let mut settings = map.settings.clone();
    for other in task.maps.iter().filter(|other| other.map != map.map) {
        let listed = &other.settings;
        let names = listed.tables.keys().chain(listed.through.keys());
        let names = names.chain(&listed.reference).chain(&listed.ignore);
        settings.ignore.extend(names.cloned());
    }
    SurveyTask {
        map: map.map.clone(),
        source: task.shard.clone(),
        target: task.shard.clone(),
        settings,
        keys: KeySet::range(None, None),
        key: map.key.clone(),
        mode: task.mode,
        again: false,
        trial: false,
    }
}
