//! Opens a walsender's stream on a slot: checks the server's identity and the state of the slot, and starts.
//!
//! A start position before the slot's confirmed position is an error, because PostgreSQL would skip the changes between
//! them without an error.

use connect::Dsn;
use pgwire_replication::{FeedbackObserver, PgWireError, ReplicationClient};
use tokio::sync::watch;

use super::proxy::ProxyOptions;
use super::{
    FeedbackMode, ReplicationError, ReplicationSession, StreamStart, column, config, error,
};
use crate::postgres::lsn::Lsn;

/// A walsender that streams.
pub(super) struct WalsenderSession {
    pub(super) client: ReplicationClient,
    pub(super) server: String,
    /// Notifies of each report of a confirmed position.
    pub(super) reported: watch::Receiver<()>,
}

/// Opens a session and starts to stream. On return, this session holds the slot.
pub(super) async fn open(
    dsn: &Dsn,
    application_name: &str,
    start: &StreamStart,
    feedback: FeedbackMode,
) -> Result<WalsenderSession, ReplicationError> {
    let (report, reported) = watch::channel(());
    let observer = FeedbackObserver::new(move |_| {
        report.send_replace(());
    });
    let config =
        config::stream(start, observer).with_status_interval(config::status_interval(feedback));
    let passage = ProxyOptions {
        feedback,
        trims: start.trims,
    };
    let mut session = ReplicationSession::connect(dsn, application_name, config, passage).await?;
    check_system(&mut session, start).await?;
    check_slot(&mut session, start).await?;
    start_streaming(&mut session, start).await?;
    Ok(WalsenderSession {
        client: session.client,
        server: session.server,
        reported,
    })
}

async fn check_system(
    session: &mut ReplicationSession,
    start: &StreamStart,
) -> Result<(), ReplicationError> {
    let found = session.identify_system().await?;
    if found == start.system {
        return Ok(());
    }
    Err(ReplicationError::SystemChanged {
        server: session.server().to_owned(),
        expected: start.system,
        found,
    })
}

/// Checks the slot and the publication before the start. The server does not refuse each of these states, and its
/// errors are less exact.
async fn check_slot(
    session: &mut ReplicationSession,
    start: &StreamStart,
) -> Result<(), ReplicationError> {
    let (server, slot) = (session.server().to_owned(), start.slot.clone());
    let read = format!(
        "select confirmed_flush_lsn, wal_status, active_pid, \
           exists (select from pg_catalog.pg_publication where pubname = '{}') \
         from pg_catalog.pg_replication_slots where slot_name = '{slot}'",
        start.publication
    );
    let rows = session.client.simple_query(&read).await;
    let rows = rows.map_err(|e| ReplicationError::from_wire(&server, "read the slot", e))?;
    let Some(row) = rows.first() else {
        return Err(ReplicationError::SlotMissing { server, slot });
    };
    if column(row, 1) == Some("lost") {
        return Err(ReplicationError::SlotLost { server, slot });
    }
    if let Some(pid) = column(row, 2) {
        return Err(ReplicationError::SlotBusy {
            server,
            slot,
            pid: pid.parse().ok(),
        });
    }
    // Without the publication, PostgreSQL 18 and newer would omit the changes without an error.
    if column(row, 3) != Some("t") {
        let publication = start.publication.clone();
        return Err(ReplicationError::PublicationMissing {
            server,
            slot,
            publication,
        });
    }
    let confirmed = column(row, 0).and_then(|text| text.parse().ok());
    gap(&server, &slot, start.start, confirmed)
}

/// Fails if the slot has been advanced beyond `start`, so that changes are missing, or if the slot is lost.
pub(super) fn gap(
    server: &str,
    slot: &str,
    start: Lsn,
    confirmed: Option<Lsn>,
) -> Result<(), ReplicationError> {
    let (server, slot) = (server.to_owned(), slot.to_owned());
    match confirmed {
        Some(confirmed) if start < confirmed => Err(ReplicationError::Gap {
            server,
            slot,
            start,
            confirmed,
        }),
        Some(_) => Ok(()),
        None => Err(ReplicationError::SlotLost { server, slot }),
    }
}

async fn start_streaming(
    session: &mut ReplicationSession,
    start: &StreamStart,
) -> Result<(), ReplicationError> {
    let started = async {
        session.client.start().await?;
        session.client.wait_started().await
    };
    started
        .await
        .map_err(|source| start_error(session.server(), &start.slot, source))
}

fn start_error(server: &str, slot: &str, source: PgWireError) -> ReplicationError {
    let (server, slot) = (server.to_owned(), slot.to_owned());
    match (error::sqlstate(&source), &source) {
        (Some("42704"), _) => ReplicationError::SlotMissing { server, slot },
        (Some("55006"), PgWireError::Server(message)) => ReplicationError::SlotBusy {
            server,
            slot,
            pid: last_number(message),
        },
        (Some("55000"), PgWireError::Server(message)) if message.contains("can no longer") => {
            ReplicationError::SlotLost { server, slot }
        }
        _ => ReplicationError::from_wire(&server, "start streaming", source),
    }
}

/// Returns the pid from `... is active for PID 123 (SQLSTATE 55006)`: in every language, it is the last number before
/// the parenthesis.
fn last_number(message: &str) -> Option<i32> {
    let (text, _) = message.rsplit_once('(')?;
    text.rsplit(|c: char| !c.is_ascii_digit())
        .find(|word| !word.is_empty())?
        .parse()
        .ok()
}
