//! The cached map, and the task that follows its changes.
//!
//! The task reads the map once, then follows the change feed. If the feed breaks, it makes a pause with jitter, reads
//! the map and opens the feed again; if a controller has failed, it uses the next one. The cache answers during all of
//! this. A version is only replaced by a higher one.

use crate::answer::{READ_TIMEOUT, accepted, read_map};
use crate::controllers::Controllers;
use crate::error::{BoxError, ClientError};
use crate::retry::Pauses;
use crate::routes::Routes;
use crate::sse::Parser;
use crate::stats::{Stats, increment};
use controller_client::ControllerClient;
use futures::StreamExt;
use plans::id::{MapName, MapVersion};
use plans::shard_map::ShardMap;
use reqwest::Method;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// If the feed is silent for longer than this, it counts as broken. The controller sends comments more often.
const MAX_SILENCE: Duration = Duration::from_secs(45);
/// The least time between two reads in addition to the feed.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Feed {
    state: Arc<FeedState>,
    task: JoinHandle<()>,
    last_read: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct FeedState {
    client: ControllerClient,
    controllers: Controllers,
    name: MapName,
    current: watch::Sender<Arc<Routes>>,
    /// If the feed is silent for this long, the map is read in addition.
    read_after: Duration,
    begun: Instant,
    /// When a controller last answered, in milliseconds after `begun`.
    last_answer_ms: AtomicU64,
    refreshes: AtomicU64,
    reconnects: AtomicU64,
}

impl Feed {
    /// Reads the map and follows it. With `max_staleness` a controller is contacted at least twice in that time.
    pub(crate) async fn open(
        client: ControllerClient,
        controllers: Controllers,
        name: &MapName,
        max_staleness: Option<Duration>,
    ) -> Result<Self, ClientError> {
        let first = read(&client, &controllers)
            .await
            .map_err(|source| ClientError::Fetch {
                map: name.clone(),
                url: controllers.urls_text(),
                source,
            })?;
        let state = Arc::new(FeedState {
            client,
            controllers,
            name: name.clone(),
            current: watch::Sender::new(Arc::new(first)),
            read_after: max_staleness.map_or(MAX_SILENCE, |limit| {
                (limit / 2).clamp(MIN_READ_INTERVAL, MAX_SILENCE)
            }),
            begun: Instant::now(),
            last_answer_ms: AtomicU64::new(0),
            refreshes: AtomicU64::new(0),
            reconnects: AtomicU64::new(0),
        });
        let task = tokio::spawn(follow(Arc::clone(&state)));
        Ok(Self {
            state,
            task,
            last_read: Mutex::new(None),
        })
    }

    /// Returns the cached map with its index.
    pub(crate) fn current(&self) -> Arc<Routes> {
        Arc::clone(&self.state.current.borrow())
    }

    /// Returns the time since a controller last answered.
    pub(crate) fn silence(&self) -> Duration {
        let last_answer = Duration::from_millis(self.state.last_answer_ms.load(Relaxed));
        self.state.begun.elapsed().saturating_sub(last_answer)
    }

    /// Returns the part of [`Stats`] that the feed counts.
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            refreshes: self.state.refreshes.load(Relaxed),
            reconnects: self.state.reconnects.load(Relaxed),
            version: self.current().map().version,
            silence: self.silence(),
            ..Stats::default()
        }
    }

    /// Waits until the cache has a version above `known`, but for at most `pause`. Then it reads the map itself.
    pub(crate) async fn wait_for_newer(&self, known: MapVersion, pause: Duration) {
        let mut changes = self.state.current.subscribe();
        let newer = changes.wait_for(|routes| routes.map().version > known);
        if tokio::time::timeout(pause, newer).await.is_err() {
            self.read_again().await;
        }
    }

    /// Reads the map in addition to the feed, in case the feed is broken, but not more often than
    /// [`MIN_READ_INTERVAL`].
    async fn read_again(&self) {
        let Ok(mut last) = self.last_read.try_lock() else {
            return;
        };
        if last.is_some_and(|at| at.elapsed() < MIN_READ_INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
        if let Err(error) = self.state.read().await {
            tracing::debug!(map = %self.state.name, %error, "map not read");
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FeedState {
    async fn read(&self) -> Result<(), BoxError> {
        let routes = read(&self.client, &self.controllers).await?;
        self.record_answer();
        self.replace_if_newer(routes);
        Ok(())
    }

    /// Records that a controller has answered now.
    fn record_answer(&self) {
        let now_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_answer_ms.fetch_max(now_ms, Relaxed);
    }

    /// Replaces the cached map if `routes` is newer. A lower version with another incarnation comes from a control
    /// store that was restored.
    fn replace_if_newer(&self, routes: Routes) {
        let map = Arc::clone(routes.map());
        self.current.send_if_modified(|current| {
            let newer = map.version > current.map().version;
            if map.incarnation != current.map().incarnation {
                tracing::warn!(map = %self.name, version = %map.version, "map of another control store");
            }
            if newer {
                tracing::debug!(map = %self.name, version = %map.version, "map replaced");
                *current = Arc::new(routes);
                increment(&self.refreshes);
            }
            newer
        });
    }

    /// Follows the feed until it ends or is silent for too long.
    async fn follow_feed(&self, url: &str) -> Result<(), BoxError> {
        let request = self.client.request(Method::GET, format!("{url}/changes"));
        let sent = self.client.send(request);
        let response = tokio::time::timeout(READ_TIMEOUT, sent).await??;
        let response = accepted(response).await?;
        // This read finds a version that was created between the last read and the start of the feed.
        self.read().await?;
        let mut stream = response.bytes_stream();
        let mut parser = Parser::default();
        let mut last_chunk_at = Instant::now();
        loop {
            let Ok(next) = tokio::time::timeout(self.read_after, stream.next()).await else {
                if last_chunk_at.elapsed() >= MAX_SILENCE {
                    return Err("the feed is silent".into());
                }
                self.read().await?;
                continue;
            };
            let Some(chunk) = next else { return Ok(()) };
            last_chunk_at = Instant::now();
            self.record_answer();
            for event in parser.push(&chunk?) {
                if event.name == "map" {
                    let map: ShardMap = serde_json::from_str(&event.data)?;
                    self.replace_if_newer(Routes::new(map)?);
                }
            }
        }
    }
}

async fn follow(state: Arc<FeedState>) {
    let mut pauses = Pauses::new(FIRST_PAUSE, LONGEST_PAUSE);
    loop {
        let controller = state.controllers.current();
        match state.follow_feed(controller.url).await {
            Ok(()) => pauses = Pauses::new(FIRST_PAUSE, LONGEST_PAUSE),
            Err(error) => {
                tracing::debug!(map = %state.name, %error, "feed interrupted");
                state.controllers.switch_after_failure(&controller);
            }
        }
        tokio::time::sleep(pauses.next()).await;
        increment(&state.reconnects);
    }
}

/// Sends a request to each controller until one answers.
async fn read(client: &ControllerClient, controllers: &Controllers) -> Result<Routes, BoxError> {
    let mut attempts = 1;
    loop {
        let controller = controllers.current();
        match read_map(client, controller.url).await {
            Ok(routes) => return Ok(routes),
            Err(error) => {
                controllers.switch_after_failure(&controller);
                if attempts >= controllers.count() {
                    return Err(error);
                }
            }
        }
        attempts += 1;
    }
}
