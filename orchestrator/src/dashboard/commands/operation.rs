//! Commands for all moves of an operation at once.

use super::{
    CommandForm, CommandInput, CommandsView, confirmation, is_permitted, page_if_unconfirmed,
    parse_command, without_redundant_retry,
};
use crate::access::Caller;
use crate::controller::{Command, Controller};
use crate::dashboard::page::{DashboardPage, PageError};
use crate::store::{OperationRecord, Snapshot};
use crate::view::effect_on_all;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use plans::id::MigrationId;

/// Returns the commands that are possible now. `unfinished` are the operation's migrations that have not ended.
pub(in crate::dashboard) fn of_operation(
    operation: &OperationRecord,
    unfinished: &[&Snapshot],
    caller: &Caller,
) -> CommandsView {
    let possible_commands: Vec<Vec<Command>> = unfinished
        .iter()
        .map(|m| Command::allowed_ahead(m))
        .collect();
    let count = |command: Command| {
        possible_commands
            .iter()
            .filter(|all| all.contains(&command))
            .count()
    };
    let possible = Command::ALL
        .into_iter()
        .filter(|command| count(*command) > 0);
    let possible = without_redundant_retry(possible.collect());
    let allowed = possible
        .iter()
        .filter(|command| is_permitted(caller, **command));
    let forms = allowed.map(|&command| {
        let mut form = form(operation, command, caller);
        form.effect += &format!(
            " Possible for {} of {} moves.",
            count(command),
            operation.migrations.len()
        );
        form
    });
    CommandsView {
        forms: forms.collect(),
        ended: possible.is_empty(),
    }
}

fn form(operation: &OperationRecord, command: Command, caller: &Caller) -> CommandForm {
    let object = ("operation", operation.id.as_str());
    CommandForm::for_object(object, command, effect_on_all(command).to_owned(), caller)
}

/// Shows the confirmation page, for browsers without JavaScript.
pub(in crate::dashboard) async fn confirm_all(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path((id, command)): Path<(String, String)>,
) -> Result<DashboardPage, PageError> {
    let command = parse_command(&command)?;
    let operation = controller.operation(&MigrationId(id)).await?;
    let form = form(&operation, command, &caller);
    Ok(confirmation(form, None, caller))
}

/// Executes a command, then shows the operation.
pub(in crate::dashboard) async fn give_all(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path((id, command)): Path<(String, String)>,
    Form(input): Form<CommandInput>,
) -> Result<Response, PageError> {
    let command = parse_command(&command)?;
    let id = MigrationId(id);
    let form = form(&controller.operation(&id).await?, command, &caller);
    let path = form.return_path();
    if let Some(page) = page_if_unconfirmed(form, &input, &caller) {
        return Ok(page);
    }
    controller
        .command_all(&id, command, &caller.name, input.reason())
        .await?;
    Ok(Redirect::to(&path).into_response())
}
