//! The page of the activity: the audit trail in words, newest first, with filters by person, kind and object.
//!
//! The method and the path of a command, and the address it came from, are in the details of its line.

mod words;

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
use std::collections::{BTreeMap, BTreeSet};
use words::{ActivityKind, ActivityObject, is_call, words_of};

/// The number of lines in a page.
const PAGE_LINES: usize = 100;
/// The number of lines that are read at once, until the page is full.
const READ_LINES: i64 = 2_000;
/// The number of migrations, the newest ones, whose shards are named instead of their ids.
const NAMED_MIGRATIONS: i64 = 1_000;
/// The maximum number of people in the filter.
const MAX_PEOPLE: usize = 200;

/// The query parameters.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ActivityQuery {
    /// Shows only lines that contain this text in any word.
    q: String,
    /// Shows only lines of this person or component.
    who: String,
    /// The name of a kind of object, or `refused`; empty: all.
    kind: String,
    /// The page begins after the line with this number. If it is not a number, it is ignored.
    after: String,
}

impl ActivityQuery {
    /// Returns the query string of this page, or of the page that begins after `after`.
    fn query(&self, after: Option<i64>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("q", &self.q), ("who", &self.who), ("kind", &self.kind)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if let Some(after) = after {
            query.append_pair("after", &after.to_string());
        }
        query.finish()
    }

    fn before(&self) -> Option<i64> {
        self.after.parse().ok()
    }

    fn is_filtered(&self) -> bool {
        let values = [&self.q, &self.who, &self.kind];
        values.iter().any(|value| !value.trim().is_empty())
    }

    fn matches(&self, row: &ActivityRow) -> bool {
        let part = self.q.trim().to_lowercase();
        let kind_matches = match self.kind.as_str() {
            "" => true,
            "refused" => row.refusal.is_some(),
            kind => row.object.kind().name() == kind,
        };
        kind_matches
            && (self.who.is_empty() || row.actor == self.who)
            && (part.is_empty() || row.contains(&part))
    }
}

#[derive(Template)]
#[template(path = "activity/filter.html")]
struct ActivityFilter {
    q: String,
    people: Vec<(String, bool)>,
    kinds: Vec<(&'static str, &'static str, bool)>,
}

impl ActivityFilter {
    fn new(query: &ActivityQuery, people: BTreeSet<String>) -> Self {
        let named = [("", "everything")].into_iter();
        let kinds = ActivityKind::ALL.map(|kind| (kind.name(), kind.name()));
        let kinds = named.chain(kinds).chain([("refused", "refused commands")]);
        let people = people.into_iter().take(MAX_PEOPLE);
        Self {
            q: query.q.clone(),
            people: people
                .map(|person| {
                    let is_chosen = person == query.who;
                    (person, is_chosen)
                })
                .collect(),
            kinds: kinds
                .map(|(name, label)| (name, label, name == query.kind))
                .collect(),
        }
    }
}

#[derive(Template)]
#[template(path = "activity/list.html")]
struct ActivityList {
    rows: Vec<ActivityRow>,
    filtered: bool,
    newest: Option<String>,
    older: Option<String>,
}

struct ActivityRow {
    line: i64,
    at: String,
    actor: String,
    /// What was done, or what was refused.
    verb: String,
    object: ActivityObject,
    /// The object as text.
    object_text: String,
    /// True if the line records a call, and not the change that a call has made.
    is_call: bool,
    /// The code of the refusal, if the command was refused.
    refusal: Option<String>,
    why: String,
    /// More about the change, as in the message of a finding.
    message: String,
    /// Names and values for the details.
    details: Vec<(&'static str, String)>,
}

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<ActivityQuery>,
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
    query: &ActivityQuery,
) -> Result<Vec<Fragment>, ControlError> {
    let (mut rows, people) = matching_rows(controller, query).await?;
    let has_older = rows.len() > PAGE_LINES;
    rows.truncate(PAGE_LINES);
    let last = rows.last().filter(|_| has_older).map(|row| row.line);
    let mut rows = join_calls(rows);
    name_migrations(controller, &mut rows).await?;
    let list = ActivityList {
        filtered: query.is_filtered(),
        newest: query.before().map(|_| query.query(None)),
        older: last.map(|line| query.query(Some(line))),
        rows,
    };
    Ok(vec![
        Fragment::new("filter", &ActivityFilter::new(query, people)),
        Fragment::new("trail", &list),
    ])
}

/// Returns the lines of the page, newest first, and one more if another page follows; and the people whose lines were
/// read.
async fn matching_rows(
    controller: &Controller,
    query: &ActivityQuery,
) -> Result<(Vec<ActivityRow>, BTreeSet<String>), ControlError> {
    let (mut matching, mut people) = (Vec::new(), BTreeSet::new());
    if !query.who.is_empty() {
        people.insert(query.who.clone());
    }
    let mut before = query.before();
    loop {
        let batch = controller.store().audit(READ_LINES, before).await?;
        let is_last = i64::try_from(batch.len()).is_ok_and(|rows| rows < READ_LINES);
        before = batch.last().map(|line| line.line);
        people.extend(batch.iter().map(|line| line.record.actor.clone()));
        let rows = batch.iter().map(row);
        matching.extend(rows.filter(|row| query.matches(row)));
        if is_last || matching.len() > PAGE_LINES {
            return Ok((matching, people));
        }
    }
}

/// Joins the line of a call with that of the change that it has made, which is the next older one.
fn join_calls(rows: Vec<ActivityRow>) -> Vec<ActivityRow> {
    let mut joined: Vec<ActivityRow> = Vec::with_capacity(rows.len());
    for mut row in rows {
        let call = joined.pop_if(|call| {
            call.is_call
                && !row.is_call
                && call.refusal.is_none()
                && call.actor == row.actor
                && call.object.kind() == row.object.kind()
                && row.object.kind() != ActivityKind::Other
        });
        if let Some(call) = call {
            row.details.extend(call.details);
            if row.why.is_empty() {
                row.why = call.why;
            }
        }
        joined.push(row);
    }
    joined
}

/// Names the shards of the newest migrations instead of their ids.
async fn name_migrations(
    controller: &Controller,
    rows: &mut [ActivityRow],
) -> Result<(), ControlError> {
    let is_of_migration = |row: &ActivityRow| matches!(row.object, ActivityObject::Migration(_));
    if !rows.iter().any(is_of_migration) {
        return Ok(());
    }
    let store = controller.store();
    let newest = store.list(NAMED_MIGRATIONS, None).await?;
    let names: BTreeMap<String, String> = newest
        .iter()
        .map(|m| {
            let (plan, moving) = (&m.plan, &m.plan.moving);
            let name = format!(
                "{} {} → {} ({})",
                plan.operation, moving.source, moving.target, plan.map
            );
            (m.id.to_string(), name)
        })
        .collect();
    for row in rows {
        if let ActivityObject::Migration(id) = &row.object
            && let Some(name) = names.get(id)
        {
            row.object_text.clone_from(name);
        }
    }
    Ok(())
}

impl ActivityRow {
    /// Returns whether any text of the line contains `part`, which is in lower case.
    fn contains(&self, part: &str) -> bool {
        let texts = [
            &self.actor,
            &self.verb,
            &self.object_text,
            &self.why,
            &self.message,
        ];
        let details = self.details.iter().map(|(_, value)| value);
        let mut texts = texts.into_iter().chain(details);
        texts.any(|text| text.to_lowercase().contains(part))
    }
}

fn row(line: &AuditLine) -> ActivityRow {
    let record = &line.record;
    let words = words_of(&record.action, &record.object);
    let text_of = |name: &str| record.data.get(name).map(value_text).unwrap_or_default();
    let why = [text_of("why"), text_of("reason")];
    let refusal = refusal(
        record
            .data
            .get("outcome")
            .or_else(|| record.data.get("code")),
    );
    let details = [
        ("recorded", format!("{} · {}", record.action, record.object)),
        ("role", text_of("role")),
        ("from", text_of("from")),
        ("outcome", outcome(record.data.get("outcome"))),
        ("fields", text_of("order")),
    ];
    ActivityRow {
        line: line.line,
        at: ago(record.at),
        actor: record.actor.clone(),
        verb: match refusal {
            Some(_) if is_call(&record.action) => words.infinitive,
            Some(_) => words.past,
            None => words.past,
        },
        object_text: words.object.text(),
        object: words.object,
        refusal: refusal.filter(|_| is_call(&record.action)),
        is_call: is_call(&record.action),
        why: why.into_iter().find(|w| !w.is_empty()).unwrap_or_default(),
        message: [text_of("message"), text_of("detail")].concat(),
        details: details
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect(),
    }
}

/// Returns the code of a refusal, or the status of an error.
fn refusal(outcome: Option<&Value>) -> Option<String> {
    match outcome? {
        Value::Null => None,
        Value::Number(status) if status.as_u64().is_some_and(|s| s < 400) => None,
        refused => Some(value_text(refused)),
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
