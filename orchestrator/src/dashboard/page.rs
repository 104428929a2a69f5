//! The frame of every page, and the page that shows an error.

use super::assets;
use crate::access::{Caller, RouteAccess};
use crate::api::{AccessRefusal, ApiError, Problem};
use crate::controller::ControlError;
use askama::Template;
use axum::response::{Html, IntoResponse, Response};

/// A part of a page: one HTML element with an id, which a newer one can replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fragment {
    /// The id of the element.
    pub(super) id: &'static str,
    /// The element as HTML.
    pub(super) html: String,
}

impl Fragment {
    /// Renders `template`, whose outermost element has the id `id`.
    pub(super) fn new(id: &'static str, template: &impl Template) -> Self {
        Self {
            id,
            html: text(template),
        }
    }
}

/// The id of the fragment that names the leader.
pub(super) const LEADER: &str = "leader";

/// Returns the entry of the navigation to which a page with this title belongs; empty if to none.
fn section(title: &str) -> &'static str {
    match title.split(' ').next().unwrap_or_default() {
        "Shard" => "Shards",
        "Map" => "Maps",
        "Migration" | "Cutover" | "Operation" => "Migrations",
        "Agents" | "Tokens" | "Doctor" => "Settings",
        _ => "",
    }
}

/// A whole page.
#[derive(Template)]
#[template(path = "page.html")]
pub(super) struct DashboardPage {
    /// The title of the page.
    pub(super) title: String,
    /// The URL of the events with newer fragments; `None`: the page is not updated.
    pub(super) live: Option<String>,
    /// The fragments in order.
    pub(super) fragments: Vec<Fragment>,
    /// The caller; `None`: not signed in.
    pub(super) caller: Option<Caller>,
}

impl DashboardPage {
    /// Creates a page that is not updated while it is shown.
    pub(super) fn static_page(
        title: &str,
        content: &impl Template,
        caller: Option<Caller>,
    ) -> Self {
        Self {
            title: title.to_owned(),
            live: None,
            fragments: vec![Fragment::new("content", content)],
            caller,
        }
    }

    /// Returns whether the page has a link to the planning of migrations.
    fn may_plan(&self) -> bool {
        self.caller
            .as_ref()
            .is_none_or(|caller| caller.may(RouteAccess::Operate))
    }

    /// Returns whether the page has a link to the tokens.
    fn may_administer(&self) -> bool {
        self.caller
            .as_ref()
            .is_some_and(|caller| caller.may(RouteAccess::Administer))
    }

    /// Returns the attribute that marks an entry of the navigation: `page` for the page itself, `true` for the section
    /// of the page.
    fn current_mark(&self, entry: &str) -> &'static str {
        if self.title == entry {
            " aria-current=\"page\""
        } else if section(&self.title) == entry {
            " aria-current=\"true\""
        } else {
            ""
        }
    }

    /// Returns the fragments of the main part of the page.
    fn main_fragments(&self) -> impl Iterator<Item = &Fragment> {
        self.fragments.iter().filter(|part| part.id != LEADER)
    }

    /// Returns the element that names the leader, which is in the footer.
    fn leader(&self) -> Option<&str> {
        let leader = self.fragments.iter().find(|part| part.id == LEADER);
        leader.map(|part| part.html.as_str())
    }

    /// Returns the signed-in caller and the CSRF token of the form that signs out.
    fn signed_in(&self) -> Option<(&Caller, &str)> {
        let caller = self.caller.as_ref()?;
        Some((caller, caller.csrf.as_deref()?))
    }

    fn style(&self) -> String {
        assets::address("dashboard.css")
    }

    fn migration_style(&self) -> String {
        assets::address("migration.css")
    }

    fn migration_script(&self) -> String {
        assets::address("migration.js")
    }

    fn fleet_style(&self) -> String {
        assets::address("fleet.css")
    }

    fn trend_style(&self) -> String {
        assets::address("trend.css")
    }

    fn map_style(&self) -> String {
        assets::address("map.css")
    }

    fn map_script(&self) -> String {
        assets::address("map.js")
    }

    fn request_script(&self) -> String {
        assets::address("request.js")
    }

    fn fleet_script(&self) -> String {
        assets::address("fleet.js")
    }

    fn script(&self) -> String {
        assets::address("dashboard.js")
    }

    fn theme(&self) -> String {
        assets::address("theme.js")
    }

    fn icon(&self) -> String {
        assets::address("favicon.svg")
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

impl IntoResponse for DashboardPage {
    fn into_response(self) -> Response {
        Html(text(&self)).into_response()
    }
}

/// Renders a template. Writing to a string fails only if a value cannot be formatted.
fn text(template: &impl Template) -> String {
    template.render().unwrap_or_else(|error| {
        tracing::error!(%error, "page could not be rendered");
        String::new()
    })
}

/// An error that is shown as a page.
#[derive(Debug)]
pub(super) struct PageError(ApiError);

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    problem: Problem,
}

impl From<ControlError> for PageError {
    fn from(error: ControlError) -> Self {
        Self(error.into())
    }
}

impl From<crate::store::StoreError> for PageError {
    fn from(error: crate::store::StoreError) -> Self {
        Self(error.into())
    }
}

impl From<AccessRefusal> for PageError {
    fn from(refused: AccessRefusal) -> Self {
        Self(refused.into())
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, problem) = self.0.into_parts();
        let title = problem.title.clone();
        let page = DashboardPage::static_page(&title, &ErrorPage { problem }, None);
        (status, page).into_response()
    }
}
