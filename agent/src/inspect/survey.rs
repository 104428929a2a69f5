//! Survey: looks at both shards for a plan, and again in preflight; changes nothing.
//!
//! Order: both servers, the source's tables, the target's state, then, on a target that is live, what is
//! there already. Every finding at once, each with its object and what mends it.

mod clashes;
mod foreign_keys;
mod server;
mod table;
mod tables;
mod target;
mod unique;

#[cfg(test)]
pub(crate) use server::check_version;

use plans::failure::{Finding, Severity};
use plans::plan::TargetState;
use plans::survey::{Survey, SurveyTask};
use plans::table::{MovingTable, TableKey};
use tokio_postgres::Client;

use super::keys;
use crate::error::StepError;
use crate::pg::catalog::{self, ForeignKey};
use tables::Listed;

/// Findings as they are gathered.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    /// What was found so far.
    #[cfg(test)]
    pub(crate) fn as_slice(&self) -> &[Finding] {
        &self.0
    }

    fn add(
        &mut self,
        severity: Severity,
        code: &str,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.0.push(Finding {
            code: code.to_owned(),
            severity,
            object: object.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        });
    }

    fn refuse(
        &mut self,
        code: &str,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add(Severity::Refused, code, object, problem, remedy);
    }
}

/// The sessions of a survey.
struct Shards {
    here: connect::Connected,
    there: connect::Connected,
}

/// Surveys both shards.
///
/// # Errors
/// When a shard cannot be reached or read; what stands in the way of a move is in the findings.
pub(crate) async fn run(task: &SurveyTask) -> Result<Survey, StepError> {
    let shards = Shards {
        here: super::session(&task.source, "survey").await?,
        there: super::session(&task.target, "survey").await?,
    };
    let mut findings = Findings::default();
    let (source, target) = (task.source.name.as_str(), task.target.name.as_str());
    server::check(&shards.here, source, task.mode, &mut findings).await?;
    server::check(&shards.there, target, task.mode, &mut findings).await?;
    server::check_pair(&shards.here, &shards.there, task, &mut findings).await?;
    let references = catalog::foreign_keys(&shards.here, source).await?;
    let (tied, untied) = keys::resolve(&task.settings, &task.key, &references);
    for unknown in untied {
        findings.refuse(
            "key.untied",
            format!("shard {source}, table {}", unknown.table),
            unknown.problem,
            unknown.remedy,
        );
    }
    let mut listed = tables::moving(&shards.here, task, tied, &mut findings).await?;
    let state = target::state(&shards.there, &listed.moving, task, &mut findings).await?;
    if state == TargetState::New {
        tables::add_reference(&shards.here, task, &mut listed, &mut findings).await?;
    }
    foreign_keys::check(&listed.moving, &references, task, &mut findings);
    order(&mut listed.moving, references.clone());
    tables::check_orphans(&shards.here, &listed, &references, source, &mut findings).await?;
    if state == TargetState::Live {
        target::check_live(&shards, &listed, task, &mut findings).await?;
    }
    Ok(Survey {
        moving_ppm: moving_ppm(&shards.here, &listed, task).await?,
        schema_fingerprint: catalog::fingerprint(&shards.here, &listed.moving, source).await?,
        tables: listed.moving,
        target: state,
        findings: findings.0,
    })
}

/// Reference tables first, then parents before children, by foreign key or as the map says.
fn order(tables: &mut Vec<MovingTable>, mut references: Vec<ForeignKey>) {
    for table in tables.iter() {
        if let TableKey::Through(through) = &table.key {
            references.push(ForeignKey {
                name: String::new(),
                from: table.table.clone(),
                to: through.parent.clone(),
                columns: through.columns.clone(),
                validated: false,
            });
        }
    }
    catalog::parents_first(tables, &references);
    tables.sort_by_key(|table| table.key != TableKey::Reference);
}

async fn moving_ppm(
    client: &Client,
    listed: &Listed,
    task: &SurveyTask,
) -> Result<Vec<i64>, StepError> {
    let mut shares = Vec::with_capacity(listed.moving.len());
    for table in &listed.moving {
        let share = match &table.key {
            _ if listed.unfit.contains(&table.table) => 0,
            TableKey::Reference => 1_000_000,
            TableKey::Columns(_) | TableKey::Through(_) => {
                let predicate = table.predicate(&task.keys, "");
                let shard = task.source.name.as_str();
                catalog::selectivity_ppm(client, table, &predicate, shard).await?
            }
        };
        shares.push(share);
    }
    Ok(shares)
}
