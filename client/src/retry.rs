//! Which refusals are worth another attempt, and how long to pause before it.

use crate::error::BoxError;
use connect::{Class, ConnectError};
use plans::names::{SQLSTATE_NOT_OPEN, SQLSTATE_NOT_OWNER};
use rand::Rng;
use std::error::Error;
use std::time::Duration;
use tokio_postgres::error::Severity;

/// What an error that came before the commit was sent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// The guard refused the key for good or for a moment: look for a newer map, then again.
    RefreshNotOwner,
    /// The guard refused the key because the shard does not own it yet.
    RefreshNotOpen,
    /// Again after a pause.
    Again,
    /// The application's matter.
    None,
}

/// Finds the server's or the connection's word in a chain of errors.
pub(crate) fn remedy(error: &BoxError) -> Remedy {
    postgres_error(error.as_ref()).map_or(Remedy::None, remedy_of)
}

/// What an error of tokio-postgres asks for.
pub(crate) fn remedy_of(error: &tokio_postgres::Error) -> Remedy {
    let Some(state) = error.code() else {
        let lost = error.is_closed() || caused_by_io(error);
        return if lost { Remedy::Again } else { Remedy::None };
    };
    match state.code() {
        SQLSTATE_NOT_OWNER => Remedy::RefreshNotOwner,
        SQLSTATE_NOT_OPEN => Remedy::RefreshNotOpen,
        // serialization failure, deadlock; server stopping, crashed or starting; no connection left
        "40001" | "40P01" | "57P01" | "57P02" | "57P03" | "53300" => Remedy::Again,
        code if code.starts_with("08") => Remedy::Again,
        _ => Remedy::None,
    }
}

/// What a connection that was not opened asks for.
pub(crate) fn remedy_of_connect(error: &ConnectError) -> Remedy {
    match error.class() {
        Class::Transient => Remedy::Again,
        Class::Permanent | Class::Resource | Class::NotOwner => Remedy::None,
    }
}

/// True when a commit that ended so is certain to have been rolled back: the session lives and says so.
pub(crate) fn refused_at_commit(error: &tokio_postgres::Error) -> bool {
    error
        .as_db_error()
        .is_some_and(|db| db.parsed_severity() == Some(Severity::Error))
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

/// Pauses that double, each spread by a fifth to both sides.
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

    /// The next pause.
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
        let taken: Vec<Duration> = (0..4).map(|_| pauses.next()).collect();
        let within = |pause: Duration, ms: u64| {
            let middle = Duration::from_millis(ms);
            pause >= middle.mul_f64(0.79) && pause <= middle.mul_f64(1.21)
        };
        for (pause, ms) in taken.into_iter().zip([5, 10, 20, 20]) {
            assert!(within(pause, ms), "{pause:?} is not about {ms} ms");
        }
    }
}
