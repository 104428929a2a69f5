//! The audit trail: who did what, from where and why, newest first.

use super::figures::moment;
use super::page::{Fragment, Page, PageError};
use crate::access::Visitor;
use crate::controller::{ControlError, Controller};
use crate::store::AuditRecord;
use askama::Template;
use axum::Extension;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::Value;

/// Lines that are shown at first.
const SHOWN: usize = 100;
/// Lines that are read, and shown, at most.
const READ: i64 = 10_000;

/// What stands in the address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// A part of any word of a line.
    q: String,
    /// How many lines are shown; another word than a number is none.
    lines: String,
}

impl Asked {
    fn shown(&self) -> Option<usize> {
        self.lines.parse().ok()
    }

    fn query(&self, lines: Option<usize>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.q.is_empty() {
            query.append_pair("q", &self.q);
        }
        if let Some(lines) = lines {
            query.append_pair("lines", &lines.to_string());
        }
        query.finish()
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
    /// Leads to the same with more lines.
    more: Option<String>,
    read: i64,
}

struct Row {
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
        live: Some(format!("/live/audit?{}", asked.query(asked.shown()))),
        fragments: fragments(&controller, &asked).await?,
        visitor: Some(visitor),
    })
}

/// Its parts as they are now.
pub(super) async fn fragments(
    controller: &Controller,
    asked: &Asked,
) -> Result<Vec<Fragment>, ControlError> {
    let shown = asked.shown().unwrap_or(SHOWN);
    let part = asked.q.trim().to_lowercase();
    let all = controller.store().audit(READ).await?;
    let mut found = all.iter().map(row).filter(|row| row.speaks_of(&part));
    let rows: Vec<Row> = found.by_ref().take(shown).collect();
    let more = found
        .next()
        .map(|_| asked.query(Some(shown.saturating_mul(4))));
    let trail = Trail {
        rows,
        filtered: !part.is_empty(),
        more,
        read: READ,
    };
    let filter = Filter { q: asked.q.clone() };
    Ok(vec![
        Fragment::new("filter", &filter),
        Fragment::new("trail", &trail),
    ])
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

fn row(record: &AuditRecord) -> Row {
    let said = |name: &str| record.data.get(name).map(word).unwrap_or_default();
    let why = [said("why"), said("reason")];
    Row {
        at: moment(record.at),
        actor: record.actor.clone(),
        action: record.action.clone(),
        object: record.object.clone(),
        from: said("from"),
        why: why.into_iter().find(|w| !w.is_empty()).unwrap_or_default(),
        outcome: said("outcome"),
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
