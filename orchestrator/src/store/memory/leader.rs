//! The lease of the leader in memory.

use super::state::State;
use crate::store::leader::Own;
use crate::store::{Candidate, Leader, StoreError, Term};
use chrono::{TimeDelta, Utc};

impl State {
    /// Refuses whoever does not lead.
    pub(super) fn prove(&self, own: &Own) -> Result<(), StoreError> {
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

    /// The lease as it is now.
    pub(super) fn leader(&self) -> Option<Leader> {
        self.leader.clone().map(|leader| Leader {
            live: leader.until > Utc::now(),
            ..leader
        })
    }

    pub(super) fn stand(&mut self, own: &Own, candidate: &Candidate) -> Leader {
        let seen = self.leader();
        let renews = self.prove(own).is_ok();
        if let Some(other) = &seen
            && !renews
            && other.live
            && other.holder != candidate.holder
        {
            return other.clone();
        }
        let term = seen.map_or(Term(0), |seen| seen.term);
        if !renews {
            // What an older term had under way is gone with its sessions.
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

    pub(super) fn resign(&mut self, own: &Own) {
        let leads = self.prove(own).is_ok();
        own.take();
        if let Some(leader) = self.leader.as_mut().filter(|_| leads) {
            leader.until = Utc::now();
        }
    }
}
