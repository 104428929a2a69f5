//! Pagination of long lists: a page has a limited number of rows after a cursor, and a link to the next page (RFC
//! 8288).
//!
//! A cursor names the last row of a page. Therefore rows that are added meanwhile cause no duplicate or missing rows.

use super::ApiError;
use crate::controller::ControlError;
use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

/// The number of rows in a page if the request has no limit.
const DEFAULT_ROWS: i64 = 200;
/// The maximum number of rows in a page.
const MAX_ROWS: i64 = 10_000;

/// The requested page.
#[derive(Debug, Deserialize)]
pub(super) struct PageQuery {
    limit: Option<i64>,
    after: Option<String>,
}

impl PageQuery {
    /// Returns the number of rows to read: one more than the page has, to find out whether another page follows.
    pub(super) fn rows_to_read(&self) -> i64 {
        self.rows() + 1
    }

    /// Returns the cursor, if there is one.
    pub(super) fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Returns the cursor as a number.
    pub(super) fn after_number(&self) -> Result<Option<i64>, ApiError> {
        let number = self.after().map(str::parse).transpose();
        number.map_err(|_| {
            let what =
                "the parameter `after` does not come from the link to a next page".to_owned();
            ControlError::Invalid { what }.into()
        })
    }

    /// Creates the response for `path` with a page of `rows`. `cursor` returns the cursor of a row.
    pub(super) fn answer<T: Serialize>(
        &self,
        path: &str,
        mut rows: Vec<T>,
        cursor: impl Fn(&T) -> String,
    ) -> Response {
        let page_rows = usize::try_from(self.rows()).unwrap_or_default();
        let has_next_page = rows.len() > page_rows;
        rows.truncate(page_rows);
        let last = rows.last().filter(|_| has_next_page).map(cursor);
        let mut response = Json(rows).into_response();
        if let Some(link) = last.and_then(|last| self.link(path, &last)) {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }

    /// Returns the number of rows in the page.
    fn rows(&self) -> i64 {
        self.limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS)
    }

    fn link(&self, path: &str, last: &str) -> Option<HeaderValue> {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(limit) = self.limit {
            query.append_pair("limit", &limit.to_string());
        }
        let query = query.append_pair("after", last).finish();
        HeaderValue::from_str(&format!("<{path}?{query}>; rel=\"next\"")).ok()
    }
}
