//! Follows a migration or an operation by its stream of events, also over a restart of the controller.

use super::client::Client;
use super::error::{CliError, INTERRUPTED};
use crate::cli::out::report;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::time::Instant;

/// How long a controller may be gone.
const PATIENCE: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_millis(500);
/// A stream that is silent for longer is given up; a controller that lives sends comments more often.
const SILENCE: Duration = Duration::from_secs(20);

/// The stream of a migration's views.
pub(super) fn of_migration(id: &str) -> String {
    format!("/api/v1/migrations/{id}/events?after={}", i64::MAX)
}

/// The stream of an operation's views.
pub(super) fn of_operation(id: &str) -> String {
    format!("{}/events", super::operation::path(id))
}

/// Follows until the first Ctrl-C, which ends the following and nothing else.
pub(super) async fn detachable(
    id: &str,
    following: impl Future<Output = Result<u8, CliError>>,
) -> Result<u8, CliError> {
    tokio::select! {
        ended = following => ended,
        pressed = tokio::signal::ctrl_c() => {
            pressed?;
            report!("{id} keeps running; follow it again with: shardwright watch {id}");
            Ok(INTERRUPTED)
        }
    }
}

/// Passes each new view of the stream at `path` to `observe` until it returns an exit code.
pub(super) async fn follow<V: DeserializeOwned>(
    client: &Client,
    path: &str,
    mut observe: impl FnMut(&V) -> Option<u8>,
) -> Result<u8, CliError> {
    let mut lost_at: Option<Instant> = None;
    loop {
        let ended = one_stream(client, path, &mut observe, &mut lost_at).await;
        let error = match ended {
            Ok(Some(code)) => return Ok(code),
            Ok(None) => None,
            Err(error @ CliError::Unreachable { .. }) => Some(error),
            Err(error) => return Err(error),
        };
        // A command that never reached the controller fails at once.
        let since = match (lost_at, error) {
            (None, Some(error)) => return Err(error),
            (Some(since), Some(error)) if since.elapsed() > PATIENCE => return Err(error),
            (since, _) => since.unwrap_or_else(Instant::now),
        };
        lost_at = Some(since);
        tokio::time::sleep(AGAIN).await;
    }
}

/// One connection; `None` when it ended before `observe` returned a code.
async fn one_stream<V: DeserializeOwned>(
    client: &Client,
    path: &str,
    observe: &mut impl FnMut(&V) -> Option<u8>,
    lost_at: &mut Option<Instant>,
) -> Result<Option<u8>, CliError> {
    let mut response = client.events(path).await?;
    let mut buffer = Vec::new();
    loop {
        let chunk = match tokio::time::timeout(SILENCE, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None) | Err(_)) | Err(_) => {
                *lost_at = Some(Instant::now());
                return Ok(None);
            }
        };
        buffer.extend_from_slice(&chunk);
        while let Some(end) = find(&buffer, b"\n\n") {
            let block: Vec<u8> = buffer.drain(..end + 2).collect();
            let view = view(&String::from_utf8_lossy(&block));
            if let Some(code) = view.as_ref().and_then(&mut *observe) {
                return Ok(Some(code));
            }
        }
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// The view in a block of an event stream, if it is one.
fn view<V: DeserializeOwned>(block: &str) -> Option<V> {
    let is_view = block.lines().any(|line| line == "event: view");
    let mut data = block.lines().filter_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.next().filter(|_| is_view)?).ok()
}
