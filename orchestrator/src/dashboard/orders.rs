//! The operator's orders as forms: what each does, and the page that asks again before a dangerous one.
//!
//! An order is given to a migration, or to an operation, where each move that can take it does.

mod operation;

use super::page::{Page, PageError};
use crate::access::{Need, Visitor};
use crate::api::ApiError;
use crate::controller::{Command, ControlError, Controller};
use crate::store::{Migration, Snapshot};
use crate::view::effect;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
pub(super) use operation::{confirm_all, give_all, of_operation};
use plans::id::MigrationId;
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
    /// It moves keys or cannot be taken back, so that the id must be typed.
    grave: bool,
    /// It is what the migration waits for.
    first: bool,
    /// What its form carries.
    csrf: String,
    /// It was asked for on the page of the switch, and leads back there.
    on_switch: bool,
}

impl Order {
    /// The order that takes a token back.
    pub(super) fn revoke(name: &str, visitor: &Visitor) -> Self {
        Self {
            id: name.to_owned(),
            whose: "token",
            name: "revoke",
            label: "Revoke",
            effect: format!(
                "Who shows the token of {name} is refused from now on, and browsers that signed in with it are signed out."
            ),
            grave: true,
            first: false,
            csrf: visitor.csrf.clone().unwrap_or_default(),
            on_switch: false,
        }
    }

    fn new(command: Command, m: &Migration, visitor: &Visitor) -> Self {
        let back = m.map_version_back.is_some();
        let effect = effect(command, &m.plan, m.cancel.as_ref(), back);
        Self::to(("migration", m.id.as_str()), command, effect, visitor)
    }

    fn to(
        (whose, id): (&'static str, &str),
        command: Command,
        effect: String,
        visitor: &Visitor,
    ) -> Self {
        let label = match (command, whose) {
            (Command::Approve, "operation") => "Approve the cutovers",
            (Command::Approve, _) => "Approve the cutover",
            (Command::ApproveCancel, _) => "Cancel the writers",
            (Command::Overrule, _) => "Overrule the hook",
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
            csrf: visitor.csrf.clone().unwrap_or_default(),
            on_switch: false,
        }
    }

    /// Below it is the order's form.
    fn path(&self) -> String {
        format!("/{}s/{}", self.whose, self.id)
    }

    /// What is shown once it was given, or was left.
    pub(super) fn back(&self) -> String {
        match self.whose {
            "token" => "/tokens".to_owned(),
            _ if self.on_switch => format!("{}/switch", self.path()),
            _ => self.path(),
        }
    }

    /// The same order on the command line.
    fn line(&self) -> String {
        match self.whose {
            "token" => format!("shardwright token {} {}", self.name, self.id),
            _ => format!("shardwright {} {}", self.name, self.id),
        }
    }

    /// The class of its button.
    fn class(&self) -> &'static str {
        match (self.first, self.grave) {
            (true, _) => "button first",
            (false, true) => "button grave",
            (false, false) => "button",
        }
    }
}

fn is_grave(command: Command) -> bool {
    matches!(
        command,
        Command::Approve
            | Command::Abort
            | Command::Rollback
            | Command::Finish
            | Command::ApproveCancel
            | Command::Overrule
    )
}

/// The buttons that the state allows.
#[derive(Template)]
#[template(path = "migration/orders.html")]
pub(super) struct Orders {
    orders: Vec<Order>,
    /// Nobody can order anything any more.
    ended: bool,
}

impl Orders {
    /// What of it concerns the switch, which leads back to its page.
    pub(super) fn of_switch(snapshot: &Snapshot, visitor: &Visitor) -> Self {
        let mut all = Self::new(snapshot, visitor);
        for order in &mut all.orders {
            order.on_switch = true;
        }
        all
    }

    /// What may be ordered now.
    pub(super) fn new(snapshot: &Snapshot, visitor: &Visitor) -> Self {
        let m = &snapshot.migration;
        let possible = without_twin(Command::allowed(snapshot));
        let allowed = possible.iter().filter(|command| may(visitor, **command));
        let orders: Vec<Order> = allowed
            .map(|command| Order::new(*command, m, visitor))
            .collect();
        Self {
            ended: possible.is_empty(),
            orders,
        }
    }
}

/// Whether the order is the visitor's to give.
fn may(visitor: &Visitor, command: Command) -> bool {
    visitor.may(Need::of_command(command.name()))
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
    /// Why.
    #[serde(default)]
    reason: String,
    /// `switch` where it was asked for on that page.
    #[serde(default)]
    back: String,
}

impl Given {
    pub(super) fn reason(&self) -> Option<&str> {
        Some(self.reason.trim()).filter(|reason| !reason.is_empty())
    }
}

/// Asks again; the way without JavaScript.
pub(super) async fn confirm(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Path((id, command)): Path<(String, String)>,
) -> Result<Page, PageError> {
    let command = parse(&command)?;
    let snapshot = controller.load(&MigrationId(id)).await?;
    let order = Order::new(command, &snapshot.migration, &visitor);
    Ok(ask(order, None, visitor))
}

/// Carries out an order, then shows the migration.
pub(super) async fn give(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Path((id, command)): Path<(String, String)>,
    Form(given): Form<Given>,
) -> Result<Response, PageError> {
    let command = parse(&command)?;
    let id = MigrationId(id);
    let snapshot = controller.load(&id).await?;
    let mut order = Order::new(command, &snapshot.migration, &visitor);
    order.on_switch = given.back == "switch";
    let path = order.back();
    if let Some(again) = unconfirmed(order, &given, &visitor) {
        return Ok(again);
    }
    controller
        .command(&id, command, &visitor.name, given.reason())
        .await?;
    Ok(Redirect::to(&path).into_response())
}

/// The page that asks again where the typed id is another one.
pub(super) fn unconfirmed(order: Order, given: &Given, visitor: &Visitor) -> Option<Response> {
    if !order.grave || given.confirm.trim() == order.id {
        return None;
    }
    let what = format!("{:?} is not the id of this {}", given.confirm, order.whose);
    let (status, problem) = ApiError::from(ControlError::Invalid { what }).into_parts();
    let page = ask(order, Some(problem.detail), visitor.clone());
    Some((status, page).into_response())
}

pub(super) fn ask(order: Order, wrong: Option<String>, visitor: Visitor) -> Page {
    let title = format!("{} {}", order.label, order.id);
    Page::still(&title, &Confirm { order, wrong }, Some(visitor))
}

fn parse(name: &str) -> Result<Command, ControlError> {
    Command::parse(name).ok_or_else(|| ControlError::missing("command", name))
}
