//! Operations with several moves: how commands show and follow them. An operation with a single move is treated as its
//! migration.

use super::client::Client;
use super::error::{CliError, MIGRATION_FAILED};
use super::migration::state_tone;
use super::output::{StyledText, TextTable, or_dash};
use crate::cli::out::report;
use crate::controller::operations::OperationState;
use crate::view::{MoveView, OperationView, Tone};
use plans::request::Hold;

/// Returns the operation if the id is that of an operation with several moves.
pub(super) async fn with_moves(
    client: &Client,
    id: &str,
) -> Result<Option<OperationView>, CliError> {
    match client.get::<OperationView>(&path(id)).await {
        Ok(view) => Ok((view.moves.len() != 1).then_some(view)),
        Err(CliError::Problem(problem)) if problem.status == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the path of an operation in the API.
pub(super) fn path(id: &str) -> String {
    format!("/api/v1/operations/{id}")
}

/// Returns the exit code of `watch`, if there is nothing more to wait for.
pub(super) fn watch_exit_code(view: &OperationView, until: &[OperationState]) -> Option<u8> {
    use OperationState as S;
    if until.contains(&view.state) {
        return Some(0);
    }
    let waits = match view.state {
        S::Failed | S::Unwound | S::Partial => return Some(MIGRATION_FAILED),
        S::Completed | S::RolledBack if view.finished_at.is_some() => {
            let reached = until.is_empty() && view.state == S::Completed;
            return Some(if reached { 0 } else { MIGRATION_FAILED });
        }
        S::Waiting | S::Paused => true,
        S::Flipped => view.options.hold == Hold::UntilFinish,
        S::Planned | S::Running | S::Unwinding | S::Completed | S::RolledBack => false,
    };
    (until.is_empty() && waits).then_some(0)
}

/// If the operation waits for the operator, prints what the operator has to do.
pub(super) fn report_next_command(view: &OperationView) {
    match view.state {
        OperationState::Waiting => {
            report!("waiting for approval: shardwright approve {}", view.id);
        }
        OperationState::Flipped => {
            // An offline move has no reverse stream, so a rollback is impossible.
            let alternative = if view.mode == "offline" {
                ""
            } else {
                " (or rollback)"
            };
            report!("end the hold: shardwright finish {}{alternative}", view.id);
        }
        OperationState::Paused => report!("then: shardwright resume {}", view.id),
        OperationState::Failed => {
            for moved in &view.moves {
                if let Some(failure) = &moved.migration.failure {
                    report!(
                        "failed: {}: {} ({})",
                        moved.migration.id,
                        failure.message,
                        failure.code
                    );
                    if let Some(hint) = &failure.hint {
                        report!("hint: {hint}");
                    }
                }
            }
            report!("then: shardwright resume {}", view.id);
        }
        OperationState::Planned
        | OperationState::Running
        | OperationState::Unwinding
        | OperationState::Unwound
        | OperationState::Completed
        | OperationState::RolledBack
        | OperationState::Partial => {}
    }
}

/// Returns the state and the moves on one line.
pub(super) fn headline(view: &OperationView) -> StyledText {
    let mut line = StyledText::from(format!("{} ", view.id));
    line.push_toned(view.state.name(), Tone::of_operation(view.state));
    for moved in &view.moves {
        let m = &moved.migration;
        line += &format!(" · {} ", m.move_id);
        line.push_toned(m.state.name(), Tone::of_operation(m.state.into()));
        if let Some(what) = &m.waiting_for {
            line += &format!(" ({what})");
        }
    }
    line
}

/// Returns the operation with its moves as text.
pub(super) fn show_text(view: &OperationView) -> StyledText {
    let totals = &view.totals;
    let mut text = StyledText::from(format!(
        "operation {}: {} of map {}, {} moves, {}\nstate ",
        view.id, view.operation, view.map, totals.moves, view.mode,
    ));
    text.push_toned(view.state.name(), Tone::of_operation(view.state));
    text += &format!(
        ": {} flipped, {} ended, {} failed\n",
        totals.flipped, totals.ended, totals.failed,
    );
    if let Some(reason) = &view.override_reason {
        text += &format!("rules of the map are overridden: {reason}\n");
    }
    let row = |moved: &MoveView| {
        let m = &moved.migration;
        let failure = m.failure.as_ref().map(|failure| failure.message.clone());
        vec![
            m.move_id.clone(),
            m.id.to_string(),
            m.state.to_string(),
            format!("{} -> {}", m.source, m.target),
            m.keys.to_string(),
            or_dash(m.map_version.back.or(m.map_version.after).as_ref()),
            failure
                .or_else(|| m.waiting_for.clone())
                .unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = view.moves.iter().map(row).collect();
    let head = [
        "MOVE",
        "MIGRATION",
        "STATE",
        "SHARDS",
        "KEYS",
        "VERSION",
        "",
    ];
    text += "\n";
    text.push_table(&TextTable::new(&head, rows).toned("STATE", state_tone));
    text
}

/// Returns a table with a line for each operation, and below it a line for each move if there are several.
pub(super) fn list_text(all: &[OperationView]) -> TextTable {
    let mut rows = Vec::new();
    for view in all {
        let single_move = view.moves.first().filter(|_| view.moves.len() == 1);
        let shards = |m: &MoveView| format!("{} -> {}", m.migration.source, m.migration.target);
        let count = format!("{} moves", view.moves.len());
        rows.push(vec![
            view.id.to_string(),
            view.state.to_string(),
            view.operation.clone(),
            view.map.to_string(),
            single_move.map_or(count, shards),
            single_move.map_or_else(String::new, |m| m.migration.keys.to_string()),
            view.created_at
                .to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            view.mode.clone(),
            view.submitted_by.clone(),
        ]);
        for moved in view.moves.iter().filter(|_| single_move.is_none()) {
            let m = &moved.migration;
            rows.push(vec![
                format!("  {}", m.id),
                m.state.to_string(),
                m.move_id.clone(),
                String::new(),
                shards(moved),
                m.keys.to_string(),
                m.waiting_for.clone().unwrap_or_default(),
            ]);
        }
    }
    let head = [
        "ID",
        "STATE",
        "OPERATION",
        "MAP",
        "SHARDS",
        "KEYS",
        "CREATED",
        "MODE",
        "SUBMITTED BY",
    ];
    TextTable::new(&head, rows)
        .wide(2)
        .toned("STATE", state_tone)
}
