//! Which controller probes the shards: only the one that leads does.

use crate::api::LeadershipHealth;
use crate::controller::Controller;
use askama::Template;

/// The note on the pages of a controller that does not probe.
#[derive(Template)]
#[template(path = "shards/prober.html")]
pub(super) struct OtherProber {
    /// The URL of the controller that leads, if one does.
    leader: Option<String>,
    /// The path of the page.
    path: String,
}

impl OtherProber {
    /// Returns the note for the page at `path`; `None` if this controller leads.
    pub(super) fn on_page(controller: &Controller, path: impl Into<String>) -> Option<Self> {
        if probes_here(controller) {
            return None;
        }
        Some(Self {
            leader: LeadershipHealth::new(controller).leader,
            path: path.into(),
        })
    }

    /// Returns the leader's address without its scheme.
    fn host(&self) -> &str {
        let url = self.leader.as_deref().unwrap_or_default();
        url.split_once("://").map_or(url, |(_, host)| host)
    }
}

/// Returns whether this controller probes the shards.
pub(super) fn probes_here(controller: &Controller) -> bool {
    LeadershipHealth::new(controller).role == "leader"
}
