//! Which part this process has: it leads under a term and acts, or it follows, reads and names the leader.
//!
//! Order: stand for the lead every half second; while it leads, pass over the migrations; when the lease could not be
//! renewed for as long as it lasts, or another one has taken over, stop in the middle of whatever is under way.
//! Nothing here makes a late write harmless: the store refuses it (I4). The clock decides only when others are asked.

use super::{ControlError, Controller};
use crate::store::{Leader, LeaderCandidate, RemoteChange, StoreError, Term};
use plans::id::InstanceId;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Pause after the store's news could not be heard.
const AFTER_ERROR: Duration = Duration::from_millis(500);
/// The pages of a follower look again so often: figures are not told.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// Longest wait for a store that is to hear that we stop.
const RESIGN_WAIT: Duration = Duration::from_secs(2);

/// The part of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeadershipState {
    /// It decides.
    Leads(Term),
    /// It reads; who leads, if that is known and its lease has not run out.
    Follows(Option<Leader>),
}

impl LeadershipState {
    /// True where nothing can be asked of the leader for the moment.
    fn is_open(&self, own: &str) -> bool {
        match self {
            Self::Leads(_) => false,
            // A predecessor at our own address is gone, although its lease lasts.
            Self::Follows(Some(leader)) => leader.url == own,
            Self::Follows(None) => true,
        }
    }
}

/// What this process knows of the lead.
#[derive(Debug)]
pub(super) struct Leadership {
    holder: InstanceId,
    url: OnceLock<String>,
    /// By which other URLs it is called.
    also_at: OnceLock<Vec<String>>,
    role: watch::Sender<LeadershipState>,
    wake: Notify,
}

impl Default for Leadership {
    fn default() -> Self {
        Self {
            holder: InstanceId(uuid::Uuid::new_v4().to_string()),
            url: OnceLock::new(),
            also_at: OnceLock::new(),
            role: watch::Sender::new(LeadershipState::Follows(None)),
            wake: Notify::new(),
        }
    }
}

impl Controller {
    /// Says where this process is reached, unless that was said before.
    pub fn advertise(&self, url: &str) {
        // Said before: what the operator names comes before the address that is listened on.
        let _ = self
            .inner
            .lead
            .url
            .set(url.trim_end_matches('/').to_owned());
    }

    /// Says by which other URLs it is called, as that of a load balancer, unless that was said before.
    pub fn also_at(&self, urls: Vec<String>) {
        // It is said once, at the start.
        let _ = self.inner.lead.also_at.set(urls);
    }

    /// Where this process is reached; empty until it was said.
    #[must_use]
    pub fn url(&self) -> &str {
        self.inner.lead.url.get().map_or("", String::as_str)
    }

    /// Every URL by which this process is called: [`Self::url`], and those of something in front of it.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        let also = self.inner.lead.also_at.get().into_iter().flatten();
        std::iter::once(self.url()).chain(also.map(|url| url.trim_end_matches('/')))
    }

    /// The part of this process for the moment.
    #[must_use]
    pub fn role(&self) -> LeadershipState {
        let role = self.inner.lead.role.borrow().clone();
        match role {
            LeadershipState::Leads(term) if self.inner.store.term() != Some(term) => {
                LeadershipState::Follows(None)
            }
            LeadershipState::Leads(_) | LeadershipState::Follows(_) => role,
        }
    }

    /// The part of this process, once it leads or knows who does, at the latest after `patience`.
    pub async fn settled_role(&self, patience: Duration) -> LeadershipState {
        let mut roles = self.inner.lead.role.subscribe();
        let deadline = Instant::now() + patience;
        loop {
            roles.borrow_and_update();
            let role = self.role();
            if !role.is_open(self.url()) {
                return role;
            }
            self.inner.lead.wake.notify_one();
            if !matches!(
                tokio::time::timeout_at(deadline, roles.changed()).await,
                Ok(Ok(()))
            ) {
                return LeadershipState::Follows(None);
            }
        }
    }

    /// Stands for the lead once.
    ///
    /// # Errors
    /// What the store says; after the lease's time without an answer this process follows.
    pub async fn campaign(&self) -> Result<LeadershipState, ControlError> {
        let settings = &self.inner.settings;
        let candidate = LeaderCandidate {
            holder: self.inner.lead.holder.clone(),
            url: self.url().to_owned(),
            lease: settings.leader_lease,
        };
        let answer = self.inner.store.campaign(&candidate);
        let patience = settings.leader_lease.saturating_sub(settings.leader_renew);
        let answer = tokio::time::timeout(patience, answer).await;
        let leader = answer.unwrap_or_else(|_| {
            Err(StoreError::Unavailable {
                source: "no answer within the lease".into(),
            })
        })?;
        let role = if leader.holder == self.inner.lead.holder {
            LeadershipState::Leads(leader.term)
        } else {
            LeadershipState::Follows(leader.live.then_some(leader))
        };
        self.set_role(role.clone());
        Ok(role)
    }

    /// Stops leading and lets others take over at once.
    pub async fn resign(&self) {
        let led = self.store().term().is_some();
        self.set_role(LeadershipState::Follows(None));
        self.forget_all().await;
        let resigned = tokio::time::timeout(RESIGN_WAIT, self.inner.store.resign()).await;
        match resigned {
            Ok(Ok(())) if led => tracing::info!("lease given up"),
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "lease was not given up"),
            Err(_) => tracing::warn!("lease was not given up in time"),
        }
    }

    /// Stands for the lead again and again.
    pub(super) async fn keep_campaigning(&self) {
        let settings = &self.inner.settings;
        let mut renewed = Instant::now();
        loop {
            let began = Instant::now();
            match self.campaign().await {
                Ok(_) => renewed = began,
                Err(error) => {
                    tracing::warn!(%error, "the leader's lease could not be asked for");
                    if renewed.elapsed() >= settings.leader_lease {
                        self.inner.store.step_down();
                        self.set_role(LeadershipState::Follows(None));
                    }
                }
            }
            let waits =
                tokio::time::timeout(settings.leader_renew, self.inner.lead.wake.notified());
            // Asked for in a hurry by many at once: still not more often than this.
            if waits.await.is_ok() {
                tokio::time::sleep(settings.leader_renew / 10).await;
            }
        }
    }

    /// Acts under each term that this process wins, and forgets what it knew when the term is over.
    pub(super) async fn act_for_ever(&self) {
        let mut roles = self.inner.lead.role.subscribe();
        loop {
            let role = roles.borrow_and_update().clone();
            if let LeadershipState::Leads(term) = role {
                tracing::info!(%term, url = self.url(), "this controller leads");
                self.inner.known_processes.begin();
                tokio::select! {
                    _ = async { tokio::join!(self.act(), self.run_hook_requests(), self.run_hook_notices()) } => {}
                    () = self.until_lost(term) => {}
                }
                tracing::warn!(%term, "this controller leads no more");
                self.forget_all().await;
            } else if roles.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns when this process does not lead under `term` any more.
    async fn until_lost(&self, term: Term) {
        let mut roles = self.inner.lead.role.subscribe();
        // An error: the controller is gone, and this with it.
        let _ = roles
            .wait_for(|role| *role != LeadershipState::Leads(term))
            .await;
    }

    /// Tells readers of this process what other processes did.
    pub(super) async fn hear_for_ever(&self) {
        let notified = async {
            loop {
                match self.inner.store.news().await {
                    Ok(news) => {
                        if news == RemoteChange::Leader {
                            self.inner.lead.wake.notify_one();
                        }
                        if self.store().term().is_none() {
                            self.announce();
                        }
                    }
                    Err(error) => {
                        tracing::debug!(%error, "news of the store were not heard");
                        tokio::time::sleep(AFTER_ERROR).await;
                    }
                }
            }
        };
        let polled = async {
            loop {
                tokio::time::sleep(REFRESH_INTERVAL).await;
                if self.store().term().is_none() {
                    self.inner.beats.send_modify(|count| *count += 1);
                }
            }
        };
        tokio::join!(notified, polled);
    }

    fn set_role(&self, role: LeadershipState) {
        let changed = self.inner.lead.role.send_if_modified(|known| {
            let changed = !same(known, &role);
            *known = role;
            changed
        });
        if changed {
            self.announce();
        }
    }

    /// Gives up everything that only counts while this process leads.
    async fn forget_all(&self) {
        self.forget_every_attempt().await;
        self.inner.figures.clear();
        self.inner.known_processes.clear();
        self.inner.inspections.clear();
        self.inner.fleet.forget();
    }
}

/// True where only the lease's time differs.
fn same(a: &LeadershipState, b: &LeadershipState) -> bool {
    match (a, b) {
        (LeadershipState::Leads(a), LeadershipState::Leads(b)) => a == b,
        (LeadershipState::Follows(Some(a)), LeadershipState::Follows(Some(b))) => {
            (a.term, &a.holder, &a.url) == (b.term, &b.holder, &b.url)
        }
        (LeadershipState::Follows(a), LeadershipState::Follows(b)) => a.is_none() && b.is_none(),
        (LeadershipState::Leads(_) | LeadershipState::Follows(_), _) => false,
    }
}
