//! Server-sent events: a map after each change, an operation, and the journal and figures of a migration.

use super::map_text;
use super::migrations::view;
use crate::controller::{ControlError, Controller, MarkedMap};
use axum::http::{HeaderMap, header};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive, KeepAliveStream};
use futures::stream::{BoxStream, StreamExt, unfold};
use plans::id::{MapName, MigrationId};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;

/// A stream of server-sent events.
pub(super) type EventFeed = Sse<KeepAliveStream<BoxStream<'static, Result<Event, Infallible>>>>;
/// A stream of events with a map.
pub(super) type MapFeed = EventFeed;

/// The shortest time between two reads of the store.
const PAUSE: Duration = Duration::from_millis(250);
/// The pause after an error of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
/// The maximum number of events in one read.
const BATCH: i64 = 500;

/// Returns whether the client accepts server-sent events.
pub(super) fn accepts_feed(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|a| a.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

/// Returns the id of the last event that a reconnecting client received.
pub(super) fn last_event_id(headers: &HeaderMap) -> Option<i64> {
    let id = headers.get("last-event-id")?;
    id.to_str().ok()?.parse().ok()
}

/// Reads a map from the controller, and returns an event after each change.
struct MapReader {
    controller: Controller,
    name: MapName,
    changes: watch::Receiver<u64>,
    /// The version that the client had when it reconnected.
    client_version: Option<i64>,
    /// The map that was last sent.
    last_sent: Option<MarkedMap>,
}

/// Sends the event `map` now and after each change. Its data is the whole map, and its id is the version.
pub(super) fn feed_map(controller: Controller, name: MapName, headers: &HeaderMap) -> MapFeed {
    let reader = MapReader {
        changes: controller.changes(),
        controller,
        name,
        client_version: last_event_id(headers),
        last_sent: None,
    };
    feed(unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    }))
}

impl MapReader {
    /// Waits for the next event; `None` if the controller ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            self.changes.borrow_and_update();
            match self.controller.marked_map(&self.name).await {
                Ok(marked) => {
                    let version = marked.bare().version;
                    let client_has_version = self.client_version.take() == Some(version.0);
                    let is_new = self.last_sent.as_ref() != Some(&marked) && !client_has_version;
                    self.last_sent = Some(marked);
                    if let Some(marked) = self.last_sent.as_ref().filter(|_| is_new) {
                        let (id, text) = (version.to_string(), map_text::text(marked).ok()?);
                        return Some(Event::default().event("map").id(id).data(text));
                    }
                }
                Err(_) => {
                    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                    continue;
                }
            }
            self.changes.changed().await.ok()?;
        }
    }
}

/// Reads the journal and the view of a migration, and returns an event for each new line and each change.
struct MigrationReader {
    controller: Controller,
    id: MigrationId,
    /// The number of the last journal line that was sent.
    after: i64,
    /// The view that was last sent, as JSON.
    last_sent: String,
    /// Events that were read and not sent yet.
    queue: VecDeque<Event>,
    changes: watch::Receiver<u64>,
    beats: watch::Receiver<u64>,
}

/// Sends the event `event` for each line of the journal, with the line's number as id, and the event `view` when
/// anything has changed.
pub(super) fn feed_migration(controller: Controller, id: MigrationId, after: i64) -> EventFeed {
    let reader = MigrationReader {
        changes: controller.changes(),
        beats: controller.beats(),
        controller,
        id,
        after,
        last_sent: String::new(),
        queue: VecDeque::new(),
    };
    feed(unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    }))
}

impl MigrationReader {
    /// Waits for the next event; `None` if the controller ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            self.changes.borrow_and_update();
            self.beats.borrow_and_update();
            if self.poll().await.is_err() {
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                continue;
            }
            if !self.queue.is_empty() {
                continue;
            }
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                beat = self.beats.changed() => beat.ok()?,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Reads new journal lines and the view, and adds the events to the queue.
    async fn poll(&mut self) -> Result<(), ControlError> {
        let store = self.controller.store();
        for event in store.events(&self.id, self.after, BATCH).await? {
            self.after = event.seq;
            let data = serde_json::to_string(&event).unwrap_or_default();
            let event = Event::default().event("event").id(event.seq.to_string());
            self.queue.push_back(event.data(data));
        }
        let snapshot = self.controller.load(&self.id).await?;
        let text = serde_json::to_string(&view(&self.controller, &snapshot)).unwrap_or_default();
        if text != self.last_sent {
            self.queue
                .push_back(Event::default().event("view").data(text.clone()));
            self.last_sent = text;
        }
        Ok(())
    }
}

/// Reads the view of an operation, and returns an event after each change.
struct OperationReader {
    controller: Controller,
    id: MigrationId,
    changes: watch::Receiver<u64>,
    /// The view that was last sent, as JSON.
    last_sent: String,
}

/// Sends the event `view` with the operation, now and after each change.
pub(super) fn feed_operation(controller: Controller, id: MigrationId) -> EventFeed {
    let reader = OperationReader {
        changes: controller.changes(),
        controller,
        id,
        last_sent: String::new(),
    };
    feed(unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    }))
}

impl OperationReader {
    /// Waits for the next event; `None` if the controller ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            self.changes.borrow_and_update();
            match super::operations::view(&self.controller, &self.id).await {
                Ok(view) => {
                    let text = serde_json::to_string(&view).ok()?;
                    if text != self.last_sent {
                        self.last_sent.clone_from(&text);
                        return Some(Event::default().event("view").data(text));
                    }
                }
                Err(_) => {
                    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                    continue;
                }
            }
            self.changes.changed().await.ok()?;
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn feed(
    events: impl futures::Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> EventFeed {
    Sse::new(events.boxed()).keep_alive(KeepAlive::default())
}
