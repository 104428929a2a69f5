//! The page of the doctor: agents examine the fleet, one shard or the shards of a map, and report what prevents moves.

use super::marks::{self, StateMark};
use super::page::{DashboardPage, PageError};
use crate::access::Caller;
use crate::api::ApiError;
use crate::controller::{ControlError, Controller, Diagnosis, DoctorRequest};
use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Form};
use plans::doctor::Finding;
use plans::id::{MapName, ShardName};
use serde::Deserialize;

/// The maximum number of shards in the list.
const MAX_SHARDS: usize = 500;

#[derive(Template)]
#[template(path = "doctor/page.html")]
struct DoctorPage {
    /// The shards and maps in the selection list.
    choices: Vec<DoctorChoice>,
    /// The number of shards that cannot be chosen here.
    hidden: usize,
    found: Option<DoctorFindingsView>,
    wrong: Option<String>,
    command_line: String,
    csrf: String,
}

struct DoctorChoice {
    value: String,
    label: String,
    chosen: bool,
}

/// The findings of an examination.
struct DoctorFindingsView {
    summary: String,
    groups: Vec<DoctorGroup>,
    failed: Vec<UnreachedShard>,
}

/// The findings of a shard, the most severe first.
struct DoctorGroup {
    title: String,
    rows: Vec<(StateMark, Finding)>,
}

/// A shard that no agent could examine.
struct UnreachedShard {
    shards: String,
    message: String,
    hint: Option<String>,
}

/// The form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DoctorForm {
    /// `shard NAME`, `map NAME`, or empty for the whole fleet.
    what: String,
}

impl DoctorForm {
    fn request(&self) -> Result<DoctorRequest, ControlError> {
        let mut request = DoctorRequest::default();
        match self.what.split_once(' ') {
            Some(("shard", name)) => request.shard = Some(ShardName::from(name)),
            Some(("map", name)) => request.map = Some(MapName::from(name)),
            None if self.what.is_empty() => {}
            Some(_) | None => {
                let what = format!("{:?} is neither a shard nor a map", self.what);
                return Err(ControlError::Invalid { what });
            }
        }
        Ok(request)
    }

    fn command_line(&self) -> String {
        match self.what.split_once(' ') {
            Some((kind, name)) => format!("shardwright doctor --{kind} {name}"),
            None => "shardwright doctor".to_owned(),
        }
    }
}

impl DoctorPage {
    async fn new(
        controller: &Controller,
        form: &DoctorForm,
        caller: &Caller,
    ) -> Result<Self, ControlError> {
        let store = controller.store();
        let shards = store.shards().await?;
        let hidden = shards.len().saturating_sub(MAX_SHARDS);
        let shards = shards.into_iter().take(MAX_SHARDS);
        let shards = shards.map(|shard| format!("shard {}", shard.name));
        let maps = store.maps().await?.into_iter();
        let maps = maps.map(|map| format!("map {}", map.name));
        let choice = |value: String| DoctorChoice {
            label: match value.as_str() {
                "" => "every shard and map".to_owned(),
                named => named.to_owned(),
            },
            chosen: value == form.what,
            value,
        };
        let all = std::iter::once(String::new()).chain(maps).chain(shards);
        Ok(Self {
            choices: all.map(choice).collect(),
            hidden,
            found: None,
            wrong: None,
            command_line: form.command_line(),
            csrf: caller.csrf.clone().unwrap_or_default(),
        })
    }

    fn page(self, caller: Caller) -> DashboardPage {
        DashboardPage::static_page("Doctor", &self, Some(caller))
    }
}

/// Shows the form.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
) -> Result<DashboardPage, PageError> {
    let page = DoctorPage::new(&controller, &DoctorForm::default(), &caller).await?;
    Ok(page.page(caller))
}

/// Makes agents examine the selected shards, and shows the findings.
pub(super) async fn examine(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Form(form): Form<DoctorForm>,
) -> Result<Response, PageError> {
    let mut page = DoctorPage::new(&controller, &form, &caller).await?;
    let examined = match form.request() {
        Ok(request) => controller.doctor(request).await,
        Err(error) => Err(error),
    };
    match examined {
        Ok(diagnosis) => {
            page.found = Some(findings_view(diagnosis));
            Ok(page.page(caller).into_response())
        }
        Err(error) => {
            let (status, problem) = ApiError::from(error).into_parts();
            page.wrong = Some(match problem.hint {
                Some(hint) => format!("{}; {hint}", problem.detail),
                None => problem.detail,
            });
            Ok((status, page.page(caller)).into_response())
        }
    }
}

fn findings_view(diagnosis: Diagnosis) -> DoctorFindingsView {
    let summary = format!(
        "Findings: {} that prevent a move, {} warnings, {} notes. {} shards were examined{}.",
        diagnosis.refused,
        diagnosis.warnings,
        diagnosis.notes,
        diagnosis.shards.len(),
        match diagnosis.failed.len() {
            0 => String::new(),
            unreached => format!(", {unreached} could not be examined"),
        }
    );
    let shards = diagnosis.shards.into_iter();
    let groups = shards.map(|shard| DoctorGroup {
        title: format!("Shard {}", shard.shard),
        rows: rows(shard.findings),
    });
    let failed = diagnosis.failed.into_iter().map(|failed| UnreachedShard {
        shards: failed
            .shards
            .iter()
            .map(ShardName::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        message: failed.message,
        hint: failed.hint,
    });
    DoctorFindingsView {
        summary,
        groups: groups.collect(),
        failed: failed.collect(),
    }
}

fn rows(findings: Vec<Finding>) -> Vec<(StateMark, Finding)> {
    let findings = findings.into_iter();
    findings
        .map(|finding| (marks::of_finding(finding.severity), finding))
        .collect()
}
