//! Orders for all moves of an operation at once.

use super::{Given, Order, Orders, ask, parse, unconfirmed, without_twin};
use crate::controller::{Command, Controller};
use crate::dashboard::ACTOR;
use crate::dashboard::page::{Page, PageError};
use crate::store::{Operation, Snapshot};
use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use plans::id::MigrationId;

/// What may be ordered now; `open` are its migrations that have not ended.
pub(in crate::dashboard) fn of_operation(operation: &Operation, open: &[&Snapshot]) -> Orders {
    let able: Vec<Vec<Command>> = open.iter().map(|m| Command::allowed_ahead(m)).collect();
    let count = |command: Command| able.iter().filter(|all| all.contains(&command)).count();
    let possible = Command::ALL
        .into_iter()
        .filter(|command| count(*command) > 0);
    let orders = without_twin(possible.collect()).into_iter().map(|command| {
        let mut order = order(operation, command);
        order.effect += &format!(
            " {} of {} moves can take it.",
            count(command),
            operation.migrations.len()
        );
        order
    });
    Orders {
        orders: orders.collect(),
    }
}

fn order(operation: &Operation, command: Command) -> Order {
    let effect = match command {
        Command::Approve => {
            "Each move cuts over as soon as it is verified, those that wait for it at once."
        }
        Command::ApproveCancel => {
            "Ends the writers that keep cutovers from starting, each of those that were named."
        }
        Command::Pause => {
            "Each move stops at its next safe point and keeps everything that was done."
        }
        Command::Resume => "Each move that was stopped goes on from where it is.",
        Command::Retry => "Each step that waits for another attempt is tried at once.",
        Command::Abort => {
            "Takes back each move that has not flipped; its source keeps the keys. Moves that have flipped stay."
        }
        Command::Rollback => {
            "Gives the keys of each flipped online move back to its source, with what was written since."
        }
        Command::Finish => {
            "Deletes the old rows of each flipped move; it cannot be rolled back afterwards."
        }
    };
    Order::to(
        "operation",
        operation.id.as_str(),
        command,
        effect.to_owned(),
    )
}

/// Asks again; the way without JavaScript.
pub(in crate::dashboard) async fn confirm_all(
    State(controller): State<Controller>,
    Path((id, command)): Path<(String, String)>,
) -> Result<Page, PageError> {
    let command = parse(&command)?;
    let operation = controller.operation(&MigrationId(id)).await?;
    Ok(ask(order(&operation, command), None))
}

/// Carries out an order, then shows the operation.
pub(in crate::dashboard) async fn give_all(
    State(controller): State<Controller>,
    Path((id, command)): Path<(String, String)>,
    Form(given): Form<Given>,
) -> Result<Response, PageError> {
    let command = parse(&command)?;
    let id = MigrationId(id);
    let order = order(&controller.operation(&id).await?, command);
    let path = order.path();
    if let Some(again) = unconfirmed(order, &given) {
        return Ok(again);
    }
    controller.command_all(&id, command, ACTOR, None).await?;
    Ok(Redirect::to(&path).into_response())
}
