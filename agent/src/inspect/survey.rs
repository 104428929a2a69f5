//! The survey: checks both shards for a plan, and again in the step `preflight`. It changes nothing; the trial of a
//! plan writes on the target and rolls back (ADR 56).
//!
//! The survey first checks both servers, then the tables of the source, then the state of the target, and, on a live
//! target, what would conflict with the moving rows. It reports all findings at once, each with its object and its
//! remedy.

mod crossings;
mod expressions;
mod foreign_keys;
mod functions;
mod identity;
mod own_schema;
mod schema;
mod seeded;
mod server;
mod standby;
mod table;
mod tables;
mod target;
mod trial;
mod types;
mod unique;
mod unique_conflicts;
mod versions;

#[cfg(test)]
pub(crate) use server::check_version;
#[cfg(test)]
pub(crate) use standby::{check_privilege, check_replay};
#[cfg(test)]
pub(crate) use trial::sample_row_ids;

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use futures::{StreamExt, TryStreamExt};
use plans::doctor::Finding;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::plan::TargetState;
use plans::request::{Mode, Seed};
use plans::shard_map::KeyedBy;
use plans::survey::{Survey, SurveyTask};
use plans::table::{MajorVersions, MovingTable, TableKey, TableName};

use super::findings::Findings;
use super::{keys, queries};
use crate::error::{StepError, WithIntent};
use crate::postgres::catalog::{self, ForeignKey, TableFacts, TableSizes};
use crate::shard::user_code::{self, UserCode};
use tables::ListedTables;

/// The sessions of a survey on both shards.
struct SurveySessions {
    source: connect::Connected,
    target: connect::Connected,
}

/// Surveys both shards.
///
/// # Errors
/// If a shard cannot be reached or read. Everything that would prevent the move is in the findings.
pub(crate) async fn run(task: &SurveyTask) -> Result<Survey, StepError> {
    if task.seed == Seed::Standby {
        return seeded::run(task).await;
    }
    let (source, target) = tokio::try_join!(
        super::session(&task.source, "survey"),
        super::session(&task.target, "survey"),
    )?;
    let shards = SurveySessions { source, target };
    let mut findings = Findings::default();
    let versions = check_servers(&shards, task, &mut findings).await?;
    let foreign_keys = catalog::foreign_keys(&shards.source).await?;
    let all_tables = read_tables(&shards.source, task, TableSizes::Measured).await?;
    let mut listed = list_moving_tables(
        &shards.source,
        task,
        all_tables,
        &foreign_keys,
        &mut findings,
    )
    .await?;
    let state = target::find_state(&shards.target, &listed.moving, task, &mut findings).await?;
    let moving = listed.moving.clone();
    // The dump of the schema takes as long as the checks, so both run concurrently.
    let schema = async {
        match state {
            TargetState::New if task.trial => {
                Some(trial::schema(task, &moving, &shards.target).await)
            }
            TargetState::New | TargetState::Live | TargetState::Standby => None,
        }
    };
    let checks = async {
        let findings = &mut findings;
        check_move(&shards, &mut listed, foreign_keys, state, task, findings).await?;
        let tables = &listed.moving;
        versions::check_pair(&shards.source, tables, state, versions, task, findings).await
    };
    let (schema, checked) = tokio::join!(schema, checks);
    checked?;
    let trial = async {
        match task.trial && !findings.has_refusal() {
            true => trial::run(task, &listed.moving, schema, &mut findings).await,
            false => Ok(None),
        }
    };
    let (trial, moving_ppm, schema_fingerprint) = tokio::try_join!(
        trial,
        moving_ppm(&shards.source, &listed, task),
        catalog::fingerprint(&shards.source, &listed.moving),
    )?;
    Ok(Survey {
        trial,
        moving_ppm,
        schema_fingerprint,
        tables: listed.moving,
        target: state,
        majors: MajorVersions {
            source: versions[0],
            target: versions[1],
        },
        findings: findings.0,
    })
}

/// Checks both servers, and whether they are compatible. Returns their major versions, the source's first.
async fn check_servers(
    shards: &SurveySessions,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<[i32; 2], StepError> {
    let mut target_findings = Findings::default();
    let (source_version, target_version) = tokio::try_join!(
        check_server(&shards.source, task.mode, findings),
        check_server(&shards.target, task.mode, &mut target_findings),
    )?;
    findings.0.append(&mut target_findings.0);
    server::check_pair(&shards.source, &shards.target, task, findings).await?;
    Ok([source_version, target_version])
}

/// Checks everything about the tables that could prevent the move, on both shards.
async fn check_move(
    shards: &SurveySessions,
    listed: &mut ListedTables,
    foreign_keys: Vec<ForeignKey>,
    state: TargetState,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let SurveySessions { source, target } = shards;
    if state == TargetState::New {
        tables::add_reference_tables(source, task, listed, findings).await?;
        if !task.settings.keyed_by.is_column() {
            target::omit_existing_reference_tables(shards, task, listed, findings).await?;
        }
        expressions::check(source, listed, findings).await?;
        schema::check(source, task, &listed.moving, findings).await?;
        foreign_keys::check_copied_references(&listed.moving, &foreign_keys, task, findings);
    }
    check_references(source, listed, foreign_keys, task, findings).await?;
    check_definitions(source, listed, task, findings).await?;
    queries::check_pair(source, target, &listed.moving, state, task, findings).await?;
    if state == TargetState::Live {
        let arriving = listed.moving.iter().map(|table| &table.table);
        queries::check_table_access(target, arriving, findings).await?;
        check_user_code(target, listed, findings).await?;
        target::check_live_target(shards, listed, task, findings).await?;
    }
    Ok(())
}

/// Checks the foreign keys of the tables, and sorts the tables by them.
async fn check_references(
    client: &Connected,
    listed: &mut ListedTables,
    foreign_keys: Vec<ForeignKey>,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let moving_keys = Some(&task.keys);
    foreign_keys::check(&listed.moving, &foreign_keys, task, findings);
    crossings::check(client, listed, &foreign_keys, moving_keys, findings).await?;
    sort_tables(&mut listed.moving, foreign_keys.clone());
    tables::check_orphans(client, listed, &foreign_keys, findings).await
}

/// Surveys the tables of one shard without a move: those of the task's source. The task's target is not used.
///
/// # Errors
/// If the shard cannot be read. Everything that would prevent a move is in the findings.
pub(super) async fn check_source_tables(
    client: &Connected,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<Vec<MovingTable>, StepError> {
    let foreign_keys = catalog::foreign_keys(client).await?;
    // Without a move nobody asks for sizes.
    let all_tables = read_tables(client, task, TableSizes::Estimated).await?;
    let mut listed = list_moving_tables(client, task, all_tables, &foreign_keys, findings).await?;
    tables::add_reference_tables(client, task, &mut listed, findings).await?;
    foreign_keys::check(&listed.moving, &foreign_keys, task, findings);
    crossings::check(client, &listed, &foreign_keys, None, findings).await?;
    tables::check_orphans(client, &listed, &foreign_keys, findings).await?;
    check_definitions(client, &listed, task, findings).await?;
    Ok(listed.moving)
}

/// Checks tables that a running migration adopts. The tables of the plan are not checked again. Returns the moving tables
/// and the findings.
///
/// # Errors
/// If the shard cannot be read.
pub(crate) async fn check_new_tables(
    client: &Connected,
    task: &SurveyTask,
) -> Result<(Vec<MovingTable>, Vec<Finding>), StepError> {
    let mut findings = Findings::default();
    let all_tables = read_tables(client, task, TableSizes::Measured).await?;
    let listed = list_moving_tables(client, task, all_tables, &[], &mut findings).await?;
    check_definitions(client, &listed, task, &mut findings).await?;
    Ok((listed.moving, findings.0))
}

/// Checks one server, and the privileges of the role on it. Returns the server's major version.
pub(super) async fn check_server(
    client: &Connected,
    mode: Mode,
    findings: &mut Findings,
) -> Result<i32, StepError> {
    server::check(client, mode, findings).await?;
    own_schema::check(client, findings).await?;
    queries::check_server(client, mode, findings).await?;
    versions::check(client, mode, findings).await
}

/// Lists the sharded tables of the source and their dependent tables.
async fn list_moving_tables(
    client: &Connected,
    task: &SurveyTask,
    existing: BTreeMap<TableName, TableFacts>,
    foreign_keys: &[ForeignKey],
    findings: &mut Findings,
) -> Result<ListedTables, StepError> {
    let shard = task.source.name.as_str();
    let tables_of_map = keys::TablesOfMap {
        settings: &task.settings,
        types: &task.key,
        existing: &existing,
        keys: &task.keys,
    };
    let (mut keyed_tables, unkeyed_tables) = keys::resolve(tables_of_map, foreign_keys);
    for unkeyed_table in unkeyed_tables {
        findings.add_refusal(
            "key.untied",
            format!("shard {shard}, table {}", unkeyed_table.table),
            unkeyed_table.problem,
            unkeyed_table.remedy,
        );
    }
    queries::remove_unusable_tables(client, &mut keyed_tables, findings).await?;
    let mut listed =
        tables::list_moving_tables(client, task, existing, keyed_tables, foreign_keys, findings)
            .await?;
    let unreadable_tables = queries::unreadable_tables(client, &listed.moving).await?;
    listed.unreadable.extend(unreadable_tables);
    check_user_code(client, &mut listed, findings).await?;
    expressions::check(client, &mut listed, findings).await?;
    Ok(listed)
}

/// Reads the tables of the shard that can matter for the move.
async fn read_tables(
    client: &Connected,
    task: &SurveyTask,
    sizes: TableSizes,
) -> Result<BTreeMap<TableName, TableFacts>, StepError> {
    let left = left_schemas(client, task).await?;
    catalog::tables_without(client, &left, sizes).await
}

/// Returns the schemas whose tables do not matter: those of other keys of a map of schemas.
async fn left_schemas(client: &Connected, task: &SurveyTask) -> Result<Vec<String>, StepError> {
    if task.settings.keyed_by != KeyedBy::Schema {
        return Ok(Vec::new());
    }
    let rows = client
        .query("select nspname::text from pg_catalog.pg_namespace", &[])
        .await
        .at(format_args!("shard {}: reading schemas", client.name()))?;
    let names = rows.iter().map(|row| row.get::<_, String>(0));
    let shared: BTreeSet<String> = task
        .settings
        .reference_tables()
        .into_iter()
        .map(|table| table.schema)
        .collect();
    let is_left = |name: &String| {
        let key = Key::Text(name.clone());
        let is_of_map = task
            .mapped
            .as_ref()
            .is_none_or(|mapped| mapped.contains(&key));
        is_of_map && !shared.contains(name) && !task.keys.contains(&key)
    };
    Ok(names.filter(is_left).collect())
}

/// Adds findings for untrusted code of the tables (`user_code`), and marks these tables as unreadable: the survey does
/// not query their rows.
async fn check_user_code(
    client: &Connected,
    listed: &mut ListedTables,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    for code in user_code::find_untrusted(client, &listed.moving).await? {
        // Triggers and rules have their own findings.
        if !code.fires {
            code.add_refusal(shard, findings);
        }
        listed.unreadable.insert(code.table);
    }
    Ok(())
}

impl UserCode {
    /// Adds a finding that refuses the move because of this code.
    fn add_refusal(&self, shard: &str, findings: &mut Findings) {
        let object = format!("shard {shard}, {} of table {}", self.place, self.table);
        findings.add_refusal("code.untrusted", object, &self.problem, &self.remedy);
    }
}

/// Checks the definitions of the source's tables, and the privileges of the role on them.
async fn check_definitions(
    client: &Connected,
    listed: &ListedTables,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let sequence_policy = task.settings.sequences;
    let leaving = listed.moving.iter().map(|table| &table.table);
    queries::check_table_access(client, leaving, findings).await?;
    queries::check_tables(client, &listed.moving, sequence_policy, findings).await
}

/// Sorts the tables: reference tables first, then parents before children, by the foreign keys and the map's settings.
fn sort_tables(tables: &mut Vec<MovingTable>, mut foreign_keys: Vec<ForeignKey>) {
    for table in tables.iter() {
        if let TableKey::Through(through) = &table.key {
            foreign_keys.push(ForeignKey {
                name: String::new(),
                from: table.top().clone(),
                to: through.parent.clone(),
                columns: through.columns.clone(),
                validated: false,
                of_partition: false,
                cascades: false,
                is_plain: false,
            });
        }
    }
    catalog::parents_first(tables, &foreign_keys);
    tables.sort_by_key(|table| table.key != TableKey::Reference);
}

/// The number of queries that one session pipelines, so that the round trips for the tables overlap.
const PIPELINED: usize = 32;

async fn moving_ppm(
    client: &Connected,
    listed: &ListedTables,
    task: &SurveyTask,
) -> Result<Vec<i64>, StepError> {
    let tables = listed.moving.iter();
    let estimates: Vec<_> = tables
        .map(|table| estimate_moving_ppm(client, table, listed, task))
        .collect();
    let estimates = futures::stream::iter(estimates).buffered(PIPELINED);
    estimates.try_collect().await
}

/// Returns an estimate of the rows of the table that move, in parts per million: that of the planner, or for virtual
/// shards one from a sample.
async fn estimate_moving_ppm(
    client: &Connected,
    table: &MovingTable,
    listed: &ListedTables,
    task: &SurveyTask,
) -> Result<i64, StepError> {
    match &table.key {
        _ if listed.unreadable.contains(&table.table) => Ok(0),
        TableKey::Schema(_) | TableKey::Group(_) | TableKey::Reference => Ok(1_000_000),
        TableKey::Columns(_) | TableKey::Through(_) => {
            let predicate = table.predicate(&task.keys, "");
            match &task.keys {
                KeySet::Hash(buckets) if !buckets.ranges.is_empty() => {
                    catalog::sampled_ppm(client, table, &predicate).await
                }
                KeySet::Range(_) | KeySet::Hash(_) | KeySet::List(_) => {
                    catalog::selectivity_ppm(client, table, &predicate).await
                }
            }
        }
    }
}
