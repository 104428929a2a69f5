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
const NAMED: usize = 3;

/// The line below the text field.
#[derive(Template)]
#[template(path = "check.html")]
struct Checked {
    /// The error and its position.
    wrong: Option<String>,
    /// What the request would do.
    would: String,
}

/// Checks a request. It makes no plan and gives no work to agents.
pub(in crate::dashboard) async fn check(
    State(controller): State<Controller>,
    Form(typed): Form<RequestForm>,
) -> Html<String> {
    let request = super::unix_lines(&typed.request);
    let checked = if request.trim().is_empty() {
        Checked {
            wrong: None,
            would: String::new(),
        }
    } else {
        match controller.sketch(&request).await {
            Ok(outline) => Checked {
                wrong: None,
                would: outline.map_or_else(by_loads, |outline| outline_text(&outline)),
            },
            Err(error) => Checked {
                wrong: Some(place(error)),
                would: String::new(),
            },
        }
    };
    Html(checked.render().unwrap_or_default())
}

fn by_loads() -> String {
    "It can be read; which keys it moves follows from the loads, which agents measure for the plan."
        .to_owned()
}

fn outline_text(outline: &Outline) -> String {
    let moves = outline.moves.iter().take(NAMED);
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
    let more = outline.moves.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more moves")
    } else {
        String::new()
    };
    format!("It would move {}{more}.", named.join(", "))
}

fn place(error: ControlError) -> String {
    let (_, problem) = ApiError::from(error).into_parts();
    let first = problem.detail.lines().next().unwrap_or_default().to_owned();
    match (problem.line, problem.column) {
        (Some(line), Some(column)) => format!("Line {line}, column {column}: {first}"),
        (Some(line), None) => format!("Line {line}: {first}"),
        (None, _) => first,
    }
}
