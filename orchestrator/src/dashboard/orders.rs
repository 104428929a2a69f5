//! The operator's orders as forms: what each does, and the page that asks again before a dangerous one.

use super::ACTOR;
use super::page::{Page, PageError};
use crate::api::ApiError;
use crate::controller::{Command, ControlError, Controller};
use crate::store::{Migration, Snapshot};
use askama::Template;
use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use plans::id::MigrationId;
use serde::Deserialize;

/// An order as a form.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// The migration.
    pub(super) id: String,
    /// The word in the address and on the command line.
    pub(super) name: &'static str,
    /// The word on the button.
    pub(super) label: &'static str,
    /// What it does, in one sentence.
    pub(super) effect: String,
    /// It cannot be taken back, so that the id must be typed.
    pub(super) grave: bool,
    /// It is what the migration waits for.
    pub(super) first: bool,
}

impl Order {
    fn new(command: Command, m: &Migration) -> Self {
        let (source, target) = (&m.plan.moving.source, &m.plan.moving.target);
        let (label, effect) = match command {
            Command::Approve => (
                "Approve the cutover",
                format!(
                    "Writes to the moving keys are refused for some milliseconds, never over {} ms, then {target} owns them.",
                    m.plan.options.write_stop_budget_ms
                ),
            ),
            Command::Pause => (
                "Pause",
                "Stops at the next safe point and keeps everything that was done.".to_owned(),
            ),
            Command::Resume => ("Resume", "Goes on from where it stopped.".to_owned()),
            Command::Retry => (
                "Retry now",
                "Tries the step again at once, with all its attempts.".to_owned(),
            ),
            Command::Abort => (
                "Abort",
                format!("Takes back everything that was created; {source} keeps the keys."),
            ),
            Command::Rollback => (
                "Roll back",
                format!(
                    "Gives the keys back to {source}, with what was written on {target} since."
                ),
            ),
            Command::Finish => (
                "Finish",
                format!("Deletes the old rows from {source}; no roll back is possible afterwards."),
            ),
        };
        Self {
            id: m.id.to_string(),
            name: command.name(),
            label,
            effect,
            grave: is_grave(command),
            first: matches!(command, Command::Approve | Command::Resume),
        }
    }

    /// The same order on the command line.
    pub(super) fn line(&self) -> String {
        format!("shardwright {} {}", self.name, self.id)
    }

    /// The class of its button.
    fn class(&self) -> &'static str {
        match (self.grave, self.first) {
            (true, _) => "button grave",
            (false, true) => "button first",
            (false, false) => "button",
        }
    }
}

fn is_grave(command: Command) -> bool {
    matches!(
        command,
        Command::Abort | Command::Rollback | Command::Finish
    )
}

/// The buttons that the state allows.
#[derive(Template)]
#[template(path = "migration/orders.html")]
pub(super) struct Orders {
    orders: Vec<Order>,
}

impl Orders {
    /// What may be ordered now.
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let m = &snapshot.migration;
        let allowed = Command::allowed(snapshot).into_iter();
        // After a failure resume and retry are the same order.
        let resumes = allowed.clone().any(|command| command == Command::Resume);
        let shown = allowed.filter(|command| !(resumes && *command == Command::Retry));
        Self {
            orders: shown.map(|command| Order::new(command, m)).collect(),
        }
    }
}

#[derive(Template)]
#[template(path = "confirm.html")]
struct Confirm {
    order: Order,
    wrong: Option<String>,
}

/// The form's field.
#[derive(Debug, Deserialize)]
pub(super) struct Given {
    /// The migration's id, typed.
    #[serde(default)]
    confirm: String,
}

/// Asks again; the way without JavaScript.
pub(super) async fn confirm(
    State(controller): State<Controller>,
    Path((id, command)): Path<(String, String)>,
) -> Result<Page, PageError> {
    let command = parse(&command)?;
    let snapshot = controller.load(&MigrationId(id)).await?;
    Ok(ask(command, &snapshot.migration, None))
}

/// Carries out an order, then shows the migration.
pub(super) async fn give(
    State(controller): State<Controller>,
    Path((id, command)): Path<(String, String)>,
    Form(given): Form<Given>,
) -> Result<Response, PageError> {
    let command = parse(&command)?;
    let id = MigrationId(id);
    if is_grave(command) && given.confirm.trim() != id.as_str() {
        let snapshot = controller.load(&id).await?;
        let what = format!("{:?} is not the id of this migration", given.confirm);
        let (status, problem) = ApiError::from(ControlError::Invalid { what }).into_parts();
        let page = ask(command, &snapshot.migration, Some(problem.detail));
        return Ok((status, page).into_response());
    }
    controller.command(&id, command, ACTOR, None).await?;
    Ok(Redirect::to(&format!("/migrations/{id}")).into_response())
}

fn ask(command: Command, m: &Migration, wrong: Option<String>) -> Page {
    let order = Order::new(command, m);
    let title = format!("{} {}", order.label, m.id);
    Page::still(&title, &Confirm { order, wrong })
}

fn parse(name: &str) -> Result<Command, ControlError> {
    Command::parse(name).ok_or_else(|| ControlError::missing("command", name))
}
