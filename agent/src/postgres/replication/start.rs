//! Opens a walsender's stream on a slot: checks the server's identity and the state of the slot, and starts.
//!
//! A start position before the slot's confirmed position is an error, because PostgreSQL would skip the changes between
//! them without an error.

use connect::Dsn;
use plans::table::Format;

use super::error::WireError;
use super::walsender::WalsenderSession;
use super::{FeedbackMode, ReplicationError, ReplicationSession, StreamStart, column};
use crate::postgres::lsn::Lsn;

/// Opens a session and starts to stream. On return, this session holds the slot.
pub(super) async fn open(
    dsn: &Dsn,
    application_name: &str,
    start: &StreamStart,
    feedback: FeedbackMode,
) -> Result<WalsenderSession, ReplicationError> {
    let mut session = ReplicationSession::open(dsn, application_name).await?;
    check_system(&mut session, start).await?;
    check_slot(&mut session, start).await?;
    let command = start_command(start);
    let started = session.connection.start(&command, start.trims).await;
    started.map_err(|source| start_error(session.server(), &start.slot, source))?;
    let ReplicationSession {
        connection, server, ..
    } = session;
    Ok(WalsenderSession::spawn(connection, server, feedback))
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
    let rows = session.connection.query(&read).await;
    let rows = rows.map_err(|error| error.during(&server, "read the slot"))?;
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

/// Returns the command that starts to stream. The names need no quotes.
fn start_command(start: &StreamStart) -> String {
    let binary = match start.format {
        Format::Binary => ", binary 'true'",
        Format::Text => "",
    };
    format!(
        "START_REPLICATION SLOT {} LOGICAL {} (proto_version '1', publication_names '{}', messages 'true'{binary})",
        start.slot, start.start, start.publication
    )
}

fn start_error(server: &str, slot: &str, error: WireError) -> ReplicationError {
    if let WireError::Refused(refusal) = &error {
        let (server, slot) = (server.to_owned(), slot.to_owned());
        match refusal.state.as_str() {
            "42704" => return ReplicationError::SlotMissing { server, slot },
            "55006" => {
                let pid = last_number(&refusal.message);
                return ReplicationError::SlotBusy { server, slot, pid };
            }
            "55000" if refusal.message.contains("can no longer") => {
                return ReplicationError::SlotLost { server, slot };
            }
            _ => {}
        }
    }
    error.during(server, "start streaming")
}

/// Returns the pid from `... is active for PID 123`: in every language, it is the last number.
fn last_number(message: &str) -> Option<i32> {
    message
        .rsplit(|c: char| !c.is_ascii_digit())
        .find(|word| !word.is_empty())?
        .parse()
        .ok()
}
