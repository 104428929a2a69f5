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
use caller::Caller;
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
    caller: Caller,
    controllers: Controllers,
    name: MapName,
    current: watch::Sender<Arc<Routes>>,
    refreshes: AtomicU64,
}

impl Feed {
    pub(crate) async fn open(
        caller: Caller,
        controllers: Controllers,
        name: &MapName,
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
            refreshes: AtomicU64::new(0),
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

    /// Newer versions taken over so far.
    pub(crate) fn refreshes(&self) -> u64 {
        self.source.refreshes.load(Relaxed)
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
        self.offer(routes);
        Ok(())
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
                self.refreshes.fetch_add(1, Relaxed);
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
        while let Some(portion) = tokio::time::timeout(SILENCE, stream.next()).await? {
            for event in parser.push(&portion?) {
                if event.name == "map" {
                    let map: ShardMap = serde_json::from_str(&event.data)?;
                    self.offer(Routes::new(map)?);
                }
            }
        }
        Ok(())
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
    }
}

/// Asks each controller once, until one answers.
async fn read(caller: &Caller, controllers: &Controllers) -> Result<Routes, BoxError> {
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

async fn read_at(caller: &Caller, url: &str) -> Result<Routes, BoxError> {
    let request = caller.request(Method::GET, url).timeout(READ_LIMIT);
    let response = caller.send(request).await?;
    let map: ShardMap = response.error_for_status()?.json().await?;
    Ok(Routes::new(map)?)
}
