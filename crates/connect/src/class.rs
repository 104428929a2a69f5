//! Classifies failed statements and connections: is a retry useful?

use std::error::Error as _;
use std::io;

/// Whether a retry is useful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The same attempt fails again until a person or another program changes something.
    Permanent,
    /// The server or the network was not ready, or two transactions conflicted. A retry may succeed.
    Transient,
    /// The server had no free disk space. A retry may succeed when there is space.
    Resource,
    /// The guard refused the write, because this shard does not own the key.
    NotOwner,
}

/// Classifies an error of tokio-postgres: by its SQLSTATE if the server returned one, otherwise by its cause.
///
/// A closed connection and input/output errors are transient. Malformed data and errors of the client (no password,
/// unsupported authentication) are permanent.
pub fn classify(error: &tokio_postgres::Error) -> Class {
    if let Some(db) = error.as_db_error() {
        return classify_server(db.code().code(), db.message());
    }
    if error.is_closed() {
        return Class::Transient;
    }
    match error
        .source()
        .and_then(|cause| cause.downcast_ref::<io::Error>())
    {
        Some(cause) => classify_io(cause),
        None => Class::Permanent,
    }
}

/// Returns the SQLSTATE for the cause of a server's error. It is the server's own, except where the server reports a
/// known cause as an internal error.
pub(crate) fn cause_state<'state>(state: &'state str, message: &str) -> &'state str {
    match state {
        // PostgreSQL 15 cannot write the caches of its catalog at a login.
        "XX000" if message.starts_with("could not write init file") => "53100",
        _ => state,
    }
}

/// Returns the SQLSTATE for the cause of an error of tokio-postgres, if the server returned one ([`cause_state`]).
pub fn cause_state_of(error: &tokio_postgres::Error) -> Option<&str> {
    let db = error.as_db_error()?;
    Some(cause_state(db.code().code(), db.message()))
}

/// Classifies an error of a server by the SQLSTATE of its cause. An internal error is classified by its message, which servers do
/// not translate.
pub fn classify_server(state: &str, message: &str) -> Class {
    // A concurrent transaction has dropped or changed a definition that the statement had read. The next statement
    // reads it again.
    let race_messages = ["cache lookup failed for ", "tuple concurrently "];
    match state {
        "XX000" if race_messages.iter().any(|text| message.starts_with(text)) => Class::Transient,
        _ => classify_sqlstate(cause_state(state, message)),
    }
}

/// Classifies a five-character SQLSTATE.
pub fn classify_sqlstate(state: &str) -> Class {
    match state {
        "SM001" | "SM002" => Class::NotOwner,
        "53100" | "58030" => Class::Resource,
        // The database was dropped, which a retry cannot change.
        "57P04" => Class::Permanent,
        // The lock is not available, the object is in use, or the server is read-only (a standby before its promotion).
        "55P03" | "55006" | "25006" => Class::Transient,
        // The session is in another database: for a while a name or a proxy may lead to the wrong server.
        "SM008" => Class::Transient,
        // A timeout or an administrator has ended or cancelled the session.
        "25P03" | "25P04" | "57014" | "57P05" => Class::Transient,
        _ if ["08", "53"].iter().any(|class| state.starts_with(class)) => Class::Transient,
        "57P01" | "57P02" | "57P03" | "40001" | "40P01" => Class::Transient,
        _ => Class::Permanent,
    }
}

/// Classifies an error of a connection: malformed data are permanent, all other errors transient.
pub fn classify_io(cause: &io::Error) -> Class {
    if matches!(
        cause.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
    ) {
        Class::Permanent
    } else {
        Class::Transient
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates_have_the_right_class() {
        let expected = [
            ("28P01", Class::Permanent),
            ("3D000", Class::Permanent),
            ("42501", Class::Permanent),
            ("57P03", Class::Transient),
            ("53300", Class::Transient),
            ("53100", Class::Resource),
            ("08006", Class::Transient),
            ("40001", Class::Transient),
            ("SM001", Class::NotOwner),
            ("SM002", Class::NotOwner),
            ("23505", Class::Permanent),
        ];
        for (state, class) in expected {
            assert_eq!(classify_sqlstate(state), class, "{state}");
        }
    }

    #[test]
    fn a_full_disk_that_the_server_reports_as_an_internal_error_is_one() {
        let full = "could not write init file";
        assert_eq!(cause_state("XX000", full), "53100");
        assert_eq!(classify_server("XX000", full), Class::Resource);
        assert_eq!(cause_state("42501", full), "42501");
    }

    #[test]
    fn after_a_concurrent_drop_a_retry_is_useful() {
        let raced = "cache lookup failed for publication 16781";
        assert_eq!(classify_server("XX000", raced), Class::Transient);
        let broken = "could not convert type";
        assert_eq!(classify_server("XX000", broken), Class::Permanent);
        assert_eq!(classify_server("42P01", raced), Class::Permanent);
    }
}
