//! Which controller leads, and whether it is this one.

use crate::api::LeadershipHealth;
use crate::controller::Controller;
use askama::Template;

/// The line that names the leader.
#[derive(Template)]
#[template(path = "overview/leader.html")]
pub(super) struct OverviewLeader {
    health: LeadershipHealth,
}

impl OverviewLeader {
    /// Creates the line from the memory of this process, without a query of the store.
    pub(super) fn new(controller: &Controller) -> Self {
        Self {
            health: LeadershipHealth::new(controller),
        }
    }

    fn leads(&self) -> bool {
        self.health.role == "leader"
    }

    /// Returns the leader's address without its scheme.
    fn host(&self) -> &str {
        let url = self.health.leader.as_deref().unwrap_or_default();
        url.split_once("://").map_or(url, |(_, host)| host)
    }
}
