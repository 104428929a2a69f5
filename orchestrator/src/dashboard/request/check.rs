//! Checks a request while the operator types it: whether it is valid, and what it would move.

use super::fields::RequestFields;
use super::form::RequestFormView;
use super::preview::RequestPreview;
use super::{RequestText, fleet_names, map_of, request_text};
use crate::api::ApiError;
use crate::controller::{ControlError, Controller};
use crate::dashboard::page::PageError;
use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::Html;
use plans::planner::Outline;
use plans::request::Request;

/// The maximum number of moves that are named.
const MAX_NAMED: usize = 3;

/// The elements of the page that a change of the request changes.
#[derive(Template)]
#[template(path = "request/check.html")]
struct RequestCheck {
    /// The error and its position.
    wrong: Option<String>,
    /// What the request would do.
    effect: String,
    preview: RequestPreview,
    /// The fields, if the text was changed.
    form: Option<RequestFormView>,
    /// The text, if the fields were changed.
    request: Option<String>,
}

/// The result of a check without agents.
#[derive(Debug)]
pub(super) enum CheckedRequest {
    /// There is no request yet.
    Empty,
    /// What would move.
    Outlined(Outline),
    /// What moves depends on the load.
    DependsOnLoad,
    /// Why no plan can be made.
    Wrong(String),
}

impl CheckedRequest {
    /// Checks a request. It makes no plan and gives no work to agents.
    pub(super) async fn new(controller: &Controller, request: &str) -> Self {
        if request.trim().is_empty() {
            return Self::Empty;
        }
        match controller.sketch(request).await {
            Ok(Some(outline)) => Self::Outlined(outline),
            Ok(None) => Self::DependsOnLoad,
            Err(error) => Self::Wrong(error_text(error)),
        }
    }

    pub(super) fn outline(&self) -> Option<&Outline> {
        match self {
            Self::Outlined(outline) => Some(outline),
            Self::Empty | Self::DependsOnLoad | Self::Wrong(_) => None,
        }
    }

    pub(super) fn depends_on_load(&self) -> bool {
        matches!(self, Self::DependsOnLoad)
    }

    /// Returns the error, and what the request would do.
    pub(super) fn texts(&self) -> (Option<String>, String) {
        match self {
            Self::Empty => (None, String::new()),
            Self::Outlined(outline) => (None, outline_text(outline)),
            Self::DependsOnLoad => (None, load_dependent_text()),
            Self::Wrong(text) => (Some(text.clone()), String::new()),
        }
    }
}

/// Checks a request, and returns what the page shows of it: the check, the preview, and the side of the request that
/// was not edited.
pub(in crate::dashboard) async fn check(
    State(controller): State<Controller>,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Result<Html<String>, PageError> {
    let fields = RequestFields::new(pairs);
    let (text, checked) = match request_text(&controller, &fields).await? {
        RequestText::Read(text) => {
            let checked = CheckedRequest::new(&controller, &text).await;
            (text, checked)
        }
        RequestText::Wrong { text, problem } => (text, CheckedRequest::Wrong(problem)),
    };
    let request = Request::read(&text).ok();
    let map = map_of(&controller, request.as_ref()).await?;
    let (wrong, effect) = checked.texts();
    let is_form = fields.has("operation");
    let form = match (&request, is_form) {
        (Some(request), false) => {
            let fleet = fleet_names(&controller).await?;
            let form = RequestFormView::new(request, map.as_deref(), &fleet);
            Some(form.hidden(true))
        }
        (_, _) => None,
    };
    let check = RequestCheck {
        wrong,
        effect,
        preview: RequestPreview::read(&controller, map.as_deref(), &checked).await?,
        form,
        request: is_form.then_some(text),
    };
    Ok(Html(check.render().unwrap_or_default()))
}

fn load_dependent_text() -> String {
    "The request is valid. Which keys move depends on the load, which agents measure for the plan."
        .to_owned()
}

fn outline_text(outline: &Outline) -> String {
    let moves = outline.moves.iter().take(MAX_NAMED);
    let named: Vec<String> = moves
        .map(|m| {
            format!(
                "{} from {} to {} ({})",
                m.keys,
                m.source,
                m.target,
                m.mode.name()
            )
        })
        .collect();
    let hidden = outline.moves.len().saturating_sub(MAX_NAMED);
    let rest = if hidden > 0 {
        format!(" and {hidden} more moves")
    } else {
        String::new()
    };
    format!("It would move {}{rest}.", named.join(", "))
}

/// Returns the first line of the error, with its position.
fn error_text(error: ControlError) -> String {
    let (_, problem) = ApiError::from(error).into_parts();
    let first = problem.detail.lines().next().unwrap_or_default().to_owned();
    match (problem.line, problem.column) {
        (Some(line), Some(column)) => format!("Line {line}, column {column}: {first}"),
        (Some(line), None) => format!("Line {line}: {first}"),
        (None, _) => first,
    }
}
