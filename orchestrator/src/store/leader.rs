//! The lease and the term of the leading controller, as the store keeps them.
//!
//! A process opens the store as a follower. [`LeaderStore::campaign`] makes its handle the leader's if no other
//! controller leads. From then on every write proves the term in its own transaction (I4, I7), and fails once another
//! controller has taken over. The lease is measured by the store's clock. It bounds only the time without a leader
//! (I9).

use super::StoreFuture;
use chrono::{DateTime, Utc};
use plans::id::InstanceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The number of a leadership. It increases by one with each take-over.
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

/// A process that wants to lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderCandidate {
    /// The random id of the process.
    pub holder: InstanceId,
    /// The URL at which other processes reach it.
    pub url: String,
    /// How long no other process takes over although this one sends nothing.
    pub lease: Duration,
}

/// The controller that leads or that led last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leader {
    /// The leader's term.
    pub term: Term,
    /// The leader's process.
    pub holder: InstanceId,
    /// The URL at which other processes reach it.
    pub url: String,
    /// When the leader's lease expires, by the store's clock.
    pub until: DateTime<Utc>,
    /// True if the lease had not expired when it was read.
    pub live: bool,
}

/// A change that another process made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteChange {
    /// A controller took the lease over or gave it up.
    Leader,
    /// Any other change.
    Change,
}

/// The term of a handle and its process; empty while the handle is a follower.
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

    /// Forgets this term, unless a newer one has begun.
    pub(super) fn forget(&self, term: Term) {
        self.with(|own| {
            own.take_if(|(own, _)| *own == term);
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut Option<(Term, InstanceId)>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The lease and the term of the leading controller.
pub trait LeaderStore: Send + Sync + std::fmt::Debug {
    /// Renews the lease of this handle, or takes over if no controller leads any more. Returns the current leader.
    ///
    /// If it returns another leader than before, every transaction of older terms has ended, and none can begin. If it
    /// returns `candidate`, this handle writes under the new term from now on. If the future was dropped, call it
    /// again.
    fn campaign<'a>(&'a self, candidate: &'a LeaderCandidate) -> StoreFuture<'a, Leader>;

    /// Returns the term under which this handle writes, or `None` if it is a follower.
    fn term(&self) -> Option<Term>;

    /// Makes this handle a follower, which writes nothing. It sends nothing to the store.
    fn step_down(&self);

    /// Makes this handle a follower, and ends its lease, so that another controller can take over immediately.
    fn resign(&self) -> StoreFuture<'_, ()>;

    /// Returns the controller that leads or that led last, or `None` if no controller has ever led.
    fn leader(&self) -> StoreFuture<'_, Option<Leader>>;

    /// Waits until another process may have changed something. After an error, a change may have been missed.
    fn wait_for_remote_change(&self) -> StoreFuture<'_, RemoteChange>;
}
