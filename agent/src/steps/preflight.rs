//! Preflight: repeats the survey, which checks both shards for everything that could prevent the move, and records the
//! identities of both servers.

use std::collections::BTreeSet;

use plans::doctor::Finding;
use plans::failure::{Severity, StepCode};
use plans::identity::DatabaseIdentity;
use plans::request::Ddl;
use plans::shard_map::MapSettings;
use plans::step::preflight::Preflighted;
use plans::survey::SurveyTask;
use plans::table::TableName;

use crate::error::{StepError, WithIntent};
use crate::inspect::survey;
use crate::migration::context::StepContext;
use crate::postgres::replication::ReplicationSession;
use crate::shard::database::Shard;
use crate::shard::guard::ddl_guard;
use crate::steps::{dual_write, leftover};

pub(super) async fn run(context: &StepContext) -> Result<Preflighted, StepError> {
    let dispatch = &context.dispatch;
    context.report_message("checking both shards");
    let task = survey_task(context, MapSettings::listing(&dispatch.tables));
    let survey = survey::run(&task).await?;
    if survey.schema_fingerprint != dispatch.schema_fingerprint {
        return Err(StepError::refused(
            StepCode::SchemaDrift,
            format!(
                "shard {}: the moving tables have changed since the plan was made",
                dispatch.source.name
            ),
            "`abort` the migration and plan it again",
        ));
    }
    check_privileges_to_refuse_ddl(context).await?;
    dual_write::check_possible(context).await?;
    let target = context.target()?;
    // A standby has copies of the source's records.
    if !context.is_seeded() {
        let session = target.session("preflight").await?;
        leftover::refuse_conflicting(context, &session).await?;
    }
    let refusals = refusals(&survey.findings);
    if !refusals.is_empty() {
        return Err(StepError::refused(
            StepCode::Preflight,
            refusals.join("; "),
            "fix each of them, then `resume`",
        ));
    }
    let source = read_identity(&context.source()?).await?;
    let target = read_identity(&target).await?;
    dual_write::check_different_servers(context, &source, &target)?;
    fail_point::hit("preflight.checked").await?;
    Ok(Preflighted {
        findings: survey.findings,
        source,
        target,
    })
}

/// Returns a line for each finding that refuses the move.
pub(super) fn refusals(findings: &[Finding]) -> Vec<String> {
    let refused = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Refused);
    let line = |finding: &Finding| {
        format!(
            "{}: {} ({})",
            finding.object, finding.problem, finding.remedy
        )
    };
    refused.map(line).collect()
}

/// Returns the task to survey the tables of `settings` again, for a migration whose plan is made.
pub(super) fn survey_task(context: &StepContext, settings: MapSettings) -> SurveyTask {
    let dispatch = &context.dispatch;
    let mut settings = settings;
    if !settings.keyed_by.is_column() {
        // They decide which tables of the schemas move, and which schemas are shared.
        let names = |tables: &BTreeSet<TableName>| tables.iter().map(ToString::to_string).collect();
        settings.reference = names(&dispatch.reference_tables);
        settings.ignore = names(&dispatch.ignored_tables);
    }
    SurveyTask {
        map: dispatch.map.clone(),
        source: dispatch.source.clone(),
        target: dispatch.target.clone(),
        settings,
        keys: dispatch.keys.clone(),
        mapped: None,
        key: dispatch.key.clone(),
        mode: dispatch.mode,
        seed: dispatch.options.seed,
        again: true,
        trial: false,
    }
}

/// Checks the privileges for `ddl: refuse`, which needs event triggers. Only a superuser can create them.
async fn check_privileges_to_refuse_ddl(context: &StepContext) -> Result<(), StepError> {
    if context.dispatch.options.ddl != Ddl::Refuse {
        return Ok(());
    }
    for shard in [context.source()?, context.target()?] {
        let session = shard.session("preflight").await?;
        if !ddl_guard::can_create(&session).await? {
            return Err(StepError::refused(
                StepCode::PreflightDdl,
                format!(
                    "shard {}: `ddl: refuse` needs event triggers, which only a superuser can create, and the role of the agents is not a superuser",
                    shard.name
                ),
                "make the role superuser, then `resume`; or `abort` the migration and plan with `ddl: halt`, which detects changes",
            ));
        }
    }
    Ok(())
}

async fn read_identity(shard: &Shard) -> Result<DatabaseIdentity, StepError> {
    let what = format!("shard {}: identifying the server", shard.name);
    let name = shard.application_name("identify");
    let mut session = ReplicationSession::open(&shard.dsn, &name)
        .await
        .at(&what)?;
    let system = session.identify_system().await.at(&what)?;
    Ok(DatabaseIdentity {
        system: system.system_id.to_string(),
        timeline: i32::try_from(system.timeline).unwrap_or(i32::MAX),
        ..DatabaseIdentity::default()
    })
}
