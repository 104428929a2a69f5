//! The survey of a move whose target is a standby of the source. The tables are checked on the source only, because a
//! standby has the same ones.

use connect::Connected;
use plans::plan::TargetState;
use plans::survey::{Survey, SurveyTask};
use plans::table::MajorVersions;

use super::{
    check_definitions, check_references, check_server, expressions, list_moving_tables, moving_ppm,
    read_tables, standby, tables,
};
use crate::error::StepError;
use crate::inspect::findings::Findings;
use crate::postgres::catalog::{self, TableSizes};

/// Surveys the source, and whether the target can become the target of the move.
///
/// # Errors
/// If a shard cannot be reached or read. Everything that would prevent the move is in the findings.
pub(super) async fn run(task: &SurveyTask) -> Result<Survey, StepError> {
    let (source, target) = tokio::try_join!(
        crate::inspect::session(&task.source, "survey"),
        crate::inspect::session(&task.target, "survey"),
    )?;
    let mut findings = Findings::default();
    let version = check_server(&source, task.mode, &mut findings).await?;
    standby::check(&source, &target, &mut findings).await?;
    let listed = list_tables(&source, task, &mut findings).await?;
    let (moving_ppm, schema_fingerprint) = tokio::try_join!(
        moving_ppm(&source, &listed, task),
        catalog::fingerprint(&source, &listed.moving),
    )?;
    Ok(Survey {
        trial: None,
        moving_ppm,
        schema_fingerprint,
        tables: listed.moving,
        target: TargetState::Standby,
        majors: MajorVersions {
            source: version,
            target: version,
        },
        findings: findings.into_vec(),
    })
}

/// Lists the moving tables and the reference tables of the source, and checks them.
async fn list_tables(
    source: &Connected,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<tables::ListedTables, StepError> {
    let foreign_keys = catalog::foreign_keys(source).await?;
    let all_tables = read_tables(source, task, TableSizes::Measured).await?;
    let mut listed = list_moving_tables(source, task, all_tables, &foreign_keys, findings).await?;
    tables::add_reference_tables(source, task, &mut listed, findings).await?;
    expressions::check(source, &mut listed, findings).await?;
    check_references(source, &mut listed, foreign_keys, task, findings).await?;
    check_definitions(source, &listed, task, findings).await?;
    Ok(listed)
}
