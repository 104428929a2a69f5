//! The page of a new migration: the request as a form and as YAML, what it would do, and the plan.

use super::check::CheckedRequest;
use super::examples::Example;
use super::findings::FindingsView;
use super::form::RequestFormView;
use super::plan::PlanView;
use super::preview::RequestPreview;
use super::{RequestChoice, fleet_names, map_of};
use crate::access::Caller;
use crate::api::{ApiError, Problem};
use crate::controller::{ControlError, Controller};
use crate::dashboard::page::{DashboardPage, PageError};
use askama::Template;
use axum::response::{IntoResponse, Response};
use plans::plan::Plan;
use plans::request::Request;

/// Which side of the request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum RequestSide {
    /// The fields.
    #[default]
    Form,
    /// The text.
    Yaml,
}

impl RequestSide {
    /// Returns the side with this name; without a name, the form.
    pub(super) fn parse(name: &str) -> Self {
        match name {
            "yaml" => Self::Yaml,
            _ => Self::Form,
        }
    }
}

#[derive(Template, Default)]
#[template(path = "request.html")]
pub(super) struct RequestPage {
    request: String,
    side: RequestSide,
    form: Option<RequestFormView>,
    problem: Option<Problem>,
    findings: FindingsView,
    /// The error and the effect of the request, without a plan.
    wrong: Option<String>,
    effect: String,
    preview: RequestPreview,
    plan: Option<PlanView>,
    examples: Vec<RequestChoice>,
    /// The maps in the selection list, if there are several.
    maps: Vec<RequestChoice>,
    /// The CSRF token.
    csrf: String,
}

impl RequestPage {
    pub(super) fn page(mut self, caller: Caller) -> DashboardPage {
        self.csrf = caller.csrf.clone().unwrap_or_default();
        DashboardPage::static_page("New migration", &self, Some(caller))
    }

    /// Creates the page with the selection lists.
    pub(super) async fn new(
        controller: &Controller,
        side: RequestSide,
    ) -> Result<Self, ControlError> {
        let maps = controller.store().maps().await?;
        let selectable = maps.iter().filter(|_| maps.len() > 1);
        let choice = |example: Example| RequestChoice {
            name: example.name().to_owned(),
            label: example.label().to_owned(),
            is_selected: false,
        };
        Ok(Self {
            side,
            examples: Example::ALL.into_iter().map(choice).collect(),
            maps: selectable
                .map(|map| RequestChoice {
                    name: map.name.to_string(),
                    label: format!("{}, {}", map.name, map.strategy),
                    is_selected: false,
                })
                .collect(),
            ..Self::default()
        })
    }

    /// Selects an example and a map in the lists.
    pub(super) fn select(&mut self, example: &str, map: &str) {
        for (choices, name) in [(&mut self.examples, example), (&mut self.maps, map)] {
            for choice in choices {
                choice.is_selected = choice.name == name;
            }
        }
    }

    /// Shows the request `text`, and what it would do.
    pub(super) async fn fill(
        &mut self,
        controller: &Controller,
        text: String,
    ) -> Result<(), ControlError> {
        let request = Request::read(&text).ok();
        let map = map_of(controller, request.as_ref()).await?;
        let checked = CheckedRequest::new(controller, &text).await;
        self.preview = RequestPreview::read(controller, map.as_deref(), &checked).await?;
        (self.wrong, self.effect) = checked.texts();
        let fleet = fleet_names(controller).await?;
        let is_chosen = self.examples.iter().any(|example| example.is_selected);
        if let Some(request) = &request {
            let form = RequestFormView::new(request, map.as_deref(), &fleet);
            self.form = Some(form.hidden(self.side == RequestSide::Yaml));
            if !is_chosen {
                self.select(request.operation(), request.map().as_str());
            }
        }
        self.request = text;
        Ok(())
    }

    /// Shows the plan of the request.
    pub(super) async fn show_plan(
        &mut self,
        controller: &Controller,
        plan: &Plan,
    ) -> Result<(), ControlError> {
        let shards = controller.store().shards().await?;
        self.findings = FindingsView::new(plan.findings.clone(), &shards);
        self.plan = Some(PlanView::new(plan));
        Ok(())
    }

    /// Shows the request again, with the error and its findings.
    pub(super) async fn refused(
        controller: &Controller,
        request: String,
        side: RequestSide,
        error: ControlError,
        caller: Caller,
    ) -> Result<Response, PageError> {
        let (status, mut problem) = ApiError::from(error).into_parts();
        let findings = std::mem::take(&mut problem.findings);
        let shards = controller.store().shards().await?;
        let mut page = Self::new(controller, side).await?;
        page.findings = FindingsView::new(findings, &shards);
        page.problem = Some(problem);
        page.fill(controller, request).await?;
        Ok((status, page.page(caller)).into_response())
    }

    /// Returns whether the form is shown. A text that is no request can only be shown as text.
    fn shows_form(&self) -> bool {
        self.side == RequestSide::Form && self.form.is_some()
    }
}
