//! The audit trail: who did what, from where and why, newest first.

use super::page::{Fragment, Page, PageError};
use crate::access::Visitor;
use crate::controller::{ControlError, Controller};
use crate::store::AuditLine;
use crate::view::figures::moment;
use askama::Template;
use axum::Extension;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::Value;

/// Lines of a page.
const SHOWN: usize = 100;
/// Lines that are read at once, until the page is full.
const READ: i64 = 2_000;

/// What stands in the address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// A part of any word of a line.
    q: String,
    /// The page begins after this line; another word than a number is none.
    after: String,
}

impl Asked {
    /// The query of this page, or of the one after `after`.
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
struct Filter {
    q: String,
}

#[derive(Template)]
#[template(path = "audit/list.html")]
struct Trail {
    rows: Vec<Row>,
    filtered: bool,
    newest: Option<String>,
    older: Option<String>,
}

struct Row {
    line: i64,
    at: String,
    actor: String,
    action: String,
    object: String,
    from: String,
    why: String,
    outcome: String,
}

/// The page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Query(asked): Query<Asked>,
) -> Result<Page, PageError> {
    Ok(Page {
        title: "Audit".to_owned(),
        live: Some(format!("/live/audit?{}", asked.query(asked.before()))),
        fragments: fragments(&controller, &asked).await?,
        visitor: Some(visitor),
    })
}

/// Its parts as they are now.
pub(super) async fn fragments(
    controller: &Controller,
    asked: &Asked,
) -> Result<Vec<Fragment>, ControlError> {
    let part = asked.q.trim().to_lowercase();
    let mut rows = found(controller, &part, asked.before()).await?;
    let more = rows.len() > SHOWN;
    rows.truncate(SHOWN);
    let last = rows.last().filter(|_| more).map(|row| row.line);
    let trail = Trail {
        filtered: !part.is_empty(),
        newest: asked.before().map(|_| asked.query(None)),
        older: last.map(|line| asked.query(Some(line))),
        rows,
    };
    let filter = Filter { q: asked.q.clone() };
    Ok(vec![
        Fragment::new("filter", &filter),
        Fragment::new("trail", &trail),
    ])
}

/// The lines of the page, newest first, and one more where another page follows.
async fn found(
    controller: &Controller,
    part: &str,
    mut before: Option<i64>,
) -> Result<Vec<Row>, ControlError> {
    let mut found = Vec::new();
    loop {
        let read = controller.store().audit(READ, before).await?;
        let whole = i64::try_from(read.len()).is_ok_and(|rows| rows < READ);
        before = read.last().map(|line| line.line);
        found.extend(read.iter().map(row).filter(|row| row.speaks_of(part)));
        if whole || found.len() > SHOWN {
            return Ok(found);
        }
    }
}

impl Row {
    fn speaks_of(&self, part: &str) -> bool {
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

fn row(line: &AuditLine) -> Row {
    let record = &line.record;
    let said = |name: &str| record.data.get(name).map(word).unwrap_or_default();
    let why = [said("why"), said("reason")];
    Row {
        line: line.line,
        at: moment(record.at),
        actor: record.actor.clone(),
        action: record.action.clone(),
        object: record.object.clone(),
        from: said("from"),
        why: why.into_iter().find(|w| !w.is_empty()).unwrap_or_default(),
        outcome: outcome(record.data.get("outcome")),
    }
}

/// What became of an order: a status, or the code with which it was refused.
fn outcome(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Number(status)) if status.as_u64().is_some_and(|s| s < 400) => {
            format!("done ({status})")
        }
        Some(refused) => format!("refused ({})", word(refused)),
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
