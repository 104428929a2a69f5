//! The parts of the page below the timeline, and where the evidence of the migration is.
//!
//! The tabs are links to the parts. With JavaScript only the chosen part is shown.

use crate::view::MigrationView;
use askama::Template;

/// The links.
#[derive(Template)]
#[template(path = "migration/tabs.html")]
pub(super) struct TabsView;

/// The reports of the migration.
#[derive(Template)]
#[template(path = "migration/evidence.html")]
pub(super) struct EvidenceView {
    id: String,
    plan_hash: String,
}

impl EvidenceView {
    pub(super) fn new(view: &MigrationView) -> Self {
        Self {
            id: view.summary.id.to_string(),
            plan_hash: view.plan_hash.clone(),
        }
    }
}
