//! The operator's commands as forms, and the confirmation page of dangerous commands.
//!
//! A command applies to one migration, or to each move of an operation for which it is possible.

mod button_style;
mod operation;

use super::page::{DashboardPage, PageError};
use crate::access::{Caller, RouteAccess};
use crate::api::ApiError;
use crate::controller::{Command, ControlError, Controller};
use crate::store::{Migration, Snapshot};
use crate::view::effect;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
pub(super) use button_style::{ButtonStyle, label, label_for_all};
pub(super) use operation::{confirm_all, give_all, of_operation};
use plans::id::MigrationId;
use serde::Deserialize;

/// A command as a form.
#[derive(Debug, Clone)]
pub(super) struct CommandForm {
    /// The id of the migration or operation, or the name of the token.
    id: String,
    /// The kind of object to which the id belongs.
    object_kind: &'static str,
    /// The name of the command in the URL and on the command line.
    name: &'static str,
    /// The label of the button.
    label: &'static str,
    /// What the command does, in one sentence.
    effect: String,
    /// True if the command changes the owner of keys or cannot be undone, so that the operator must type the id.
    needs_confirmation: bool,
    style: ButtonStyle,
    /// The CSRF token, which the form contains.
    csrf: String,
    /// True if the command is on the page of the cutover. Afterwards the browser returns to that page.
    on_cutover_page: bool,
}

impl CommandForm {
    /// Creates the form that revokes a token.
    pub(super) fn revoke(name: &str, caller: &Caller) -> Self {
        Self {
            id: name.to_owned(),
            object_kind: "token",
            name: "revoke",
            label: "Revoke",
            effect: format!(
                "The controller refuses the token of {name} from now on, and signs out browsers that signed in with it."
            ),
            needs_confirmation: true,
            style: ButtonStyle::Irreversible,
            csrf: caller.csrf.clone().unwrap_or_default(),
            on_cutover_page: false,
        }
    }

    fn new(command: Command, m: &Migration, caller: &Caller) -> Self {
        let is_rolled_back = m.map_version_back.is_some();
        let effect = effect(command, &m.plan, m.cancel.as_ref(), is_rolled_back);
        let form = Self::for_object(("migration", m.id.as_str()), command, effect, caller);
        Self {
            label: label(command, &m.plan, is_rolled_back),
            style: ButtonStyle::of(command, is_rolled_back),
            ..form
        }
    }

    fn for_object(
        (object_kind, id): (&'static str, &str),
        command: Command,
        effect: String,
        caller: &Caller,
    ) -> Self {
        Self {
            id: id.to_owned(),
            object_kind,
            name: command.name(),
            label: label_for_all(command),
            effect,
            needs_confirmation: needs_confirmation(command),
            style: ButtonStyle::of(command, false),
            csrf: caller.csrf.clone().unwrap_or_default(),
            on_cutover_page: false,
        }
    }

    /// Returns the URL of the object. The URL of the form is below it.
    fn path(&self) -> String {
        format!("/{}s/{}", self.object_kind, self.id)
    }

    /// Returns the URL of the page that follows the command, or to which the cancel link leads.
    pub(super) fn return_path(&self) -> String {
        match self.object_kind {
            "token" => "/tokens".to_owned(),
            _ if self.on_cutover_page => format!("{}/switch", self.path()),
            _ => self.path(),
        }
    }

    /// Returns the same command as a command line.
    fn command_line(&self) -> String {
        match self.object_kind {
            "token" => format!("shardwright token {} {}", self.name, self.id),
            _ => format!("shardwright {} {}", self.name, self.id),
        }
    }

    /// Returns the CSS class of the button.
    fn class(&self) -> &'static str {
        self.style.class()
    }
}

/// Returns whether the command changes the owner of keys or cannot be undone.
fn needs_confirmation(command: Command) -> bool {
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

/// The buttons of the commands that are possible in the current state.
#[derive(Template)]
#[template(path = "migration/commands.html")]
pub(super) struct CommandsView {
    forms: Vec<CommandForm>,
    /// True if no command is possible any more.
    ended: bool,
}

impl CommandsView {
    /// Returns the commands for the page of the cutover, to which the browser returns after each command.
    pub(super) fn of_cutover(snapshot: &Snapshot, caller: &Caller) -> Self {
        let mut view = Self::new(snapshot, caller);
        for form in &mut view.forms {
            form.on_cutover_page = true;
        }
        view
    }

    /// Returns the commands that are possible now.
    pub(super) fn new(snapshot: &Snapshot, caller: &Caller) -> Self {
        let m = &snapshot.migration;
        let possible = without_redundant_retry(Command::allowed(snapshot));
        let allowed = possible
            .iter()
            .filter(|command| is_permitted(caller, **command));
        let forms: Vec<CommandForm> = allowed
            .map(|command| CommandForm::new(*command, m, caller))
            .collect();
        Self {
            ended: possible.is_empty(),
            forms,
        }
    }
}

/// Returns whether the caller's role permits the command.
fn is_permitted(caller: &Caller, command: Command) -> bool {
    caller.may(RouteAccess::of_command(command.name()))
}

/// Removes `retry` if `resume` is possible too, because both then have the same effect.
fn without_redundant_retry(mut commands: Vec<Command>) -> Vec<Command> {
    if commands.contains(&Command::Resume) {
        commands.retain(|command| *command != Command::Retry);
    }
    commands
}

#[derive(Template)]
#[template(path = "confirm.html")]
struct Confirm {
    form: CommandForm,
    /// Why the last input was refused.
    wrong: Option<String>,
}

/// The fields of the form.
#[derive(Debug, Deserialize)]
pub(super) struct CommandInput {
    /// The id that the operator typed.
    #[serde(default)]
    confirm: String,
    /// The reason for the command.
    #[serde(default)]
    reason: String,
    /// `switch` if the form was on the page of the cutover.
    #[serde(default)]
    back: String,
}

impl CommandInput {
    pub(super) fn reason(&self) -> Option<&str> {
        Some(self.reason.trim()).filter(|reason| !reason.is_empty())
    }
}

/// Shows the confirmation page, for browsers without JavaScript.
pub(super) async fn confirm(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path((id, command)): Path<(String, String)>,
) -> Result<DashboardPage, PageError> {
    let command = parse_command(&command)?;
    let snapshot = controller.load(&MigrationId(id)).await?;
    let form = CommandForm::new(command, &snapshot.migration, &caller);
    Ok(confirmation(form, None, caller))
}

/// Executes a command, then shows the migration.
pub(super) async fn give(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path((id, command)): Path<(String, String)>,
    Form(input): Form<CommandInput>,
) -> Result<Response, PageError> {
    let command = parse_command(&command)?;
    let id = MigrationId(id);
    let snapshot = controller.load(&id).await?;
    let mut form = CommandForm::new(command, &snapshot.migration, &caller);
    form.on_cutover_page = input.back == "switch";
    let path = form.return_path();
    if let Some(page) = page_if_unconfirmed(form, &input, &caller) {
        return Ok(page);
    }
    controller
        .command(&id, command, &caller.name, input.reason())
        .await?;
    Ok(Redirect::to(&path).into_response())
}

/// Shows the confirmation page again if the operator typed another id.
pub(super) fn page_if_unconfirmed(
    form: CommandForm,
    input: &CommandInput,
    caller: &Caller,
) -> Option<Response> {
    if !form.needs_confirmation || input.confirm.trim() == form.id {
        return None;
    }
    let what = format!(
        "{:?} is not the id of this {}",
        input.confirm, form.object_kind
    );
    let (status, problem) = ApiError::from(ControlError::Invalid { what }).into_parts();
    let page = confirmation(form, Some(problem.detail), caller.clone());
    Some((status, page).into_response())
}

pub(super) fn confirmation(
    form: CommandForm,
    wrong: Option<String>,
    caller: Caller,
) -> DashboardPage {
    let title = format!("{} {}", form.label, form.id);
    DashboardPage::static_page(&title, &Confirm { form, wrong }, Some(caller))
}

fn parse_command(name: &str) -> Result<Command, ControlError> {
    Command::parse(name).ok_or_else(|| ControlError::missing("command", name))
}
