//! Fits the hints of failures to the state in which they are displayed.
//!
//! The reporter of a failure writes a hint with commands in backticks, but it does not know which commands the
//! migration accepts when the hint is displayed. Only this module removes the commands that the current state refuses,
//! and adds what is possible instead. The parts of a hint are separated by `; `, `, then ` and `, or `.

use super::commands::Command;
use crate::store::Snapshot;
use plans::failure::Failure;
use plans::state::cutover::Ownership;

/// The separators between the parts of a hint.
const SEPARATORS: [&str; 3] = ["; ", ", then ", ", or "];

/// Returns the failure with a hint that contains only commands that the migration accepts in its current state.
#[must_use]
pub(crate) fn fit(failure: &Failure, snapshot: &Snapshot) -> Failure {
    let allowed = Command::allowed(snapshot);
    let hint = failure.hint.as_deref().unwrap_or_default();
    let shown = without_refused_commands(hint, &allowed);
    let hint = match continuation(snapshot, &allowed) {
        Some(next) if !commands(&shown).any(|_| true) => match shown.is_empty() {
            true => format!("remove the cause, then {next}"),
            false => format!("{shown}, then {next}"),
        },
        Some(_) | None => shown,
    };
    Failure {
        hint: (!hint.is_empty()).then_some(hint),
        ..failure.clone()
    }
}

/// Returns the hint without the parts that contain a command that is not in `allowed`.
fn without_refused_commands(hint: &str, allowed: &[Command]) -> String {
    let mut shown = String::new();
    let (mut rest, mut before) = (hint, "");
    loop {
        let ends = SEPARATORS.iter();
        let end = ends
            .filter_map(|separator| Some((rest.find(separator)?, *separator)))
            .min();
        let (part, after) = end.map_or((rest, None), |(at, separator)| {
            (
                &rest[..at],
                Some((&rest[at + separator.len()..], separator)),
            )
        });
        if commands(part).all(|command| allowed.contains(&command)) {
            if !shown.is_empty() {
                shown.push_str(before);
            }
            shown.push_str(
                part.strip_prefix("or ")
                    .filter(|_| shown.is_empty())
                    .unwrap_or(part),
            );
        }
        let Some((following, separator)) = after else {
            return shown;
        };
        (rest, before) = (following, separator);
    }
}

/// Returns the commands that a text contains in backticks.
fn commands(text: &str) -> impl Iterator<Item = Command> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|quoted| {
        let quoted = quoted.strip_prefix("shardwright ").unwrap_or(quoted);
        Command::parse(quoted.split(' ').next()?)
    })
}

/// Returns the commands that continue the migration when the cause is removed, as a text.
fn continuation(snapshot: &Snapshot, allowed: &[Command]) -> Option<&'static str> {
    let may = |command| allowed.contains(&command);
    if !may(Command::Resume) {
        return may(Command::Retry)
            .then_some("the controller tries again by itself; `retry` makes it try at once");
    }
    Some(match snapshot.migration.ownership {
        Ownership::Ready | Ownership::Fencing if may(Command::Abort) => {
            "`resume`; `abort` undoes the migration"
        }
        Ownership::Flipped if may(Command::Finish) => {
            "`resume`; `finish` makes a rollback impossible"
        }
        Ownership::RolledBack if may(Command::Finish) => {
            "`resume`; `finish` removes the copied rows on the target"
        }
        Ownership::Ready
        | Ownership::Fencing
        | Ownership::Aborted
        | Ownership::Flipped
        | Ownership::RollbackFencing
        | Ownership::RolledBack
        | Ownership::Completed => "`resume`",
    })
}

#[cfg(test)]
mod tests;
