//! The answers of a controller: a map, or a refusal with the code of the API.

use crate::error::BoxError;
use crate::routes::Routes;
use controller_client::ControllerClient;
use futures::{Stream, StreamExt};
use plans::shard_map::ShardMap;
use reqwest::{Method, Response};
use serde::Deserialize;
use std::time::Duration;

/// The longest time until a controller answers, and between two pieces of its answer: a large map takes long as a whole.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The part of a refusal that a person needs.
#[derive(Deserialize)]
struct Refusal {
    code: String,
    detail: String,
}

/// Reads the map at `url`.
pub(crate) async fn read_map(client: &ControllerClient, url: &str) -> Result<Routes, BoxError> {
    let sent = client.send(client.request(Method::GET, url));
    let response = tokio::time::timeout(READ_TIMEOUT, sent).await??;
    let body = read_body(accepted(response).await?.bytes_stream()).await?;
    let map: ShardMap = serde_json::from_slice(&body)?;
    Ok(Routes::new(map)?)
}

/// Returns the answer unless it is a refusal.
pub(crate) async fn accepted(response: Response) -> Result<Response, BoxError> {
    let (status, url) = (response.status(), response.url().clone());
    if status.is_success() {
        return Ok(response);
    }
    let body = read_body(response.bytes_stream()).await.unwrap_or_default();
    let detail = match serde_json::from_slice(&body) {
        Ok(Refusal { code, detail }) => format!("{code}: {detail}"),
        Err(_) => "this is no answer of a controller".to_owned(),
    };
    Err(format!("{url} answered {status}: {detail}").into())
}

/// Reads a body whose pieces arrive within [`READ_TIMEOUT`] of each other.
async fn read_body<P, E>(pieces: impl Stream<Item = Result<P, E>>) -> Result<Vec<u8>, BoxError>
where
    P: AsRef<[u8]>,
    BoxError: From<E>,
{
    let mut pieces = std::pin::pin!(pieces);
    let mut body = Vec::new();
    while let Some(piece) = tokio::time::timeout(READ_TIMEOUT, pieces.next()).await? {
        body.extend_from_slice(piece?.as_ref());
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a body in three pieces, each this long after the one before.
    fn slow_body(pause: Duration) -> impl Stream<Item = Result<Vec<u8>, std::io::Error>> {
        futures::stream::iter(1..=3).then(move |number: u8| async move {
            tokio::time::sleep(pause).await;
            Ok(vec![number])
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_map_may_take_long_as_long_as_it_arrives() {
        let body = read_body(slow_body(READ_TIMEOUT / 5 * 4)).await;
        assert_eq!(body.expect("read"), [1, 2, 3]);
        let stalled = read_body(slow_body(READ_TIMEOUT * 2)).await;
        assert!(stalled.is_err());
    }
}
