//! Follows a migration or an operation with a stream of events. If the connection is lost, for example because the
//! controller restarts, it connects again.

use super::client::Client;
use super::error::{CliError, INTERRUPTED};
use crate::cli::out::report;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::time::Instant;

/// For how long a lost controller is tried again.
const RECONNECT_LIMIT: Duration = Duration::from_secs(60);
/// The pause between two attempts to connect.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);
/// A stream without data for this time counts as lost; a running controller sends comments more often.
const MAX_SILENCE: Duration = Duration::from_secs(20);

/// Returns the path of the stream with the views of a migration.
pub(super) fn migration_stream(id: &str) -> String {
    format!("/api/v1/migrations/{id}/events?after={}", i64::MAX)
}

/// Returns the path of the stream with the views of an operation.
pub(super) fn operation_stream(id: &str) -> String {
    format!("{}/events", super::operation::path(id))
}

/// Waits for `following` until the user presses Ctrl-C. Ctrl-C ends only this command; the migration continues.
pub(super) async fn until_interrupted(
    id: &str,
    following: impl Future<Output = Result<u8, CliError>>,
) -> Result<u8, CliError> {
    tokio::select! {
        ended = following => ended,
        pressed = tokio::signal::ctrl_c() => {
            pressed?;
            report!("{id} continues; follow it again with: shardwright watch {id}");
            Ok(INTERRUPTED)
        }
    }
}

/// Passes each new view of the stream at `path` to `observe`, until `observe` returns an exit code.
pub(super) async fn follow<V: DeserializeOwned>(
    client: &Client,
    path: &str,
    mut observe: impl FnMut(&V) -> Option<u8>,
) -> Result<u8, CliError> {
    let mut lost_at: Option<Instant> = None;
    loop {
        let ended = follow_connection(client, path, &mut observe, &mut lost_at).await;
        let error = match ended {
            Ok(Some(code)) => return Ok(code),
            Ok(None) => None,
            Err(error @ CliError::Unreachable { .. }) => Some(error),
            Err(error) => return Err(error),
        };
        // If no connection has ever been opened, the command fails at once.
        let since = match (lost_at, error) {
            (None, Some(error)) => return Err(error),
            (Some(since), Some(error)) if since.elapsed() > RECONNECT_LIMIT => return Err(error),
            (since, _) => since.unwrap_or_else(Instant::now),
        };
        lost_at = Some(since);
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
}

/// Follows over one connection. Returns `None` if the connection ended before `observe` returned a code.
async fn follow_connection<V: DeserializeOwned>(
    client: &Client,
    path: &str,
    observe: &mut impl FnMut(&V) -> Option<u8>,
    lost_at: &mut Option<Instant>,
) -> Result<Option<u8>, CliError> {
    let mut response = client.events(path).await?;
    let mut buffer = Vec::new();
    loop {
        let chunk = match tokio::time::timeout(MAX_SILENCE, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None) | Err(_)) | Err(_) => {
                *lost_at = Some(Instant::now());
                return Ok(None);
            }
        };
        buffer.extend_from_slice(&chunk);
        while let Some(end) = position_of(&buffer, b"\n\n") {
            let block: Vec<u8> = buffer.drain(..end + 2).collect();
            let view = parse_view(&String::from_utf8_lossy(&block));
            if let Some(code) = view.as_ref().and_then(&mut *observe) {
                return Ok(Some(code));
            }
        }
    }
}

fn position_of(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Returns the view in a block of an event stream; `None` if the block is another event.
fn parse_view<V: DeserializeOwned>(block: &str) -> Option<V> {
    let is_view = block.lines().any(|line| line == "event: view");
    let mut data = block.lines().filter_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.next().filter(|_| is_view)?).ok()
}
