//! The cached map and the task that follows its changes.
//!
//! Order: one read, then the change feed; when the feed breaks, a pause with jitter, a read and the feed again,
//! at the next controller where the last one failed.
//! The cache answers all the while. A version only ever replaces a lower one.

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
/// A feed that is silent for longer than this is taken for dead; the controller sends comments more often.
const SILENCE: Duration = Duration::from_secs(45);
/// Reads besides the feed are at least this far apart.
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
    /// Without a word for this long the map is read beside the feed.
    quiet: Duration,
    begun: Instant,
    /// When a controller last said something, milliseconds after `begun`.
    heard: AtomicU64,
    refreshes: AtomicU64,
    reconnects: AtomicU64,
}

impl Feed {
    /// Reads the map and follows it; with `max_staleness` a controller is heard of at least twice in that time.
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

    /// The cached map with its index.
    pub(crate) fn current(&self) -> Arc<Routes> {
        Arc::clone(&self.source.current.borrow())
    }

    /// For how long no controller has said anything.
    pub(crate) fn silence(&self) -> Duration {
        let heard = Duration::from_millis(self.source.heard.load(Relaxed));
        self.source.begun.elapsed().saturating_sub(heard)
    }

    /// What the feed knows of [`Stats`].
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            refreshes: self.source.refreshes.load(Relaxed),
            reconnects: self.source.reconnects.load(Relaxed),
            version: self.current().map().version,
            silence: self.silence(),
            ..Stats::default()
        }
    }

    /// Returns as soon as the cache holds a version above `seen`, at the latest after `pause`.
    pub(crate) async fn newer_than(&self, seen: MapVersion, pause: Duration) {
        let mut changes = self.source.current.subscribe();
        let newer = changes.wait_for(|routes| routes.map().version > seen);
        if tokio::time::timeout(pause, newer).await.is_err() {
            self.read_again().await;
        }
    }

    /// Reads the map beside the feed, in case the feed is down; not more often than [`READ_EVERY`].
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

    /// Takes a map over if it is newer. A lower version of another incarnation is a store that was set back.
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

    /// Follows the feed until it ends or falls silent.
    async fn listen(&self, url: &str) -> Result<(), BoxError> {
        let request = self.caller.request(Method::GET, format!("{url}/changes"));
        let sent = self.caller.send(request);
        let response = tokio::time::timeout(READ_LIMIT, sent).await??;
        let response = response.error_for_status()?;
        // A version between the last read and the start of the feed must not be missed.
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
        let asked = source.controllers.current();
        match source.listen(asked.url).await {
            Ok(()) => pauses = Pauses::new(FIRST_PAUSE, LONGEST_PAUSE),
            Err(error) => {
                tracing::debug!(map = %source.name, %error, "feed interrupted");
                source.controllers.failed(&asked);
            }
        }
        tokio::time::sleep(pauses.next()).await;
        count(&source.reconnects);
    }
}

/// Asks each controller once, until one answers.
async fn read(caller: &ControllerClient, controllers: &Controllers) -> Result<Routes, BoxError> {
    let mut tries = 1;
    loop {
        let asked = controllers.current();
        match read_at(caller, asked.url).await {
            Ok(routes) => return Ok(routes),
            Err(error) => {
                controllers.failed(&asked);
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
