//! The cached map, and the task that follows its changes.
//!
//! The task reads the map once, then follows the change feed. If the feed breaks, it makes a pause with jitter, reads
//! the map and opens the feed again; if a controller has failed, it uses the next one. The cache answers during all of
//! this. A version is only replaced by a higher one.

use crate::controllers::Controllers;
use crate::error::{BoxError, ClientError};
use crate::retry::Pauses;
use crate::routes::Routes;
use crate::sse::Parser;
use crate::stats::{Stats, count};
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
const READ_LIMIT: Duration = Duration::from_secs(5);
/// If the feed is silent for longer than this, it counts as broken. The controller sends comments more often.
const SILENCE: Duration = Duration::from_secs(45);
/// The least time between two reads in addition to the feed.
const READ_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Feed {
    source: Arc<Source>,
    task: JoinHandle<()>,
    last_read: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Source {
    caller: ControllerClient,
    controllers: Controllers,
    name: MapName,
    current: watch::Sender<Arc<Routes>>,
    /// If the feed is silent for this long, the map is read in addition.
    quiet: Duration,
    begun: Instant,
    /// When a controller last answered, in milliseconds after `begun`.
    heard: AtomicU64,
    refreshes: AtomicU64,
    reconnects: AtomicU64,
}

impl Feed {
    /// Reads the map and follows it. With `max_staleness` a controller is contacted at least twice in that time.
    pub(crate) async fn open(
        caller: ControllerClient,
        controllers: Controllers,
        name: &MapName,
        max_staleness: Option<Duration>,
    ) -> Result<Self, ClientError> {
        let first = read(&caller, &controllers)
            .await
            .map_err(|source| ClientError::Fetch {
                map: name.clone(),
                url: controllers.all(),
                source,
            })?;
        let source = Arc::new(Source {
            caller,
            controllers,
            name: name.clone(),
            current: watch::Sender::new(Arc::new(first)),
            quiet: max_staleness.map_or(SILENCE, |limit| (limit / 2).clamp(READ_EVERY, SILENCE)),
            begun: Instant::now(),
            heard: AtomicU64::new(0),
            refreshes: AtomicU64::new(0),
            reconnects: AtomicU64::new(0),
        });
        let task = tokio::spawn(follow(Arc::clone(&source)));
        Ok(Self {
            source,
            task,
            last_read: Mutex::new(None),
        })
    }

    /// Returns the cached map with its index.
    pub(crate) fn current(&self) -> Arc<Routes> {
        Arc::clone(&self.source.current.borrow())
    }

    /// Returns the time since a controller last answered.
    pub(crate) fn silence(&self) -> Duration {
        let heard = Duration::from_millis(self.source.heard.load(Relaxed));
        self.source.begun.elapsed().saturating_sub(heard)
    }

    /// Returns the part of [`Stats`] that the feed counts.
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            refreshes: self.source.refreshes.load(Relaxed),
            reconnects: self.source.reconnects.load(Relaxed),
            version: self.current().map().version,
            silence: self.silence(),
            ..Stats::default()
        }
    }

    /// Returns when the cache has a version above `known`, but after `pause` at the latest.
    pub(crate) async fn newer_than(&self, known: MapVersion, pause: Duration) {
        let mut changes = self.source.current.subscribe();
        let newer = changes.wait_for(|routes| routes.map().version > known);
        if tokio::time::timeout(pause, newer).await.is_err() {
            self.read_again().await;
        }
    }

    /// Reads the map in addition to the feed, in case the feed is broken, but not more often than [`READ_EVERY`].
    async fn read_again(&self) {
        let Ok(mut last) = self.last_read.try_lock() else {
            return;
        };
        if last.is_some_and(|at| at.elapsed() < READ_EVERY) {
            return;
        }
        *last = Some(Instant::now());
        if let Err(error) = self.source.read().await {
            tracing::debug!(map = %self.source.name, %error, "map not read");
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Source {
    async fn read(&self) -> Result<(), BoxError> {
        let routes = read(&self.caller, &self.controllers).await?;
        self.hear();
        self.offer(routes);
        Ok(())
    }

    fn hear(&self) {
        let heard = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.heard.fetch_max(heard, Relaxed);
    }

    /// Replaces the cached map if `routes` is newer. A lower version with another incarnation comes from a control
    /// store that was restored.
    fn offer(&self, routes: Routes) {
        let map = Arc::clone(routes.map());
        self.current.send_if_modified(|current| {
            let newer = map.version > current.map().version;
            if map.incarnation != current.map().incarnation {
                tracing::warn!(map = %self.name, version = %map.version, "map of another control store");
            }
            if newer {
                tracing::debug!(map = %self.name, version = %map.version, "map replaced");
                *current = Arc::new(routes);
                count(&self.refreshes);
            }
            newer
        });
    }

    /// Follows the feed until it ends or is silent for too long.
    async fn listen(&self, url: &str) -> Result<(), BoxError> {
        let request = self.caller.request(Method::GET, format!("{url}/changes"));
        let sent = self.caller.send(request);
        let response = tokio::time::timeout(READ_LIMIT, sent).await??;
        let response = response.error_for_status()?;
        // This read finds a version that was created between the last read and the start of the feed.
        self.read().await?;
        let mut stream = response.bytes_stream();
        let mut parser = Parser::default();
        let mut portion_at = Instant::now();
        loop {
            let Ok(next) = tokio::time::timeout(self.quiet, stream.next()).await else {
                if portion_at.elapsed() >= SILENCE {
                    return Err("the feed is silent".into());
                }
                self.read().await?;
                continue;
            };
            let Some(portion) = next else { return Ok(()) };
            portion_at = Instant::now();
            self.hear();
            for event in parser.push(&portion?) {
                if event.name == "map" {
                    let map: ShardMap = serde_json::from_str(&event.data)?;
                    self.offer(Routes::new(map)?);
                }
            }
        }
    }
}

async fn follow(source: Arc<Source>) {
    let mut pauses = Pauses::new(FIRST_PAUSE, LONGEST_PAUSE);
    loop {
        let controller = source.controllers.current();
        match source.listen(controller.url).await {
            Ok(()) => pauses = Pauses::new(FIRST_PAUSE, LONGEST_PAUSE),
            Err(error) => {
                tracing::debug!(map = %source.name, %error, "feed interrupted");
                source.controllers.failed(&controller);
            }
        }
        tokio::time::sleep(pauses.next()).await;
        count(&source.reconnects);
    }
}

/// Sends a request to each controller until one answers.
async fn read(caller: &ControllerClient, controllers: &Controllers) -> Result<Routes, BoxError> {
    let mut tries = 1;
    loop {
        let controller = controllers.current();
        match read_at(caller, controller.url).await {
            Ok(routes) => return Ok(routes),
            Err(error) => {
                controllers.failed(&controller);
                if tries >= controllers.count() {
                    return Err(error);
                }
            }
        }
        tries += 1;
    }
}

async fn read_at(caller: &ControllerClient, url: &str) -> Result<Routes, BoxError> {
    let request = caller.request(Method::GET, url).timeout(READ_LIMIT);
    let response = caller.send(request).await?;
    let map: ShardMap = response.error_for_status()?.json().await?;
    Ok(Routes::new(map)?)
}
