//! Leadership: this process leads under a term, the number of its leadership, and acts; or it follows: then it only
//! reads, and names the leader.
//!
//! The process campaigns for the leadership twice per second by default. While it leads, it passes over the migrations.
//! It stops immediately, also in the middle of an action, when another process has taken over, or when the lease could
//! not be renewed during its whole duration. Safety does not depend on these times, because the store refuses a write
//! under an old term (I4).

use super::{ControlError, Controller};
use crate::store::{Leader, LeaderCandidate, RemoteChange, StoreError, Term};
use plans::id::InstanceId;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// The pause after an error while waiting for notifications of the store.
const AFTER_ERROR: Duration = Duration::from_millis(500);
/// How often the pages of a follower are refreshed. A follower receives no heartbeats.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// The longest wait for the store when this process gives up its lease.
const RESIGN_WAIT: Duration = Duration::from_secs(2);

/// The role of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeadershipState {
    /// It leads under this term.
    Leads(Term),
    /// It follows the leader; `None` if the leader is unknown or its lease has ended.
    Follows(Option<Leader>),
}

impl LeadershipState {
    /// Returns whether no leader can be called at the moment.
    fn lacks_leader(&self, own: &str) -> bool {
        match self {
            Self::Leads(_) => false,
            // The leader has our own address, so it is an earlier process that has ended, although its lease has not.
            Self::Follows(Some(leader)) => leader.url == own,
            Self::Follows(None) => true,
        }
    }
}

/// The identity of this process in the campaign, and its role.
#[derive(Debug)]
pub(super) struct Leadership {
    /// The random id of this process, which the lease of the leader contains.
    holder: InstanceId,
    /// The URL that the lease of the leader contains.
    url: OnceLock<String>,
    /// Other URLs of this process.
    also_at: OnceLock<Vec<String>>,
    /// The current role of this process.
    role: watch::Sender<LeadershipState>,
    /// Wakes the task that campaigns.
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
    /// Sets the URL of this process, unless it is set already.
    pub fn advertise(&self, url: &str) {
        // An error means that the URL is set already: the operator's setting comes before the address of the listener.
        let _ = self
            .inner
            .lead
            .url
            .set(url.trim_end_matches('/').to_owned());
    }

    /// Sets other URLs of this process, for example that of a load balancer, unless they are set already.
    pub fn also_at(&self, urls: Vec<String>) {
        // This is set only once, at the start.
        let _ = self.inner.lead.also_at.set(urls);
    }

    /// Returns the URL of this process; empty until it is set.
    #[must_use]
    pub fn url(&self) -> &str {
        self.inner.lead.url.get().map_or("", String::as_str)
    }

    /// Returns every URL of this process: [`Self::url`], and those of load balancers in front of it.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        let also = self.inner.lead.also_at.get().into_iter().flatten();
        std::iter::once(self.url()).chain(also.map(|url| url.trim_end_matches('/')))
    }

    /// Returns the current role of this process.
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

    /// Waits until this process leads or knows the leader, at most for `patience`, and returns its role.
    pub async fn settled_role(&self, patience: Duration) -> LeadershipState {
        let mut roles = self.inner.lead.role.subscribe();
        let deadline = Instant::now() + patience;
        loop {
            roles.borrow_and_update();
            let role = self.role();
            if !role.lacks_leader(self.url()) {
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

    /// Campaigns for the leadership once.
    ///
    /// # Errors
    /// An error of the store. An answer that does not come within the duration of the lease is an error too.
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

    /// Gives up the leadership, so that another process can take over immediately.
    pub async fn resign(&self) {
        let led = self.store().term().is_some();
        self.set_role(LeadershipState::Follows(None));
        self.forget_all().await;
        let resigned = tokio::time::timeout(RESIGN_WAIT, self.inner.store.resign()).await;
        match resigned {
            Ok(Ok(())) if led => tracing::info!("the lease was given up"),
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the lease could not be given up"),
            Err(_) => tracing::warn!("the lease could not be given up in time"),
        }
    }

    /// Campaigns for the leadership repeatedly, until the task is dropped.
    pub(super) async fn keep_campaigning(&self) {
        let settings = &self.inner.settings;
        let mut renewed = Instant::now();
        loop {
            let began = Instant::now();
            match self.campaign().await {
                Ok(_) => renewed = began,
                Err(error) => {
                    tracing::warn!(%error, "the lease of the leader could not be renewed or taken over");
                    if renewed.elapsed() >= settings.leader_lease {
                        self.inner.store.step_down();
                        self.set_role(LeadershipState::Follows(None));
                    }
                }
            }
            let waits =
                tokio::time::timeout(settings.leader_renew, self.inner.lead.wake.notified());
            // Many requests may wake this task at the same time. The pause limits how often it campaigns.
            if waits.await.is_ok() {
                tokio::time::sleep(settings.leader_renew / 10).await;
            }
        }
    }

    /// Acts under each term that this process wins, and forgets the state of the term when the term has ended.
    pub(super) async fn act_while_leading(&self) {
        let mut roles = self.inner.lead.role.subscribe();
        loop {
            let role = roles.borrow_and_update().clone();
            if let LeadershipState::Leads(term) = role {
                tracing::info!(%term, url = self.url(), "this controller leads");
                self.inner.known_processes.note_lead();
                tokio::select! {
                    _ = async { tokio::join!(self.act(), self.run_hook_requests(), self.run_hook_notices()) } => {}
                    () = self.until_lost(term) => {}
                }
                tracing::warn!(%term, "this controller no longer leads");
                self.forget_all().await;
            } else if roles.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until this process no longer leads under `term`.
    async fn until_lost(&self, term: Term) {
        let mut roles = self.inner.lead.role.subscribe();
        // An error means that the controller is dropped, and this task with it.
        let _ = roles
            .wait_for(|role| *role != LeadershipState::Leads(term))
            .await;
    }

    /// Notifies the readers in this process of changes that other processes made.
    pub(super) async fn listen_for_changes(&self) {
        let notified = async {
            loop {
                match self.inner.store.wait_for_remote_change().await {
                    Ok(change) => {
                        if change == RemoteChange::Leader {
                            self.inner.lead.wake.notify_one();
                        }
                        if self.store().term().is_none() {
                            self.announce();
                        }
                    }
                    Err(error) => {
                        tracing::debug!(%error, "waiting for notifications of the store failed");
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

    /// Sets the role of this process, and wakes its tasks if the role has changed.
    fn set_role(&self, role: LeadershipState) {
        let changed = self.inner.lead.role.send_if_modified(|known| {
            let changed = !is_same_role(known, &role);
            *known = role;
            changed
        });
        if changed {
            self.announce();
        }
    }

    /// Forgets everything that is only valid while this process leads.
    async fn forget_all(&self) {
        self.forget_every_attempt().await;
        self.inner.figures.clear();
        self.inner.known_processes.clear();
        self.inner.inspections.clear();
        self.inner.fleet.forget();
    }
}

/// Returns whether two roles are the same, except for the time of the lease.
fn is_same_role(a: &LeadershipState, b: &LeadershipState) -> bool {
    match (a, b) {
        (LeadershipState::Leads(a), LeadershipState::Leads(b)) => a == b,
        (LeadershipState::Follows(Some(a)), LeadershipState::Follows(Some(b))) => {
            (a.term, &a.holder, &a.url) == (b.term, &b.holder, &b.url)
        }
        (LeadershipState::Follows(a), LeadershipState::Follows(b)) => a.is_none() && b.is_none(),
        (LeadershipState::Leads(_) | LeadershipState::Follows(_), _) => false,
    }
}
