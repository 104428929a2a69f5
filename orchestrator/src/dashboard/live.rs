//! Server-sent events for a page: the event `fragment` contains each fragment that is new or has changed.

use super::page::{Fragment, PageError};
use super::{activity, agents, map, maps, migration, migrations, operation, overview, shards};
use crate::access::Caller;
use crate::controller::{ControlError, Controller};
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive, KeepAliveStream};
use futures::stream::{BoxStream, StreamExt, unfold};
use plans::id::{MapName, MigrationId, ShardName};
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;

/// The stream of a page's events.
pub(super) type PageFeed = Sse<KeepAliveStream<BoxStream<'static, Result<Event, Infallible>>>>;

/// The shortest time between two renderings.
const MIN_PAUSE: Duration = Duration::from_millis(250);
/// The longest time between two renderings. It is needed because no event reports that an agent has become silent.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// The time after which a browser reconnects.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);

/// What a page shows.
#[derive(Debug, Clone)]
enum LiveSubject {
    Overview(overview::OverviewQuery),
    Migrations(migrations::MigrationsQuery),
    Operation(MigrationId),
    Migration(MigrationId, migration::MigrationQuery),
    Cutover(MigrationId),
    Agents,
    Maps,
    Shards(shards::ShardsQuery),
    Shard(ShardName),
    Activity(activity::ActivityQuery),
    Map(MapName, map::MapQuery),
}

impl LiveSubject {
    async fn fragments(
        &self,
        controller: &Controller,
        caller: &Caller,
    ) -> Result<Vec<Fragment>, ControlError> {
        match self {
            Self::Overview(query) => overview::fragments(controller, query, caller).await,
            Self::Operation(id) => operation::fragments(controller, id, caller).await,
            Self::Migrations(query) => migrations::fragments(controller, query).await,
            Self::Migration(id, query) => migration::fragments(controller, id, query, caller).await,
            Self::Cutover(id) => migration::cutover::fragments(controller, id, caller).await,
            Self::Agents => agents::fragments(controller).await,
            Self::Shards(query) => shards::fragments(controller, query, caller).await,
            Self::Shard(name) => shards::one::fragments(controller, name, caller).await,
            Self::Maps => maps::fragments(controller, caller).await,
            Self::Activity(query) => activity::fragments(controller, query).await,
            Self::Map(name, query) => map::fragments(controller, name, query, caller).await,
        }
    }
}

/// Sends the changes of the overview.
pub(super) async fn overview(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<overview::OverviewQuery>,
) -> Result<PageFeed, PageError> {
    feed(controller, caller, LiveSubject::Overview(query)).await
}

/// Sends the changes of an operation's page.
pub(super) async fn operation(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<PageFeed, PageError> {
    feed(controller, caller, LiveSubject::Operation(MigrationId(id))).await
}

/// Sends the changes of a migration's page.
pub(super) async fn migration(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Query(query): Query<migration::MigrationQuery>,
) -> Result<PageFeed, PageError> {
    let subject = LiveSubject::Migration(MigrationId(id), query);
    feed(controller, caller, subject).await
}

/// Sends the changes of a cutover's page.
pub(super) async fn cutover(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<PageFeed, PageError> {
    feed(controller, caller, LiveSubject::Cutover(MigrationId(id))).await
}

/// Sends the changes of the list of migrations.
pub(super) async fn migrations(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<migrations::MigrationsQuery>,
) -> Result<PageFeed, PageError> {
    feed(controller, caller, LiveSubject::Migrations(query)).await
}

/// Sends the changes of the agents' page.
pub(super) async fn agents(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
) -> Result<PageFeed, PageError> {
    feed(controller, caller, LiveSubject::Agents).await
}

/// Sends the changes of the list of shards.
pub(super) async fn shards(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<shards::ShardsQuery>,
) -> Result<PageFeed, PageError> {
    feed(controller, caller, LiveSubject::Shards(query)).await
}

/// Sends the changes of a shard's page.
pub(super) async fn shard(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<PageFeed, PageError> {
    feed(controller, caller, LiveSubject::Shard(ShardName(name))).await
}

/// Sends the changes of the list of maps.
pub(super) async fn maps(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
) -> Result<PageFeed, PageError> {
    feed(controller, caller, LiveSubject::Maps).await
}

/// Sends the changes of the audit trail.
pub(super) async fn activity(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<activity::ActivityQuery>,
) -> Result<PageFeed, PageError> {
    feed(controller, caller, LiveSubject::Activity(query)).await
}

/// Sends the changes of a map's page.
pub(super) async fn map(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(query): Query<map::MapQuery>,
) -> Result<PageFeed, PageError> {
    feed(controller, caller, LiveSubject::Map(MapName(name), query)).await
}

/// Renders the fragments of a page again after each change, and returns an event for each fragment that differs.
struct LiveReader {
    changes: watch::Receiver<u64>,
    beats: watch::Receiver<u64>,
    controller: Controller,
    caller: Caller,
    subject: LiveSubject,
    /// The fragments that were last sent, by id.
    last_sent: BTreeMap<&'static str, String>,
    /// Events that were not sent yet.
    queue: VecDeque<Event>,
}

async fn feed(
    controller: Controller,
    caller: Caller,
    subject: LiveSubject,
) -> Result<PageFeed, PageError> {
    let mut reader = LiveReader {
        changes: controller.changes(),
        beats: controller.beats(),
        controller,
        caller,
        subject,
        last_sent: BTreeMap::new(),
        queue: VecDeque::from([Event::default().retry(RECONNECT_AFTER).comment("live")]),
    };
    // If the object does not exist, the response is an error and not an empty stream.
    reader.render().await?;
    let events = unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Ok(Sse::new(events.boxed()).keep_alive(KeepAlive::default()))
}

impl LiveReader {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                beat = self.beats.changed() => beat.ok()?,
                () = tokio::time::sleep(MAX_PAUSE) => {}
            }
            tokio::time::sleep(MIN_PAUSE).await;
            self.changes.borrow_and_update();
            self.beats.borrow_and_update();
            // While the store cannot be reached, the page keeps its content.
            if let Err(error) = self.render().await {
                tracing::debug!(%error, "could not refresh a page");
            }
        }
    }

    /// Renders the page, and adds an event for each fragment that has changed to the queue.
    async fn render(&mut self) -> Result<(), ControlError> {
        let fragments = self.subject.fragments(&self.controller, &self.caller);
        for Fragment { id, html } in fragments.await? {
            if self.last_sent.get(id) != Some(&html) {
                self.queue
                    .push_back(Event::default().event("fragment").data(&html));
                self.last_sent.insert(id, html);
            }
        }
        Ok(())
    }
}
