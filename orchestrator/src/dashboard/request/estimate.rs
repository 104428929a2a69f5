//! The plan beside the form while the request is typed. Agents survey the shards for it, and try nothing on the targets.

use super::fields::RequestFields;
use super::findings::{FindingsView, GroupedFindings};
use super::plan::PlanView;
use super::{RequestText, request_text};
use crate::access::Caller;
use crate::api::ApiError;
use crate::controller::{ControlError, Controller};
use crate::dashboard::page::PageError;
use askama::Template;
use axum::extract::State;
use axum::response::Html;
use axum::{Extension, Form};

/// The maximum number of objects of one kind of finding. The plan has all of them.
const MAX_OBJECTS: usize = 3;

/// What the plan of the request would say.
#[derive(Template)]
#[template(path = "request/estimate.html")]
struct RequestEstimate {
    plan: Option<PlanView>,
    findings: FindingsView,
    /// Why no plan could be made.
    problem: Option<String>,
}

/// Returns the element of the page with the estimate. While several estimates of the caller run or wait, the request is
/// refused.
pub(in crate::dashboard) async fn estimate(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Result<Html<String>, PageError> {
    let fields = RequestFields::new(pairs);
    let planned = match request_text(&controller, &fields).await? {
        RequestText::Read(text) => controller.estimate(&text, &caller.name).await,
        RequestText::Wrong { problem, .. } => Err(ControlError::Invalid { what: problem }),
    };
    let (plan, findings, problem) = match planned {
        Ok(plan) => {
            let findings = plan.iter().flat_map(|plan| plan.findings.clone()).collect();
            (plan.as_ref().map(PlanView::new), findings, None)
        }
        Err(running @ ControlError::EstimateRunning) => return Err(running.into()),
        Err(error) => {
            let (_, problem) = ApiError::from(error).into_parts();
            let first = problem.detail.lines().next().unwrap_or_default().to_owned();
            (None, problem.findings, Some(first))
        }
    };
    let estimate = RequestEstimate {
        plan,
        findings: FindingsView::new(findings, &[]),
        problem,
    };
    Ok(Html(estimate.render().unwrap_or_default()))
}

impl RequestEstimate {
    /// Returns how many objects of a kind are not listed.
    fn hidden(group: &GroupedFindings) -> usize {
        (group.objects.len() + group.hidden).saturating_sub(MAX_OBJECTS)
    }
}
