//! Survey: looks at both shards for a plan, and again in preflight; changes nothing.
//!
//! Every finding at once, each with its object and what mends it.

mod server;
mod tables;

#[cfg(test)]
pub(crate) use server::check_version;

use plans::failure::{Failure, Finding, Severity};
use plans::id::{Epoch, MigrationId};
use plans::survey::{Survey, SurveyTask};

use crate::error::StepError;
use crate::pg::catalog;
use crate::pg::shard::Shard;

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

/// Surveys both shards.
///
/// # Errors
/// When a shard cannot be reached or read; what stands in the way of a move is in the findings.
pub(crate) async fn run(task: &SurveyTask) -> Result<Survey, StepError> {
    let nobody = MigrationId("survey".to_owned());
    let source = Shard::new(&task.source, &nobody, Epoch(0))?;
    let target = Shard::new(&task.target, &nobody, Epoch(0))?;
    let here = source.session("survey").await?;
    let there = target.session("survey").await?;
    let mut findings = Findings::default();
    server::check(&here, &source.name, &mut findings).await?;
    server::check(&there, &target.name, &mut findings).await?;
    server::check_pair(&here, &there, task, &mut findings).await?;
    let mut moving = tables::moving(&here, task, &source.name, &mut findings).await?;
    let keys = catalog::foreign_keys(&here, &source.name).await?;
    tables::check_foreign_keys(&moving, &keys, &source.name, &mut findings);
    tables::check_target(&there, &moving, task, &target.name, &mut findings).await?;
    catalog::parents_first(&mut moving, &keys);
    let mut moving_ppm = Vec::with_capacity(moving.len());
    for table in &moving {
        let column = plans::table::quote_ident(&table.key_column);
        let predicate = task.keys.predicate(&column);
        moving_ppm.push(catalog::selectivity_ppm(&here, table, &predicate, &source.name).await?);
    }
    let schema_fingerprint = catalog::fingerprint(&here, &moving, &source.name).await?;
    Ok(Survey {
        tables: moving,
        moving_ppm,
        schema_fingerprint,
        findings: findings.0,
    })
}

/// The failure to report when no survey could be made.
pub(crate) fn failure(error: &StepError) -> Failure {
    error.failure().cloned().unwrap_or(Failure {
        code: "survey.interrupted".to_owned(),
        message: error.to_string(),
        hint: None,
        retry: plans::failure::RetryClass::Exponential,
    })
}
