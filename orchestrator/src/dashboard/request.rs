//! A new migration: the request is typed, the plan is read, exactly that plan is applied.

use super::ACTOR;
use super::marks::{self, Mark};
use super::page::{Page, PageError};
use crate::api::{ApiError, Problem};
use crate::controller::{ControlError, Controller};
use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use plans::failure::Finding;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::plan::Plan;
use plans::render::plan_text;
use plans::shard_map::ShardMap;
use serde::Deserialize;

/// What the page is asked to show.
#[derive(Debug, Deserialize)]
pub(super) struct Ask {
    /// Fill in an example.
    example: Option<String>,
}

/// The first form.
#[derive(Debug, Deserialize)]
pub(super) struct Typed {
    request: String,
}

/// The second form.
#[derive(Debug, Deserialize)]
pub(super) struct Agreed {
    plan: String,
    #[serde(default)]
    request: String,
}

#[derive(Template, Default)]
#[template(path = "request.html")]
struct RequestPage {
    request: String,
    problem: Option<Problem>,
    findings: Vec<Found>,
    plan: Option<Planned>,
}

struct Planned {
    text: String,
    json: String,
}

struct Found {
    mark: Mark,
    finding: Finding,
}

impl RequestPage {
    fn page(self) -> Page {
        Page::still("New migration", &self)
    }

    fn refused(request: String, error: ControlError) -> Response {
        let (status, mut problem) = ApiError::from(error).into_parts();
        let page = Self {
            request,
            findings: found(std::mem::take(&mut problem.findings)),
            problem: Some(problem),
            plan: None,
        };
        (status, page.page()).into_response()
    }
}

fn found(findings: Vec<Finding>) -> Vec<Found> {
    let found = findings.into_iter().map(|finding| Found {
        mark: marks::of_finding(finding.severity),
        finding,
    });
    found.collect()
}

/// The form, empty or with an example.
pub(super) async fn show(
    State(controller): State<Controller>,
    Query(ask): Query<Ask>,
) -> Result<Page, PageError> {
    let mut page = RequestPage::default();
    if ask.example.is_some() {
        let maps = controller.store().maps().await?;
        let shards = controller.store().shards().await?;
        let names: Vec<&str> = shards.iter().map(|shard| shard.name.as_str()).collect();
        page.request = example(maps.first(), &names);
    }
    Ok(page.page())
}

/// Makes a plan of the request and shows it, or says why there is none.
pub(super) async fn plan(
    State(controller): State<Controller>,
    Form(typed): Form<Typed>,
) -> Response {
    let request = unix_lines(&typed.request);
    match controller.plan(&request).await {
        Ok(plan) => RequestPage {
            request,
            problem: None,
            findings: found(plan.findings.clone()),
            plan: Some(planned(&plan)),
        }
        .page()
        .into_response(),
        Err(error) => RequestPage::refused(request, error),
    }
}

/// Applies the plan that was shown; the controller checks its hash and that it is still true.
pub(super) async fn apply(
    State(controller): State<Controller>,
    Form(agreed): Form<Agreed>,
) -> Response {
    match controller.submit(&agreed.plan, false, ACTOR).await {
        Ok(migrations) => {
            let first = migrations.first().map(|snapshot| &snapshot.migration.id);
            let page = first.map_or_else(|| "/".to_owned(), |id| format!("/migrations/{id}"));
            Redirect::to(&page).into_response()
        }
        Err(error) => RequestPage::refused(unix_lines(&agreed.request), error),
    }
}

fn planned(plan: &Plan) -> Planned {
    Planned {
        text: plan_text(plan),
        json: serde_json::to_string(plan).unwrap_or_default(),
    }
}

/// Forms end lines as the network does; columns are counted as the author sees them.
fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A split of the first map, with real names where there are some.
fn example(map: Option<&ShardMap>, shards: &[&str]) -> String {
    let mapping = map.and_then(|map| map.mappings.first());
    let source = mapping.map_or("shard-a", |mapping| mapping.shard.as_str());
    let other = shards.iter().find(|name| **name != source);
    let target = other.copied().unwrap_or("shard-b");
    let name = map.map_or("tenants", |map| map.name.as_str());
    let (from, at, to) = cut(mapping.map(|mapping| &mapping.keys));
    format!(
        "operation: split\nmap: {name}\nsource: {source}\n\
         into:\n  - shard: {source}\n    keys: {{ {from}to: {at} }}\n  - shard: {target}\n    keys: {{ from: {at}{to} }}\n\
         # Every sharded table and the column that holds the shard key.\n\
         tables:\n  tenants: id\n  orders: tenant_id\n\
         # Tables that stay as they are.\nignore: []\n"
    )
}

/// The bounds of `keys` as a request writes them, and a key between them.
fn cut(keys: Option<&KeySet>) -> (String, i64, String) {
    let Some(KeySet::Range(ranges)) = keys else {
        return (String::new(), 501, String::new());
    };
    let number = |key: Option<&Key>| match key {
        Some(Key::Int(value)) => Some(*value),
        Some(_) | None => None,
    };
    let range = ranges.first();
    let from = number(range.and_then(|range| range.from.as_ref()));
    let to = number(range.and_then(|range| range.to.as_ref()));
    let at = match (from, to) {
        (Some(from), Some(to)) => from.midpoint(to),
        (Some(from), None) => from.saturating_add(500),
        (None, Some(to)) => to.saturating_sub(500),
        (None, None) => 501,
    };
    (
        from.map_or_else(String::new, |from| format!("from: {from}, ")),
        at,
        to.map_or_else(String::new, |to| format!(", to: {to}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::request::Request;

    #[test]
    fn the_example_is_a_request() {
        let text = example(None, &[]);
        Request::parse(&text).expect(&text);
    }
}
