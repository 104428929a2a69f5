//! Decides which errors permit another attempt, and the pause before it.

use crate::error::BoxError;
use connect::{Class, ConnectError};
use plans::names::{SQLSTATE_NOT_OPEN, SQLSTATE_NOT_OWNER};
use rand::Rng;
use std::error::Error;
use std::time::Duration;
use tokio_postgres::error::Severity;

/// What to do after an error that occurred before the commit was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// The guard refused the key, permanently or for a moment: wait for a newer map, then try again.
    RefreshNotOwner,
    /// The guard refused the key because the shard does not own it yet: wait for a newer map, then try again.
    RefreshNotOpen,
    /// Try again after a pause.
    Again,
    /// Return the error to the application.
    None,
}

/// Decides what to do after an error of the closure: finds the error of the server or the connection in its chain.
pub(crate) fn remedy(error: &BoxError) -> Remedy {
    postgres_error(error.as_ref()).map_or(Remedy::None, remedy_of)
}

/// Decides what to do after an error of tokio-postgres.
pub(crate) fn remedy_of(error: &tokio_postgres::Error) -> Remedy {
    let Some(state) = error.code() else {
        let is_lost = error.is_closed() || caused_by_io(error);
        return if is_lost { Remedy::Again } else { Remedy::None };
    };
    match state.code() {
        SQLSTATE_NOT_OWNER => Remedy::RefreshNotOwner,
        SQLSTATE_NOT_OPEN => Remedy::RefreshNotOpen,
        // Serialization failure, deadlock; the server stops, has crashed or starts; no connection is free.
        "40001" | "40P01" | "57P01" | "57P02" | "57P03" | "53300" => Remedy::Again,
        code if code.starts_with("08") => Remedy::Again,
        _ => Remedy::None,
    }
}

/// Decides what to do if a connection could not be opened.
pub(crate) fn remedy_of_connect(error: &ConnectError) -> Remedy {
    match error.class() {
        Class::Transient => Remedy::Again,
        Class::Permanent | Class::Resource | Class::NotOwner => Remedy::None,
    }
}

/// Returns true if a failed commit was certainly rolled back: the session still exists and reported the error.
pub(crate) fn refused_at_commit(error: &tokio_postgres::Error) -> bool {
    error
        .as_db_error()
        .is_some_and(|db| db.parsed_severity() == Some(Severity::Error))
}

/// Returns true if the session does not exist any more after an error.
pub(crate) fn ends_session(error: &tokio_postgres::Error) -> bool {
    match error.as_db_error() {
        Some(db) => matches!(
            db.parsed_severity(),
            Some(Severity::Fatal | Severity::Panic)
        ),
        None => error.is_closed() || caused_by_io(error),
    }
}

fn postgres_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e tokio_postgres::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn caused_by_io(error: &tokio_postgres::Error) -> bool {
    let mut next = error.source();
    while let Some(cause) = next {
        if cause.is::<std::io::Error>() {
            return true;
        }
        next = cause.source();
    }
    false
}

/// Pauses, each twice as long as the one before. Each is changed at random by up to a fifth.
#[derive(Debug)]
pub(crate) struct Pauses {
    next: Duration,
    longest: Duration,
}

impl Pauses {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self {
            next: first,
            longest,
        }
    }

    /// Returns the next pause.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.next.mul_f64(rand::rng().random_range(0.8..1.2));
        self.next = (self.next * 2).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_limit() {
        let mut pauses = Pauses::new(Duration::from_millis(5), Duration::from_millis(20));
        let lengths: Vec<Duration> = (0..4).map(|_| pauses.next()).collect();
        let within = |pause: Duration, ms: u64| {
            let middle = Duration::from_millis(ms);
            pause >= middle.mul_f64(0.79) && pause <= middle.mul_f64(1.21)
        };
        for (pause, ms) in lengths.into_iter().zip([5, 10, 20, 20]) {
            assert!(within(pause, ms), "{pause:?} is not about {ms} ms");
        }
    }
}
