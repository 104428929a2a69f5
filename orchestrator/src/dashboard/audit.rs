//! The page of the audit trail: user, command, address and reason of each line, newest first.

use super::page::{DashboardPage, Fragment, PageError};
use crate::access::Caller;
use crate::controller::{ControlError, Controller};
use crate::store::AuditLine;
use crate::view::figures::ago;
use askama::Template;
use axum::Extension;
use axum::extract::{Query, RawQuery, State};
use axum::response::Redirect;
use serde::Deserialize;
use serde_json::Value;

/// The number of lines in a page.
const PAGE_LINES: usize = 100;
/// The number of lines that are read at once, until the page is full.
const READ_LINES: i64 = 2_000;

/// The query parameters.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct AuditQuery {
    /// Shows only lines that contain this text in any word.
    q: String,
    /// The page begins after the line with this number. If it is not a number, it is ignored.
    after: String,
}

impl AuditQuery {
    /// Returns the query string of this page, or of the page that begins after `after`.
    fn query(&self, after: Option<i64>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.q.is_empty() {
            query.append_pair("q", &self.q);
        }
        if let Some(after) = after {
            query.append_pair("after", &after.to_string());
        }
        query.finish()
    }

    fn before(&self) -> Option<i64> {
        self.after.parse().ok()
    }
}

#[derive(Template)]
#[template(path = "audit/filter.html")]
struct AuditFilterForm {
    q: String,
}

#[derive(Template)]
#[template(path = "audit/list.html")]
struct AuditTrailView {
    rows: Vec<AuditTrailRow>,
    filtered: bool,
    newest: Option<String>,
    older: Option<String>,
}

struct AuditTrailRow {
    line: i64,
    at: String,
    actor: String,
    action: String,
    object: String,
    from: String,
    why: String,
    outcome: String,
}

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<AuditQuery>,
) -> Result<DashboardPage, PageError> {
    Ok(DashboardPage {
        title: "Activity".to_owned(),
        live: Some(format!("/live/activity?{}", query.query(query.before()))),
        fragments: fragments(&controller, &query).await?,
        caller: Some(caller),
    })
}

/// Redirects the earlier URL of the page, with its query.
pub(super) async fn redirect(RawQuery(query): RawQuery) -> Redirect {
    match query {
        Some(query) => Redirect::permanent(&format!("/activity?{query}")),
        None => Redirect::permanent("/activity"),
    }
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(
    controller: &Controller,
    query: &AuditQuery,
) -> Result<Vec<Fragment>, ControlError> {
    let part = query.q.trim().to_lowercase();
    let mut rows = matching_rows(controller, &part, query.before()).await?;
    let has_older = rows.len() > PAGE_LINES;
    rows.truncate(PAGE_LINES);
    let last = rows.last().filter(|_| has_older).map(|row| row.line);
    let trail = AuditTrailView {
        filtered: !part.is_empty(),
        newest: query.before().map(|_| query.query(None)),
        older: last.map(|line| query.query(Some(line))),
        rows,
    };
    let filter = AuditFilterForm { q: query.q.clone() };
    Ok(vec![
        Fragment::new("filter", &filter),
        Fragment::new("trail", &trail),
    ])
}

/// Returns the lines of the page, newest first, and one more if another page follows.
async fn matching_rows(
    controller: &Controller,
    part: &str,
    mut before: Option<i64>,
) -> Result<Vec<AuditTrailRow>, ControlError> {
    let mut matching = Vec::new();
    loop {
        let batch = controller.store().audit(READ_LINES, before).await?;
        let is_last = i64::try_from(batch.len()).is_ok_and(|rows| rows < READ_LINES);
        before = batch.last().map(|line| line.line);
        matching.extend(batch.iter().map(row).filter(|row| row.matches(part)));
        if is_last || matching.len() > PAGE_LINES {
            return Ok(matching);
        }
    }
}

impl AuditTrailRow {
    fn matches(&self, part: &str) -> bool {
        let words = [
            &self.actor,
            &self.action,
            &self.object,
            &self.from,
            &self.why,
            &self.outcome,
        ];
        words.iter().any(|word| word.to_lowercase().contains(part))
    }
}

fn row(line: &AuditLine) -> AuditTrailRow {
    let record = &line.record;
    let text_of = |name: &str| record.data.get(name).map(value_text).unwrap_or_default();
    let why = [text_of("why"), text_of("reason")];
    AuditTrailRow {
        line: line.line,
        at: ago(record.at),
        actor: record.actor.clone(),
        action: record.action.clone(),
        object: record.object.clone(),
        from: text_of("from"),
        why: why.into_iter().find(|w| !w.is_empty()).unwrap_or_default(),
        outcome: outcome(record.data.get("outcome")),
    }
}

/// Returns the outcome of a command: a status, or the code of its refusal.
fn outcome(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Number(status)) if status.as_u64().is_some_and(|s| s < 400) => {
            format!("done ({status})")
        }
        Some(refused) => format!("refused ({})", value_text(refused)),
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
