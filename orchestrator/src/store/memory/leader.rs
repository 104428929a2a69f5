//! The lease of the leader in memory.

use super::MemoryStore;
use super::state::MemoryState;
use crate::store::leader::OwnTerm;
use crate::store::{
    Leader, LeaderCandidate, LeaderStore, RemoteChange, StoreError, StoreFuture, Term,
};
use chrono::{TimeDelta, Utc};

impl MemoryState {
    /// Fails unless the handle leads.
    pub(super) fn prove_term(&self, own: &OwnTerm) -> Result<(), StoreError> {
        let leader = self.leader.as_ref();
        let leads = own.get().is_some_and(|(term, holder)| {
            leader.is_some_and(|leader| leader.term == term && leader.holder == holder)
        });
        if !leads {
            own.take();
            return Err(StoreError::NotLeading);
        }
        Ok(())
    }

    /// Returns the lease with its current state.
    pub(super) fn leader(&self) -> Option<Leader> {
        self.leader.clone().map(|leader| Leader {
            live: leader.until > Utc::now(),
            ..leader
        })
    }

    pub(super) fn campaign(&mut self, own: &OwnTerm, candidate: &LeaderCandidate) -> Leader {
        let previous = self.leader();
        let renews = self.prove_term(own).is_ok();
        if let Some(other) = &previous
            && !renews
            && other.live
            && other.holder != candidate.holder
        {
            return other.clone();
        }
        let term = previous.map_or(Term(0), |previous| previous.term);
        if !renews {
            // The transactions of an older term have ended with their sessions, and released their locks.
            self.sealed.clear();
        }
        let lease = TimeDelta::from_std(candidate.lease).unwrap_or(TimeDelta::MAX);
        let leader = Leader {
            term: if renews { term } else { Term(term.0 + 1) },
            holder: candidate.holder.clone(),
            url: candidate.url.clone(),
            until: Utc::now() + lease,
            live: true,
        };
        self.leader = Some(leader.clone());
        own.set(&leader);
        leader
    }

    pub(super) fn resign(&mut self, own: &OwnTerm) {
        let leads = self.prove_term(own).is_ok();
        own.take();
        if let Some(leader) = self.leader.as_mut().filter(|_| leads) {
            leader.until = Utc::now();
        }
    }
}

impl LeaderStore for MemoryStore {
    fn campaign<'a>(&'a self, candidate: &'a LeaderCandidate) -> StoreFuture<'a, Leader> {
        self.run(|state| Ok(state.campaign(&self.own_term, candidate)))
    }

    fn term(&self) -> Option<Term> {
        self.own_term.term()
    }

    fn step_down(&self) {
        self.own_term.take();
    }

    fn resign(&self) -> StoreFuture<'_, ()> {
        self.run(|state| {
            state.resign(&self.own_term);
            Ok(())
        })
    }

    fn leader(&self) -> StoreFuture<'_, Option<Leader>> {
        self.run(|state| Ok(state.leader()))
    }

    fn wait_for_remote_change(&self) -> StoreFuture<'_, RemoteChange> {
        // All handles are in one process, and its tasks read the store without a notification.
        Box::pin(std::future::pending())
    }
}
