//! The form that lets agents measure the load of a map.

use super::query::path_segment;
use crate::controller::{Controller, LoadRequest};
use crate::dashboard::page::PageError;
use axum::Form;
use axum::extract::{Path, State};
use axum::response::Redirect;
use plans::id::MapName;
use serde::Deserialize;

/// The longest time for which a page counts writes, in seconds.
const MAX_SECONDS: u32 = 60;

/// What to measure.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::dashboard) struct MeasureForm {
    /// For how many seconds writes are counted.
    seconds: u32,
}

/// Measures the load, and shows the map by it. It only reads.
pub(in crate::dashboard) async fn measure(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    Form(form): Form<MeasureForm>,
) -> Result<Redirect, PageError> {
    let name = MapName(name);
    let request = LoadRequest {
        watch_seconds: form.seconds.min(MAX_SECONDS),
        ..LoadRequest::default()
    };
    controller.map_load(&name, request).await?;
    let by = if form.seconds > 0 { "writes" } else { "rows" };
    Ok(Redirect::to(&format!(
        "/maps/{}?by={by}",
        path_segment(name.as_str())
    )))
}
