//! Runs the program pg_dump.

use std::process::Stdio;
use std::time::Duration;

use connect::Resolved;
use plans::failure::StepCode;
use tokio::process::Command;

use crate::error::{StepError, WithIntent};

/// How long pg_dump waits for its locks on all tables together, in milliseconds. It is less than half of the default of
/// `deadlock_timeout`: pg_dump must not hold the locks that it has got for so long that a session which waits for one of
/// them finds a deadlock. (pg_dump resets the setting `lock_timeout`.)
const LOCK_WAIT_MS: u32 = 400;
/// How often pg_dump is started while other sessions lock tables, and the pause between two of its runs.
const LOCK_TRIES: u32 = 40;
const LOCK_PAUSE: Duration = Duration::from_secs(1);

/// Sets libpq's environment variables for a connection: other users of the machine could read a password on the command
/// line.
fn set_connection(command: &mut Command, resolved: &Resolved) {
    for (name, value) in resolved.variables() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let own = resolved.options.as_deref().unwrap_or_default();
    let pinned = connect::pinned_options();
    command.env("PGOPTIONS", format!("{own} {pinned}"));
}

/// Runs pg_dump on the server of `resolved`, again as long as other sessions have locked tables.
///
/// # Errors
/// `schema.dump` with the first line of its messages.
pub(super) async fn run(
    command: &mut Command,
    resolved: &Resolved,
    what: &str,
) -> Result<(), StepError> {
    set_connection(command, resolved);
    command.arg(format!("--lock-wait-timeout={LOCK_WAIT_MS}"));
    let mut done = run_program(command, what).await?;
    for _ in 1..LOCK_TRIES {
        // The text of the query is the same in every language of messages.
        let is_locked = done
            .as_ref()
            .is_some_and(|text| text.contains("LOCK TABLE"));
        if !is_locked {
            break;
        }
        tokio::time::sleep(LOCK_PAUSE).await;
        done = run_program(command, what).await?;
    }
    let Some(message) = done else {
        return Ok(());
    };
    let first = message.lines().next().unwrap_or("no message");
    // A connection failure is transient, and so is a lock. An operator must fix every other failure.
    if ["could not connect", "connection to server", "LOCK TABLE"]
        .iter()
        .any(|transient| message.contains(transient))
    {
        return Err(StepError::passing(
            StepCode::SchemaDump,
            format!("{what} failed: {first}"),
        ));
    }
    Err(StepError::refused(
        StepCode::SchemaDump,
        format!("{what} failed: {first}"),
        "fix the problem that pg_dump reports, then `resume`",
    ))
}

/// Executes a program. Returns what it wrote to stderr if it failed.
async fn run_program(command: &mut Command, what: &str) -> Result<Option<String>, StepError> {
    let output = command
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .at(what)?;
    let failed = !output.status.success();
    Ok(failed.then(|| String::from_utf8_lossy(&output.stderr).into_owned()))
}
