//! What a failed statement or connection means for whoever would try again.

use std::error::Error as _;
use std::io;

/// What a retry is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The same attempt fails again until somebody changes something.
    Permanent,
    /// The server or the network was not ready, or two transactions met; try again.
    Transient,
    /// The server ran out of disk; try again when there is room.
    Resource,
    /// A guard refused the write: this shard does not own the key.
    NotOwner,
}

/// Classifies any error of tokio-postgres: by SQLSTATE if the server spoke, else by its cause.
///
/// A closed connection and input/output errors are transient; malformed data and client-side
/// refusals (no password given, unsupported authentication) are permanent.
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

/// Classifies what a server reported: by its SQLSTATE, an internal error by its message, which no server translates.
pub fn classify_server(state: &str, message: &str) -> Class {
    // What the statement had read of a definition was dropped meanwhile; the next statement reads anew.
    let raced = ["cache lookup failed for ", "tuple concurrently "];
    match state {
        "XX000" if raced.iter().any(|text| message.starts_with(text)) => Class::Transient,
        _ => classify_sqlstate(state),
    }
}

/// Classifies a five-character SQLSTATE.
pub fn classify_sqlstate(state: &str) -> Class {
    match state {
        "SM001" | "SM002" => Class::NotOwner,
        "53100" | "58030" => Class::Resource,
        // dropped database: waiting does not bring it back
        "57P04" => Class::Permanent,
        // lock not available, object in use, read-only server (a standby before its promotion)
        "55P03" | "55006" | "25006" => Class::Transient,
        // another database answered: a name or a proxy may lead elsewhere for a while
        "SM008" => Class::Transient,
        // our session was ended or cancelled by a timeout or by an administrator
        "25P03" | "25P04" | "57014" | "57P05" => Class::Transient,
        _ if ["08", "53"].iter().any(|class| state.starts_with(class)) => Class::Transient,
        "57P01" | "57P02" | "57P03" | "40001" | "40P01" => Class::Transient,
        _ => Class::Permanent,
    }
}

/// Classifies what happened to a connection: malformed data is permanent, all else transient.
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
    fn sqlstates_map_to_what_a_retry_is_worth() {
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
    fn a_definition_that_was_dropped_meanwhile_is_read_again() {
        let raced = "cache lookup failed for publication 16781";
        assert_eq!(classify_server("XX000", raced), Class::Transient);
        let broken = "could not convert type";
        assert_eq!(classify_server("XX000", broken), Class::Permanent);
        assert_eq!(classify_server("42P01", raced), Class::Permanent);
    }
}
