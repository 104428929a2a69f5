//! Checks a request while the operator types it: whether it is valid, and what it would move.

use super::RequestForm;
use crate::api::ApiError;
use crate::controller::{ControlError, Controller};
use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::Html;
use plans::planner::Outline;

/// The maximum number of moves that are named.
const MAX_NAMED: usize = 3;

/// The line below the text field.
#[derive(Template)]
#[template(path = "check.html")]
struct RequestCheck {
    /// The error and its position.
    wrong: Option<String>,
    /// What the request would do.
    effect: String,
}

/// Checks a request. It makes no plan and gives no work to agents.
pub(in crate::dashboard) async fn check(
    State(controller): State<Controller>,
    Form(input): Form<RequestForm>,
) -> Html<String> {
    let request = super::unix_lines(&input.request);
    let check = if request.trim().is_empty() {
        RequestCheck {
            wrong: None,
            effect: String::new(),
        }
    } else {
        match controller.sketch(&request).await {
            Ok(outline) => RequestCheck {
                wrong: None,
                effect: outline.map_or_else(load_dependent_text, |outline| outline_text(&outline)),
            },
            Err(error) => RequestCheck {
                wrong: Some(error_text(error)),
                effect: String::new(),
            },
        }
    };
    Html(check.render().unwrap_or_default())
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
