//! Which controller leads: the lease with its term, as the store keeps it.
//!
//! A store is opened by a follower. [`super::Store::stand`] makes its handle the leader's where it can; from then on
//! every write proves the term in its own transaction (I4, I7), and is refused once another one has taken over.
//! The lease's time is the store's own, and bounds only how long nobody leads (I9).

use chrono::{DateTime, Utc};
use plans::id::InstanceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Number of a leadership; grows by one with each take-over.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Term(pub i64);

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A process that would lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderCandidate {
    /// Random id of the process.
    pub holder: InstanceId,
    /// Where it is reached.
    pub url: String,
    /// How long nobody else takes over although it is silent.
    pub lease: Duration,
}

/// Who leads, or led last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leader {
    /// Its term.
    pub term: Term,
    /// Its process.
    pub holder: InstanceId,
    /// Where it is reached.
    pub url: String,
    /// When its lease runs out, by the store's clock.
    pub until: DateTime<Utc>,
    /// It had not run out when this was read.
    pub live: bool,
}

/// What another process did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteChange {
    /// The lease was taken or given up.
    Leader,
    /// Anything else.
    Change,
}

/// The term of a handle and the process that holds it; empty while it follows.
#[derive(Debug, Default)]
pub(super) struct OwnTerm(Mutex<Option<(Term, InstanceId)>>);

impl OwnTerm {
    pub(super) fn get(&self) -> Option<(Term, InstanceId)> {
        self.with(|own| own.clone())
    }

    pub(super) fn term(&self) -> Option<Term> {
        self.with(|own| own.as_ref().map(|(term, _)| *term))
    }

    pub(super) fn set(&self, leader: &Leader) {
        self.with(|own| *own = Some((leader.term, leader.holder.clone())));
    }

    pub(super) fn take(&self) -> Option<(Term, InstanceId)> {
        self.with(Option::take)
    }

    /// Forgets this term, unless another one has begun meanwhile.
    pub(super) fn forget(&self, term: Term) {
        self.with(|own| {
            own.take_if(|(own, _)| *own == term);
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut Option<(Term, InstanceId)>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
