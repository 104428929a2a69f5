//! A new migration: the operator fills in a form or writes a request as YAML, reads its plan, and submits exactly this
//! plan.
//!
//! The text is the request. A change of the form changes the text, and a change of the text fills in the form again.

mod check;
mod draft;
mod estimate;
mod examples;
mod fields;
mod findings;
mod form;
mod options;
mod page;
mod plan;
mod preview;
mod yaml;

use super::page::PageError;
use crate::access::Caller;
use crate::controller::{ControlError, Controller};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
pub(super) use check::check;
use draft::RequestDraft;
pub(super) use estimate::estimate;
use examples::Example;
use fields::RequestFields;
pub(super) use fields::key_input;
use page::{RequestPage, RequestSide};
use plans::id::{MapName, ShardName};
use plans::request::Request;
use plans::shard_map::ShardMap;
use serde::Deserialize;
use std::sync::Arc;

/// The form that submits a plan.
#[derive(Debug, Deserialize)]
pub(super) struct ApplyForm {
    plan: String,
    #[serde(default)]
    request: String,
    /// Present if the plan must wait for migrations that move some of its keys.
    queue: Option<String>,
}

/// An entry of a selection list.
struct RequestChoice {
    name: String,
    label: String,
    is_selected: bool,
}

/// The text of a request that was made from a form.
enum RequestText {
    /// The text.
    Read(String),
    /// A field cannot be read; the text before the change.
    Wrong { text: String, problem: String },
}

/// Returns the request text that a form has sent: of its fields if they are there, otherwise its text.
async fn request_text(
    controller: &Controller,
    fields: &RequestFields,
) -> Result<RequestText, ControlError> {
    let text = unix_lines(fields.raw("request"));
    if !fields.has("operation") {
        return Ok(RequestText::Read(text));
    }
    let base = Request::read(&text).ok();
    let name = MapName::from(fields.get("map").unwrap_or_default());
    let map = controller.store().map(&name).await?;
    let draft = RequestDraft {
        fields,
        map: map.as_deref(),
        base: base.as_ref(),
    };
    Ok(match draft.request() {
        // An unchanged request keeps its text, with its comments.
        Ok(request) if base.as_ref() == Some(&request) => RequestText::Read(text),
        Ok(request) => RequestText::Read(yaml::text(&request)),
        Err(problem) => RequestText::Wrong { text, problem },
    })
}

/// Returns the map of a request, if it exists.
async fn map_of(
    controller: &Controller,
    request: Option<&Request>,
) -> Result<Option<Arc<ShardMap>>, ControlError> {
    let Some(request) = request else {
        return Ok(None);
    };
    Ok(controller.store().map(request.map()).await?)
}

async fn fleet_names(controller: &Controller) -> Result<Vec<String>, ControlError> {
    let shards = controller.store().shards().await?.into_iter();
    Ok(shards.map(|shard| shard.name.0).collect())
}

/// Shows the form: with an example, or with the request that the link has, or with a split of the first map.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    let fields = RequestFields::new(pairs);
    let side = RequestSide::parse(fields.raw("view"));
    let mut page = RequestPage::new(&controller, side).await?;
    let text = match fields.get("operation") {
        Some(_) => match request_text(&controller, &fields).await? {
            RequestText::Read(text) => text,
            RequestText::Wrong { problem, .. } => {
                return Err(ControlError::Invalid { what: problem }.into());
            }
        },
        None => first_text(&controller, &fields, side, &mut page).await?,
    };
    page.fill(&controller, text).await?;
    Ok(page.page(caller).into_response())
}

/// Returns the text with which the page begins.
async fn first_text(
    controller: &Controller,
    fields: &RequestFields,
    side: RequestSide,
    page: &mut RequestPage,
) -> Result<String, ControlError> {
    let maps = controller.store().maps().await?;
    let map_named = |name: &str| maps.iter().find(|map| map.name.as_str() == name);
    let map = match fields.get("map") {
        Some(name) => Some(map_named(name).ok_or_else(|| ControlError::missing("map", name))?),
        None => maps.first(),
    };
    let example = match fields.get("example") {
        Some(name) => Example::parse(name).ok_or_else(|| ControlError::missing("example", name))?,
        None if side == RequestSide::Yaml => return Ok(String::new()),
        None => Example::Split,
    };
    let map = map.map(Arc::as_ref);
    let shards = controller.store().shards().await?;
    let fleet: Vec<ShardName> = shards.into_iter().map(|shard| shard.name).collect();
    page.select(example.name(), map.map_or("", |map| map.name.as_str()));
    Ok(example.text(map, &fleet))
}

/// Shows the other side of the request: the form or the text.
pub(super) async fn turn(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    let fields = RequestFields::new(pairs);
    let side = RequestSide::parse(fields.raw("view"));
    match request_text(&controller, &fields).await? {
        RequestText::Read(text) => {
            let mut page = RequestPage::new(&controller, side).await?;
            page.fill(&controller, text).await?;
            Ok(page.page(caller).into_response())
        }
        RequestText::Wrong { text, problem } => {
            let error = ControlError::Invalid { what: problem };
            RequestPage::refused(&controller, text, RequestSide::Form, error, caller).await
        }
    }
}

/// Shows the plan of the request, or the reason why no plan can be made.
pub(super) async fn plan(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Result<Response, PageError> {
    let fields = RequestFields::new(pairs);
    let side = match fields.has("operation") {
        true => RequestSide::Form,
        false => RequestSide::Yaml,
    };
    let (text, planned) = match request_text(&controller, &fields).await? {
        RequestText::Read(text) => {
            let planned = controller.plan(&text).await;
            (text, planned)
        }
        RequestText::Wrong { text, problem } => {
            (text, Err(ControlError::Invalid { what: problem }))
        }
    };
    match planned {
        Ok(plan) => {
            let mut page = RequestPage::new(&controller, side).await?;
            page.fill(&controller, text).await?;
            page.show_plan(&controller, &plan).await?;
            Ok(page.page(caller).into_response())
        }
        Err(error) => RequestPage::refused(&controller, text, side, error, caller).await,
    }
}

/// Applies the plan that was shown. The controller checks its hash, and whether the plan is still current.
pub(super) async fn apply(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Form(input): Form<ApplyForm>,
) -> Result<Response, PageError> {
    match controller
        .submit(&input.plan, input.queue.is_some(), &caller.name)
        .await
    {
        Ok(migrations) => {
            let page = match migrations.as_slice() {
                [] => "/".to_owned(),
                [only] => format!("/migrations/{}", only.migration.id),
                [first, ..] => format!("/operations/{}", first.migration.operation),
            };
            Ok(Redirect::to(&page).into_response())
        }
        Err(error) => {
            let request = unix_lines(&input.request);
            RequestPage::refused(&controller, request, RequestSide::Yaml, error, caller).await
        }
    }
}

/// Converts CRLF to LF: browsers send forms with CRLF, and error messages count columns as the author sees them.
fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}
