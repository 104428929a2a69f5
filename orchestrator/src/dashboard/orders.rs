//! The operator's orders as forms: what each does, and the page that asks again before a dangerous one.
//!
//! An order is given to a migration, or to an operation, where each move that can take it does.

mod operation;

use super::ACTOR;
use super::page::{Page, PageError};
use crate::api::ApiError;
use crate::controller::{Command, ControlError, Controller};
use crate::store::{Migration, Snapshot};
use askama::Template;
use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
pub(super) use operation::{confirm_all, give_all, of_operation};
use plans::id::MigrationId;
use plans::request::Mode;
use serde::Deserialize;

/// An order as a form.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// The migration or operation.
    id: String,
    /// Which of the two.
    whose: &'static str,
    /// The word in the address and on the command line.
    name: &'static str,
    /// The word on the button.
    label: &'static str,
    /// What it does, in one sentence.
    effect: String,
    /// It cannot be taken back, so that the id must be typed.
    grave: bool,
    /// It is what the migration waits for.
    first: bool,
}

impl Order {
    fn new(command: Command, m: &Migration) -> Self {
        let effect = match m.plan.mode {
            Mode::Online => effect(command, m),
            Mode::Offline => effect_offline(command, m),
        };
        Self::to("migration", m.id.as_str(), command, effect)
    }

    fn to(whose: &'static str, id: &str, command: Command, effect: String) -> Self {
        let label = match (command, whose) {
            (Command::Approve, "operation") => "Approve the cutovers",
            (Command::Approve, _) => "Approve the cutover",
            (Command::ApproveCancel, _) => "Cancel the writers",
            (Command::Pause, _) => "Pause",
            (Command::Resume, _) => "Resume",
            (Command::Retry, _) => "Retry now",
            (Command::Abort, _) => "Abort",
            (Command::Rollback, _) => "Roll back",
            (Command::Finish, _) => "Finish",
        };
        Self {
            id: id.to_owned(),
            whose,
            name: command.name(),
            label,
            effect,
            grave: is_grave(command),
            first: matches!(command, Command::Approve | Command::Resume),
        }
    }

    /// Where the migration or operation is shown; the order's form is below it.
    fn path(&self) -> String {
        format!("/{}s/{}", self.whose, self.id)
    }

    /// The same order on the command line.
    fn line(&self) -> String {
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

/// What an order does to a migration whose keys are written to meanwhile.
fn effect(command: Command, m: &Migration) -> String {
    let (source, target) = (&m.plan.moving.source, &m.plan.moving.target);
    match command {
        Command::Approve => format!(
            "Writes to the moving keys are refused for some milliseconds, never over {} ms, then {target} owns them.",
            m.plan.options.write_stop_budget_ms
        ),
        Command::ApproveCancel => {
            let pids = m.cancel.iter().flat_map(|ask| &ask.writers);
            let pids: Vec<String> = pids.map(|writer| writer.pid.to_string()).collect();
            format!(
                "Ends the transactions of server process {} and rolls them back, so that the cutover can begin.",
                pids.join(", ")
            )
        }
        Command::Pause => {
            "Stops at the next safe point and keeps everything that was done.".to_owned()
        }
        Command::Resume => "Goes on from where it stopped.".to_owned(),
        Command::Retry => "Tries the step again at once, with all its attempts.".to_owned(),
        Command::Abort => {
            format!("Takes back everything that was created; {source} keeps the keys.")
        }
        Command::Rollback => {
            format!("Gives the keys back to {source}, with what was written on {target} since.")
        }
        Command::Finish if m.map_version_back.is_some() => {
            format!(
                "Drops the copy on {target} and everything that was created; {source} keeps the keys."
            )
        }
        Command::Finish => {
            format!("Deletes the old rows from {source}; no roll back is possible afterwards.")
        }
    }
}

/// What is different where the moving keys are read-only.
fn effect_offline(command: Command, m: &Migration) -> String {
    let (source, target) = (&m.plan.moving.source, &m.plan.moving.target);
    match command {
        Command::Approve => {
            format!(
                "{target} owns the moving keys some milliseconds later, and takes writes again."
            )
        }
        Command::Pause => {
            "Stops at the next safe point; keys that are read-only stay so meanwhile.".to_owned()
        }
        Command::Abort => format!(
            "Takes back everything that was created; {source} keeps the keys and takes writes again."
        ),
        Command::Finish => {
            format!("Deletes the old rows, which nobody reads any more, from {source}.")
        }
        Command::Resume | Command::Retry | Command::Rollback | Command::ApproveCancel => {
            effect(command, m)
        }
    }
}

fn is_grave(command: Command) -> bool {
    matches!(
        command,
        Command::Abort | Command::Rollback | Command::Finish | Command::ApproveCancel
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
        let allowed = without_twin(Command::allowed(snapshot)).into_iter();
        Self {
            orders: allowed.map(|command| Order::new(command, m)).collect(),
        }
    }
}

/// After a failure resume and retry are the same order.
fn without_twin(mut commands: Vec<Command>) -> Vec<Command> {
    if commands.contains(&Command::Resume) {
        commands.retain(|command| *command != Command::Retry);
    }
    commands
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
    /// The id, typed.
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
    Ok(ask(Order::new(command, &snapshot.migration), None))
}

/// Carries out an order, then shows the migration.
pub(super) async fn give(
    State(controller): State<Controller>,
    Path((id, command)): Path<(String, String)>,
    Form(given): Form<Given>,
) -> Result<Response, PageError> {
    let command = parse(&command)?;
    let id = MigrationId(id);
    let snapshot = controller.load(&id).await?;
    let order = Order::new(command, &snapshot.migration);
    let path = order.path();
    if let Some(again) = unconfirmed(order, &given) {
        return Ok(again);
    }
    controller.command(&id, command, ACTOR, None).await?;
    Ok(Redirect::to(&path).into_response())
}

/// The page that asks again where the typed id is another one.
fn unconfirmed(order: Order, given: &Given) -> Option<Response> {
    if !order.grave || given.confirm.trim() == order.id {
        return None;
    }
    let what = format!("{:?} is not the id of this {}", given.confirm, order.whose);
    let (status, problem) = ApiError::from(ControlError::Invalid { what }).into_parts();
    Some((status, ask(order, Some(problem.detail))).into_response())
}

fn ask(order: Order, wrong: Option<String>) -> Page {
    let title = format!("{} {}", order.label, order.id);
    Page::still(&title, &Confirm { order, wrong })
}

fn parse(name: &str) -> Result<Command, ControlError> {
    Command::parse(name).ok_or_else(|| ControlError::missing("command", name))
}
