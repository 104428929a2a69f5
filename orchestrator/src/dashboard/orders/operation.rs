//! Orders for all moves of an operation at once.

use super::{Given, Order, Orders, ask, may, parse, unconfirmed, without_twin};
use crate::access::Visitor;
use crate::controller::{Command, Controller};
use crate::dashboard::page::{Page, PageError};
use crate::store::{Operation, Snapshot};
use crate::view::effect_on_all;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use plans::id::MigrationId;

/// What may be ordered now; `open` are its migrations that have not ended.
pub(in crate::dashboard) fn of_operation(
    operation: &Operation,
    open: &[&Snapshot],
    visitor: &Visitor,
) -> Orders {
    let able: Vec<Vec<Command>> = open.iter().map(|m| Command::allowed_ahead(m)).collect();
    let count = |command: Command| able.iter().filter(|all| all.contains(&command)).count();
    let possible = Command::ALL
        .into_iter()
        .filter(|command| count(*command) > 0);
    let possible = without_twin(possible.collect());
    let allowed = possible.iter().filter(|command| may(visitor, **command));
    let orders = allowed.map(|&command| {
        let mut order = order(operation, command, visitor);
        order.effect += &format!(
            " {} of {} moves can take it.",
            count(command),
            operation.migrations.len()
        );
        order
    });
    Orders {
        orders: orders.collect(),
        ended: possible.is_empty(),
    }
}

fn order(operation: &Operation, command: Command, visitor: &Visitor) -> Order {
    let to = ("operation", operation.id.as_str());
    Order::to(to, command, effect_on_all(command).to_owned(), visitor)
}

/// Asks again; the way without JavaScript.
pub(in crate::dashboard) async fn confirm_all(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Path((id, command)): Path<(String, String)>,
) -> Result<Page, PageError> {
    let command = parse(&command)?;
    let operation = controller.operation(&MigrationId(id)).await?;
    let order = order(&operation, command, &visitor);
    Ok(ask(order, None, visitor))
}

/// Carries out an order, then shows the operation.
pub(in crate::dashboard) async fn give_all(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Path((id, command)): Path<(String, String)>,
    Form(given): Form<Given>,
) -> Result<Response, PageError> {
    let command = parse(&command)?;
    let id = MigrationId(id);
    let order = order(&controller.operation(&id).await?, command, &visitor);
    let path = order.back();
    if let Some(again) = unconfirmed(order, &given, &visitor) {
        return Ok(again);
    }
    controller
        .command_all(&id, command, &visitor.name, given.reason())
        .await?;
    Ok(Redirect::to(&path).into_response())
}
