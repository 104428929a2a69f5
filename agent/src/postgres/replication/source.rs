//! The transports that deliver the messages of a change stream: a walsender, or a backlog read by SQL, one after the
//! other.

use std::time::Duration;

use connect::Session;
use futures::future::BoxFuture;

use super::backlog::Backlog;
use super::config::SILENCE_LIMIT;
use super::error::WireError;
use super::origin::SlotEndpoint;
use super::walsender::WalsenderSession;
use super::{RawEvent, ReplicationError, start};
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::begins;

/// A stream whose position is at least this many bytes of log before the end of the log reads a backlog by SQL.
const FAR: u64 = 16 << 20;
/// A walsender that [`ReceivedPosition::leave_to_sender`] selected may read this many bytes of log before the stream
/// may switch to SQL.
const SENDERS: u64 = 256 << 20;
/// Number and interval of attempts to open a slot whose previous walsender has not ended yet.
const SLOT_TRIES: u32 = 100;
const SLOT_PAUSE: Duration = Duration::from_millis(20);

/// The current transport.
pub(super) enum MessageSource {
    Sender(WalsenderSession),
    Backlog(Backlog),
    /// A walsender that is being opened.
    Opening(BoxFuture<'static, Result<WalsenderSession, ReplicationError>>),
}

/// The position up to which messages have arrived.
#[derive(Debug)]
pub(super) struct ReceivedPosition {
    /// Every transaction that commits before this position has arrived.
    pub(super) taken: Lsn,
    /// True inside a transaction: a part of it has arrived, and its commit has not.
    pub(super) inside: bool,
    /// The server has read its log up to this position.
    read: Lsn,
    /// The latest known end of the log.
    written: Lsn,
    /// Until this position the walsender reads, even if it is far from the end of the log. The value is cleared earlier
    /// when the walsender comes near the end of the log.
    senders: Option<Lsn>,
}

impl ReceivedPosition {
    pub(super) fn at(start: Lsn) -> Self {
        Self {
            taken: start,
            inside: false,
            read: start,
            written: start,
            senders: None,
        }
    }

    /// Records that the server has written its log up to `end`.
    pub(super) fn wrote(&mut self, end: Lsn) {
        self.written = self.written.max(end);
    }

    /// Returns whether the backlog is large enough to read it by SQL.
    pub(super) fn is_far_behind(&self) -> bool {
        self.senders.is_none() && self.written.bytes_since(self.read) >= FAR
    }

    /// Makes the stream use a walsender for the next [`SENDERS`] bytes of log. A new walsender first decodes log that
    /// has already been received, and so would a new backlog.
    pub(super) fn leave_to_sender(&mut self) {
        self.senders = Some(Lsn(self.written.max(self.read).0 + SENDERS));
    }

    /// Returns the position at which the next transport starts. The agent may have confirmed a position after the last
    /// received commit; a start before it would be reported as a gap.
    pub(super) fn goes_on(&self, confirmed: Lsn) -> Lsn {
        self.taken.max(confirmed)
    }

    /// Updates the state after a message of a walsender.
    pub(super) fn sent(&mut self) {
        let near = self.written.bytes_since(self.read) < FAR / 2;
        self.senders = self.senders.filter(|until| !near && self.read < *until);
    }

    /// Updates the state after a message of any transport.
    pub(super) fn arrived(&mut self, event: &RawEvent) {
        match event {
            RawEvent::KeepAlive { wal_end } => self.read = self.read.max(*wal_end),
            RawEvent::Message {
                ends: Some(end), ..
            } => self.ended(*end),
            RawEvent::Message { message, .. } => self.inside |= begins(message).is_some(),
        }
    }

    /// Records that every transaction that commits before `end` has arrived.
    pub(super) fn ended(&mut self, end: Lsn) {
        self.inside = false;
        self.taken = end;
        self.read = self.read.max(end);
    }
}

impl SlotEndpoint {
    /// Returns this endpoint with another start position.
    pub(super) fn at(&self, start: Lsn) -> Self {
        let mut origin = self.clone();
        origin.start.start = start;
        origin
    }

    /// Opens a walsender's stream.
    pub(super) async fn open(&self) -> Result<WalsenderSession, ReplicationError> {
        start::open(
            &self.dsn,
            &self.application_name,
            &self.start,
            self.feedback,
        )
        .await
    }

    /// Reads the slot's confirmed position, and checks that the stream starts at or after it. This session holds the
    /// slot, so no other session can advance the slot any more.
    pub(super) async fn check_gap(&self, server: &str) -> Result<Lsn, ReplicationError> {
        let slot = &self.start.slot;
        let named = Session::named(&self.application_name);
        let session = connect::connect(&self.dsn, &named).await?;
        let read = "select confirmed_flush_lsn from pg_replication_slots where slot_name = $1";
        let row =
            session
                .query_one(read, &[slot])
                .await
                .map_err(|source| ReplicationError::Query {
                    server: server.to_owned(),
                    intent: "read the slot",
                    source,
                })?;
        session.close().await;
        let confirmed: Option<Lsn> = row.get(0);
        start::gap(server, slot, self.start.start, confirmed)?;
        Ok(confirmed.unwrap_or(Lsn::ZERO))
    }

    pub(super) async fn next(
        &self,
        sender: &mut WalsenderSession,
    ) -> Result<RawEvent, ReplicationError> {
        match sender.next().await {
            Ok(Some(event)) => Ok(event),
            Ok(None) => Err(ReplicationError::Silent {
                server: sender.server.clone(),
                slot: self.start.slot.clone(),
                after: SILENCE_LIMIT,
            }),
            Err(error) => Err(self.failed(&sender.server, error)),
        }
    }

    /// Converts an error of the stream. The slot exists at this point, so an undefined object is the publication.
    pub(super) fn failed(&self, server: &str, error: WireError) -> ReplicationError {
        let slot = || self.start.slot.clone();
        match error.sqlstate() {
            Some("42704") => ReplicationError::PublicationMissing {
                server: server.to_owned(),
                slot: slot(),
                publication: self.start.publication.clone(),
            },
            _ if matches!(error, WireError::Ended) => ReplicationError::Ended {
                server: server.to_owned(),
                slot: slot(),
            },
            _ => error.during(server, "stream changes"),
        }
    }
}

/// Opens a walsender's stream, and retries while the previous walsender has not ended.
pub(super) async fn sender(origin: SlotEndpoint) -> Result<WalsenderSession, ReplicationError> {
    let mut tries = 0;
    loop {
        match origin.open().await {
            Err(ReplicationError::SlotBusy { .. }) if tries < SLOT_TRIES => {
                tries += 1;
                tokio::time::sleep(SLOT_PAUSE).await;
            }
            opened => return opened,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep_alive(place: &mut ReceivedPosition, at: u64) {
        place.arrived(&RawEvent::KeepAlive { wal_end: Lsn(at) });
        place.sent();
    }

    #[test]
    fn what_was_confirmed_is_not_asked_for_again() {
        let mut place = ReceivedPosition::at(Lsn(10));
        keep_alive(&mut place, 30);
        assert_eq!(place.goes_on(Lsn::ZERO), Lsn(10));
        assert_eq!(place.goes_on(Lsn(30)), Lsn(30));
        place.ended(Lsn(40));
        assert_eq!(place.goes_on(Lsn(30)), Lsn(40));
    }

    #[test]
    fn a_walsender_is_given_time_to_come_near_the_end_before_there_is_another_backlog() {
        let mut place = ReceivedPosition::at(Lsn(0));
        place.wrote(Lsn(FAR - 1));
        assert!(!place.is_far_behind());
        place.wrote(Lsn(FAR));
        assert!(place.is_far_behind());

        place.leave_to_sender();
        place.ended(Lsn(FAR));
        place.wrote(Lsn(3 * FAR));
        assert!(!place.is_far_behind(), "it was just opened");
        keep_alive(&mut place, 2 * FAR);
        assert!(!place.is_far_behind(), "it is on its way");
        keep_alive(&mut place, 3 * FAR - 1);
        place.wrote(Lsn(4 * FAR));
        assert!(place.is_far_behind(), "it was there, and is behind again");

        place.leave_to_sender();
        let until = 4 * FAR + SENDERS;
        place.wrote(Lsn(until + 2 * FAR));
        keep_alive(&mut place, until - 1);
        assert!(!place.is_far_behind());
        keep_alive(&mut place, until);
        assert!(place.is_far_behind(), "it never comes there");
    }
}
