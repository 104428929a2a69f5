//! The frame around every page, and the page of an error.

use super::assets;
use crate::access::{RouteAccess, Visitor};
use crate::api::{AccessRefusal, ApiError, Problem};
use crate::controller::ControlError;
use askama::Template;
use axum::response::{Html, IntoResponse, Response};

/// A piece of a page: one element with an id, which can be replaced by a newer one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fragment {
    /// The element's id.
    pub(super) id: &'static str,
    /// The element.
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

/// A whole page.
#[derive(Template)]
#[template(path = "page.html")]
pub(super) struct DashboardPage {
    /// What the window is called.
    pub(super) title: String,
    /// Where newer fragments come from.
    pub(super) live: Option<String>,
    /// What is on it, in order.
    pub(super) fragments: Vec<Fragment>,
    /// Whom it is for; none: nobody is signed in.
    pub(super) visitor: Option<Visitor>,
}

impl DashboardPage {
    /// A page that is not refreshed.
    pub(super) fn still(title: &str, content: &impl Template, visitor: Option<Visitor>) -> Self {
        Self {
            title: title.to_owned(),
            live: None,
            fragments: vec![Fragment::new("content", content)],
            visitor,
        }
    }

    /// Whether it leads to where migrations are made.
    fn may_plan(&self) -> bool {
        self.visitor
            .as_ref()
            .is_none_or(|v| v.may(RouteAccess::Operate))
    }

    /// Whether it leads to the tokens.
    fn may_administer(&self) -> bool {
        self.visitor
            .as_ref()
            .is_some_and(|v| v.may(RouteAccess::Administer))
    }

    /// What marks the place in the navigation that is shown.
    fn current_mark(&self, title: &str) -> &'static str {
        if self.title == title {
            " aria-current=\"page\""
        } else {
            ""
        }
    }

    /// Who is signed in, and what ends that.
    fn signed_in(&self) -> Option<(&Visitor, &str)> {
        let visitor = self.visitor.as_ref()?;
        Some((visitor, visitor.csrf.as_deref()?))
    }

    fn style(&self) -> String {
        assets::address("dashboard.css")
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

/// A template as text; writing to a string fails only where a value cannot be displayed.
fn text(template: &impl Template) -> String {
    template.render().unwrap_or_else(|error| {
        tracing::error!(%error, "page could not be rendered");
        String::new()
    })
}

/// An error that becomes a page.
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
        let page = DashboardPage::still(&title, &ErrorPage { problem }, None);
        (status, page).into_response()
    }
}
