//! Survey: looks at both shards for a plan, and again in preflight; changes nothing. A trial writes
//! on the target, and rolls back (ADR 56).
//!
//! Order: both servers, the source's tables, the target's state, then, on a target that is live, what is
//! there already. Every finding at once, each with its object and what mends it.

mod clashes;
mod crossings;
mod expressions;
mod foreign_keys;
mod functions;
mod identity;
mod own_schema;
mod schema;
mod server;
mod table;
mod tables;
mod target;
mod trial;
mod types;
mod unique;
mod versions;

#[cfg(test)]
pub(crate) use server::check_version;
#[cfg(test)]
pub(crate) use trial::places;

use connect::Connected;
use futures::{StreamExt, TryStreamExt};
use plans::plan::TargetState;
use plans::request::Mode;
use plans::survey::{Survey, SurveyTask};
use plans::table::{MajorVersions, MovingTable, TableKey};

use super::findings::Findings;
use super::{keys, queries};
use crate::error::StepError;
use crate::postgres::catalog::{self, ForeignKey};
use crate::shard::user_code::{self, UserCode};
use tables::ListedTables;

/// The sessions of a survey.
struct SurveySessions {
    here: connect::Connected,
    there: connect::Connected,
}

/// Surveys both shards.
///
/// # Errors
/// When a shard cannot be reached or read; what stands in the way of a move is in the findings.
pub(crate) async fn run(task: &SurveyTask) -> Result<Survey, StepError> {
    let (here, there) = tokio::try_join!(
        super::session(&task.source, "survey"),
        super::session(&task.target, "survey"),
    )?;
    let shards = SurveySessions { here, there };
    let mut findings = Findings::default();
    let versions = check_servers(&shards, task, &mut findings).await?;
    let references = catalog::foreign_keys(&shards.here).await?;
    let mut listed = moving(&shards.here, task, &references, &mut findings).await?;
    let state = target::state(&shards.there, &listed.moving, task, &mut findings).await?;
    // The dump takes as long as the checks: it is made beside them.
    let schema = async {
        match state {
            TargetState::New if task.trial => Some(trial::schema(task, versions[1]).await),
            TargetState::New | TargetState::Live => None,
        }
    };
    let checks = async {
        let findings = &mut findings;
        check_move(&shards, &mut listed, references, state, task, findings).await?;
        let tables = &listed.moving;
        versions::check_pair(&shards.here, tables, state, versions, task, findings).await
    };
    let (schema, checked) = tokio::join!(schema, checks);
    checked?;
    let trial = async {
        match task.trial && !findings.refuse_it() {
            true => trial::run(task, &listed.moving, schema, &mut findings).await,
            false => Ok(None),
        }
    };
    let (trial, moving_ppm, schema_fingerprint) = tokio::try_join!(
        trial,
        moving_ppm(&shards.here, &listed, task),
        catalog::fingerprint(&shards.here, &listed.moving),
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

/// Both servers, and whether they fit; their major versions, the source's first.
async fn check_servers(
    shards: &SurveySessions,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<[i32; 2], StepError> {
    let mut of_target = Findings::default();
    let (ours, theirs) = tokio::try_join!(
        check_server(&shards.here, task.mode, findings),
        check_server(&shards.there, task.mode, &mut of_target),
    )?;
    findings.0.append(&mut of_target.0);
    server::check_pair(&shards.here, &shards.there, task, findings).await?;
    Ok([ours, theirs])
}

/// Everything about the tables that the move would meet on both sides.
async fn check_move(
    shards: &SurveySessions,
    listed: &mut ListedTables,
    references: Vec<ForeignKey>,
    state: TargetState,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let SurveySessions { here, there } = shards;
    if state == TargetState::New {
        tables::add_reference(here, task, listed, findings).await?;
        expressions::check(here, listed, findings).await?;
        schema::check(here, findings).await?;
        foreign_keys::check_copied(&listed.moving, &references, task, findings);
    }
    check_references(here, listed, references, task, findings).await?;
    check_definitions(here, listed, task, findings).await?;
    queries::check_pair(here, there, &listed.moving, state, task, findings).await?;
    if state == TargetState::Live {
        let arriving = listed.moving.iter().map(|table| &table.table);
        queries::check_place(there, arriving, findings).await?;
        check_code(there, listed, findings).await?;
        target::check_live(shards, listed, task, findings).await?;
    }
    Ok(())
}

/// Which rows refer to which, and puts the tables in order.
async fn check_references(
    client: &Connected,
    listed: &mut ListedTables,
    references: Vec<ForeignKey>,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let cut = Some(&task.keys);
    foreign_keys::check(&listed.moving, &references, task, findings);
    crossings::check(client, listed, &references, cut, findings).await?;
    order(&mut listed.moving, references.clone());
    tables::check_orphans(client, listed, &references, findings).await
}

/// Surveys the tables of one shard without a move; those of the task's source, whatever its target.
///
/// # Errors
/// When the shard cannot be read; what stands in the way of a move is in the findings.
pub(super) async fn examine(
    client: &Connected,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<Vec<MovingTable>, StepError> {
    let references = catalog::foreign_keys(client).await?;
    let mut listed = moving(client, task, &references, findings).await?;
    tables::add_reference(client, task, &mut listed, findings).await?;
    foreign_keys::check(&listed.moving, &references, task, findings);
    crossings::check(client, &listed, &references, None, findings).await?;
    tables::check_orphans(client, &listed, &references, findings).await?;
    check_definitions(client, &listed, task, findings).await?;
    Ok(listed.moving)
}

/// What one server offers by itself, and what the role may do there; its major version.
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

/// The sharded tables of the source and those that belong to them.
async fn moving(
    client: &Connected,
    task: &SurveyTask,
    references: &[ForeignKey],
    findings: &mut Findings,
) -> Result<ListedTables, StepError> {
    let shard = task.source.name.as_str();
    let (mut tied, untied) = keys::resolve(&task.settings, &task.key, references);
    for unknown in untied {
        findings.refuse(
            "key.untied",
            format!("shard {shard}, table {}", unknown.table),
            unknown.problem,
            unknown.remedy,
        );
    }
    queries::usable(client, &mut tied, findings).await?;
    let mut listed = tables::moving(client, task, tied, references, findings).await?;
    let unreadable = queries::unreadable(client, &listed.moving).await?;
    listed.unfit.extend(unreadable);
    check_code(client, &mut listed, findings).await?;
    expressions::check(client, &mut listed, findings).await?;
    Ok(listed)
}

/// Nothing is asked of the rows of tables beside which code would run that is not trusted.
async fn check_code(
    client: &Connected,
    listed: &mut ListedTables,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    for code in user_code::find_untrusted(client, &listed.moving).await? {
        // Triggers and rules have findings of their own.
        if !code.fires {
            code.refuse(shard, findings);
        }
        listed.unfit.insert(code.table);
    }
    Ok(())
}

impl UserCode {
    /// As a finding.
    fn refuse(&self, shard: &str, findings: &mut Findings) {
        let object = format!("shard {shard}, {} of table {}", self.place, self.table);
        findings.refuse("code.untrusted", object, &self.problem, &self.remedy);
    }
}

/// What the definitions of the source's tables say, and what the role may do with them.
async fn check_definitions(
    client: &Connected,
    listed: &ListedTables,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shared_out = task.settings.sequences;
    let leaving = listed.moving.iter().map(|table| &table.table);
    queries::check_place(client, leaving, findings).await?;
    queries::check_tables(client, &listed.moving, shared_out, findings).await
}

/// Reference tables first, then parents before children, by foreign key or as the map says.
fn order(tables: &mut Vec<MovingTable>, mut references: Vec<ForeignKey>) {
    for table in tables.iter() {
        if let TableKey::Through(through) = &table.key {
            references.push(ForeignKey {
                name: String::new(),
                from: table.top().clone(),
                to: through.parent.clone(),
                columns: through.columns.clone(),
                validated: false,
            });
        }
    }
    catalog::parents_first(tables, &references);
    tables.sort_by_key(|table| table.key != TableKey::Reference);
}

/// Queries of one session that are under way at a time: a round trip for each table is waited for beside others.
const PIPELINED: usize = 32;

async fn moving_ppm(
    client: &Connected,
    listed: &ListedTables,
    task: &SurveyTask,
) -> Result<Vec<i64>, StepError> {
    let tables = listed.moving.iter();
    let shares: Vec<_> = tables
        .map(|table| share(client, table, listed, task))
        .collect();
    let shares = futures::stream::iter(shares).buffered(PIPELINED);
    shares.try_collect().await
}

/// Parts per million of a table's rows that move, by the planner's estimate.
async fn share(
    client: &Connected,
    table: &MovingTable,
    listed: &ListedTables,
    task: &SurveyTask,
) -> Result<i64, StepError> {
    match &table.key {
        _ if listed.unfit.contains(&table.table) => Ok(0),
        TableKey::Reference => Ok(1_000_000),
        TableKey::Columns(_) | TableKey::Through(_) => {
            let predicate = table.predicate(&task.keys, "");
            catalog::selectivity_ppm(client, table, &predicate).await
        }
    }
}
