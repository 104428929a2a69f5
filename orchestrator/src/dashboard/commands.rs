//! The operator's commands as forms: what each does, and the page that asks for confirmation of a dangerous one.
//!
//! A command is for a migration, or for each move of an operation that can take it.

mod operation;

use super::page::{DashboardPage, PageError};
use crate::access::{RouteAccess, Visitor};
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

/// A command as a form.
#[derive(Debug, Clone)]
pub(super) struct CommandForm {
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
    /// It moves keys or cannot be undone, so that the id must be typed.
    grave: bool,
    /// It is what the migration waits for.
    first: bool,
    /// What its form carries.
    csrf: String,
    /// It was given on the page of the cutover, and leads back there.
    on_cutover_page: bool,
}

impl CommandForm {
    /// The command that revokes a token.
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
            on_cutover_page: false,
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
            on_cutover_page: false,
        }
    }

    /// The command's form is below it.
    fn path(&self) -> String {
        format!("/{}s/{}", self.whose, self.id)
    }

    /// The page that follows it, or that its cancel link leads to.
    pub(super) fn back(&self) -> String {
        match self.whose {
            "token" => "/tokens".to_owned(),
            _ if self.on_cutover_page => format!("{}/switch", self.path()),
            _ => self.path(),
        }
    }

    /// The same command on the command line.
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
#[template(path = "migration/commands.html")]
pub(super) struct CommandsView {
    forms: Vec<CommandForm>,
    /// No command is possible any more.
    ended: bool,
}

impl CommandsView {
    /// The same on the page of the cutover, to which each command leads back.
    pub(super) fn of_cutover(snapshot: &Snapshot, visitor: &Visitor) -> Self {
        let mut all = Self::new(snapshot, visitor);
        for form in &mut all.forms {
            form.on_cutover_page = true;
        }
        all
    }

    /// The commands that are possible now.
    pub(super) fn new(snapshot: &Snapshot, visitor: &Visitor) -> Self {
        let m = &snapshot.migration;
        let possible = without_twin(Command::allowed(snapshot));
        let allowed = possible.iter().filter(|command| may(visitor, **command));
        let forms: Vec<CommandForm> = allowed
            .map(|command| CommandForm::new(*command, m, visitor))
            .collect();
        Self {
            ended: possible.is_empty(),
            forms,
        }
    }
}

/// Whether the visitor may give the command.
fn may(visitor: &Visitor, command: Command) -> bool {
    visitor.may(RouteAccess::of_command(command.name()))
}

/// After a failure resume and retry are the same command.
fn without_twin(mut commands: Vec<Command>) -> Vec<Command> {
    if commands.contains(&Command::Resume) {
        commands.retain(|command| *command != Command::Retry);
    }
    commands
}

#[derive(Template)]
#[template(path = "confirm.html")]
struct Confirm {
    form: CommandForm,
    wrong: Option<String>,
}

/// The form's field.
#[derive(Debug, Deserialize)]
pub(super) struct CommandInput {
    /// The id, typed.
    #[serde(default)]
    confirm: String,
    /// Why.
    #[serde(default)]
    reason: String,
    /// `switch` where it was given on the page of the cutover.
    #[serde(default)]
    back: String,
}

impl CommandInput {
    pub(super) fn reason(&self) -> Option<&str> {
        Some(self.reason.trim()).filter(|reason| !reason.is_empty())
    }
}

/// The page that asks for confirmation, for browsers without JavaScript.
pub(super) async fn confirm(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Path((id, command)): Path<(String, String)>,
) -> Result<DashboardPage, PageError> {
    let command = parse(&command)?;
    let snapshot = controller.load(&MigrationId(id)).await?;
    let form = CommandForm::new(command, &snapshot.migration, &visitor);
    Ok(confirmation(form, None, visitor))
}

/// Executes a command, then shows the migration.
pub(super) async fn give(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Path((id, command)): Path<(String, String)>,
    Form(input): Form<CommandInput>,
) -> Result<Response, PageError> {
    let command = parse(&command)?;
    let id = MigrationId(id);
    let snapshot = controller.load(&id).await?;
    let mut form = CommandForm::new(command, &snapshot.migration, &visitor);
    form.on_cutover_page = input.back == "switch";
    let path = form.back();
    if let Some(again) = unconfirmed(form, &input, &visitor) {
        return Ok(again);
    }
    controller
        .command(&id, command, &visitor.name, input.reason())
        .await?;
    Ok(Redirect::to(&path).into_response())
}

/// The page that asks for confirmation again where the typed id is another one.
pub(super) fn unconfirmed(
    form: CommandForm,
    input: &CommandInput,
    visitor: &Visitor,
) -> Option<Response> {
    if !form.grave || input.confirm.trim() == form.id {
        return None;
    }
    let what = format!("{:?} is not the id of this {}", input.confirm, form.whose);
    let (status, problem) = ApiError::from(ControlError::Invalid { what }).into_parts();
    let page = confirmation(form, Some(problem.detail), visitor.clone());
    Some((status, page).into_response())
}

pub(super) fn confirmation(
    form: CommandForm,
    wrong: Option<String>,
    visitor: Visitor,
) -> DashboardPage {
    let title = format!("{} {}", form.label, form.id);
    DashboardPage::still(&title, &Confirm { form, wrong }, Some(visitor))
}

fn parse(name: &str) -> Result<Command, ControlError> {
    Command::parse(name).ok_or_else(|| ControlError::missing("command", name))
}
