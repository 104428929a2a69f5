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

use plans::failure::{Finding, Severity};
use plans::fix::{Fix, Stage};
use plans::plan::TargetState;
use plans::request::Mode;
use plans::survey::{Survey, SurveyTask};
use plans::table::{Majors, MovingTable, TableKey};
use tokio_postgres::Client;

use super::{doctor, keys};
use crate::error::StepError;
use crate::pg::catalog::{self, ForeignKey};
use crate::pg::user_code::{self, UserCode};
use tables::Listed;

/// Findings as they are gathered.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    /// Everything that was found.
    pub(super) fn into_vec(self) -> Vec<Finding> {
        self.0
    }

    /// What was found so far.
    #[cfg(test)]
    pub(crate) fn as_slice(&self) -> &[Finding] {
        &self.0
    }

    /// Adds a finding; its row in `plans::doctor` says how grave it is.
    pub(super) fn add(
        &mut self,
        code: &str,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> &mut Finding {
        debug_assert!(plans::doctor::find(code).is_some(), "no row for {code}");
        let at = self.0.len();
        self.0.push(Finding::new(code, object, problem, remedy));
        &mut self.0[at]
    }

    /// Adds a finding that refuses.
    pub(super) fn refuse(
        &mut self,
        code: &str,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> &mut Finding {
        let finding = self.add(code, object, problem, remedy);
        debug_assert_eq!(finding.severity, Severity::Refused, "the row of {code}");
        finding
    }
}

impl Findings {
    /// Whether something stands in the way.
    fn refuse_it(&self) -> bool {
        let mut found = self.0.iter();
        found.any(|finding| finding.severity == Severity::Refused)
    }

    /// Adds what was found of a leaf; what holds for the whole table, `of_all`, is reported once, of that.
    fn inherit(&mut self, own: Self, of_all: &Self) {
        for leaf in own.0 {
            let same =
                |whole: &&Finding| (&whole.code, &whole.problem) == (&leaf.code, &leaf.problem);
            let Some(whole) = of_all.0.iter().find(same) else {
                self.0.push(leaf);
                continue;
            };
            let fix = fix_of_leaf(whole, &leaf);
            let mut known = self.0.iter_mut();
            let known = known
                .find(|known| (&known.object, &known.problem) == (&whole.object, &whole.problem));
            match (known, fix) {
                (None, fix) => self.0.push(Finding {
                    fix,
                    ..whole.clone()
                }),
                (Some(known), Some(fix)) => {
                    if let Some(all) = &mut known.fix {
                        all.statements.extend(fix.statements);
                    }
                }
                (Some(_), None) => {}
            }
        }
    }
}

/// Columns are altered at the top, and the leaves follow; each leaf has an identity of its own.
fn fix_of_leaf(whole: &Finding, leaf: &Finding) -> Option<Fix> {
    let (whole, leaf) = (whole.fix.as_ref()?, leaf.fix.as_ref()?);
    let columns = whole.statements.iter().filter(|s| s.stage == Stage::Tables);
    let rest = leaf.statements.iter().filter(|s| s.stage != Stage::Tables);
    Some(Fix {
        shard: leaf.shard.clone(),
        statements: columns.chain(rest).cloned().collect(),
    })
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
    let (here, there) = tokio::try_join!(
        super::session(&task.source, "survey"),
        super::session(&task.target, "survey"),
    )?;
    let shards = Shards { here, there };
    let (source, target) = (task.source.name.as_str(), task.target.name.as_str());
    let (mut findings, mut of_target) = (Findings::default(), Findings::default());
    let (ours, theirs) = tokio::try_join!(
        check_server(&shards.here, source, task.mode, &mut findings),
        check_server(&shards.there, target, task.mode, &mut of_target),
    )?;
    findings.0.append(&mut of_target.0);
    let versions = [ours, theirs];
    server::check_pair(&shards.here, &shards.there, task, &mut findings).await?;
    let references = catalog::foreign_keys(&shards.here, source).await?;
    let mut listed = moving(&shards.here, task, &references, &mut findings).await?;
    let state = target::state(&shards.there, &listed.moving, task, &mut findings).await?;
    if state == TargetState::New {
        tables::add_reference(&shards.here, task, &mut listed, &mut findings).await?;
        expressions::check(&shards.here, &mut listed, source, &mut findings).await?;
        schema::check(&shards.here, source, &mut findings).await?;
        foreign_keys::check_copied(&listed.moving, &references, task, &mut findings);
    }
    check_references(&shards.here, &mut listed, references, task, &mut findings).await?;
    check_definitions(&shards.here, &listed, task, &mut findings).await?;
    doctor::check_pair(
        &shards.here,
        &shards.there,
        &listed.moving,
        state,
        task,
        &mut findings,
    )
    .await?;
    if state == TargetState::Live {
        let arriving = listed.moving.iter().map(|table| &table.table);
        doctor::check_place(&shards.there, arriving, target, &mut findings).await?;
        check_code(&shards.there, &mut listed, target, &mut findings).await?;
        target::check_live(&shards, &listed, task, &mut findings).await?;
    }
    let majors = Majors {
        source: versions[0],
        target: versions[1],
    };
    versions::check_pair(
        &shards.here,
        &listed.moving,
        state,
        versions,
        task,
        &mut findings,
    )
    .await?;
    let tried = task.trial && !findings.refuse_it();
    Ok(Survey {
        trial: match tried {
            true => trial::run(task, (state, &listed.moving), &mut findings).await?,
            false => None,
        },
        moving_ppm: moving_ppm(&shards.here, &listed, task).await?,
        schema_fingerprint: catalog::fingerprint(&shards.here, &listed.moving, source).await?,
        tables: listed.moving,
        target: state,
        majors,
        findings: findings.0,
    })
}

/// Which rows refer to which, and puts the tables in order.
async fn check_references(
    client: &Client,
    listed: &mut Listed,
    references: Vec<ForeignKey>,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let (shard, cut) = (task.source.name.as_str(), Some(&task.keys));
    foreign_keys::check(&listed.moving, &references, task, findings);
    crossings::check(client, listed, &references, cut, shard, findings).await?;
    order(&mut listed.moving, references.clone());
    tables::check_orphans(client, listed, &references, shard, findings).await
}

/// Surveys the tables of one shard without a move; those of the task's source, whatever its target.
///
/// # Errors
/// When the shard cannot be read; what stands in the way of a move is in the findings.
pub(super) async fn examine(
    client: &Client,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<Vec<MovingTable>, StepError> {
    let shard = task.source.name.as_str();
    let references = catalog::foreign_keys(client, shard).await?;
    let mut listed = moving(client, task, &references, findings).await?;
    tables::add_reference(client, task, &mut listed, findings).await?;
    foreign_keys::check(&listed.moving, &references, task, findings);
    crossings::check(client, &listed, &references, None, shard, findings).await?;
    tables::check_orphans(client, &listed, &references, shard, findings).await?;
    check_definitions(client, &listed, task, findings).await?;
    Ok(listed.moving)
}

/// What one server offers by itself, and what the role may do there; its major version.
pub(super) async fn check_server(
    client: &Client,
    shard: &str,
    mode: Mode,
    findings: &mut Findings,
) -> Result<i32, StepError> {
    server::check(client, shard, mode, findings).await?;
    own_schema::check(client, shard, findings).await?;
    doctor::check_server(client, shard, mode, findings).await?;
    versions::check(client, shard, mode, findings).await
}

/// The sharded tables of the source and those that belong to them.
async fn moving(
    client: &Client,
    task: &SurveyTask,
    references: &[ForeignKey],
    findings: &mut Findings,
) -> Result<Listed, StepError> {
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
    doctor::usable(client, &mut tied, shard, findings).await?;
    let mut listed = tables::moving(client, task, tied, references, findings).await?;
    let unreadable = doctor::unreadable(client, &listed.moving, shard).await?;
    listed.unfit.extend(unreadable);
    check_code(client, &mut listed, shard, findings).await?;
    expressions::check(client, &mut listed, shard, findings).await?;
    Ok(listed)
}

/// Nothing is asked of the rows of tables beside which code would run that is not trusted.
async fn check_code(
    client: &Client,
    listed: &mut Listed,
    shard: &str,
    findings: &mut Findings,
) -> Result<(), StepError> {
    for code in user_code::find(client, &listed.moving, shard).await? {
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
    client: &Client,
    listed: &Listed,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let (shard, shared_out) = (task.source.name.as_str(), task.settings.sequences);
    let leaving = listed.moving.iter().map(|table| &table.table);
    doctor::check_place(client, leaving, shard, findings).await?;
    doctor::check_tables(client, &listed.moving, shared_out, shard, findings).await
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
