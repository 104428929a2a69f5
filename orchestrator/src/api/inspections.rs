//! What agents see on shards for a map: load, checks, directory tables; and what clients counted.

use super::{ApiError, actor, json};
use crate::controller::{ClientReport, Controller, LoadAsk, MapCheck, MapLoad, MendOutcome};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{AppendHeaders, IntoResponse};
use plans::id::{MapName, ShardName};
use plans::inspection::Directory;
use plans::inspection::check::DefectKind;
use serde::Deserialize;
use std::fmt::Write;

/// Measures a map; the question in the address.
pub(super) async fn load(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    Query(ask): Query<LoadAsk>,
) -> Result<Json<MapLoad>, ApiError> {
    Ok(Json(controller.map_load(&MapName(name), ask).await?))
}

/// Measures a map; the question in the body.
pub(super) async fn load_by(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<MapLoad>, ApiError> {
    let ask = if body.is_empty() {
        LoadAsk::default()
    } else {
        json(&body)?
    };
    Ok(Json(controller.map_load(&MapName(name), ask).await?))
}

/// Takes what a client counted.
pub(super) async fn counters(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<(), ApiError> {
    let report: ClientReport = json(&body)?;
    Ok(controller.count(&MapName(name), report).await?)
}

/// Which check.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Which {
    /// The last one, where it failed.
    token: Option<String>,
}

/// Checks a map.
pub(super) async fn check(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    Query(which): Query<Which>,
) -> Result<Json<MapCheck>, ApiError> {
    let name = MapName(name);
    let check = controller.check_map(&name, which.token.as_deref()).await?;
    Ok(Json(check))
}

/// Mends what the request names.
pub(super) async fn mend(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Vec<MendOutcome>>, ApiError> {
    let request = json(&body)?;
    let name = MapName(name);
    let outcomes = controller
        .mend_map(&name, &request, actor(&headers))
        .await?;
    Ok(Json(outcomes))
}

/// Reads a directory table.
pub(super) async fn directory(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<Directory>, ApiError> {
    let name = ShardName(name);
    Ok(Json(controller.read_directory(&name, json(&body)?).await?))
}

/// Figures for a monitoring system, in its plain text form.
pub(super) async fn metrics(State(controller): State<Controller>) -> impl IntoResponse {
    let mut text = String::from(
        "# HELP shardwright_map_defects Defects that the last check of a map found.\n\
         # TYPE shardwright_map_defects gauge\n",
    );
    let checks = controller.last_checks();
    for check in &checks {
        for kind in DefectKind::ALL {
            let found = check
                .defects
                .iter()
                .filter(|defect| defect.kind == kind)
                .count();
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "shardwright_map_defects{{map=\"{}\",kind=\"{kind}\"}} {found}",
                check.map
            );
        }
    }
    text += "# HELP shardwright_map_checked_at Unix time of the last check of a map, seconds.\n\
             # TYPE shardwright_map_checked_at gauge\n";
    for check in &checks {
        let _ = writeln!(
            text,
            "shardwright_map_checked_at{{map=\"{}\"}} {}",
            check.map,
            check.at.timestamp()
        );
    }
    text += &super::fleet::metrics(&controller);
    let kind = AppendHeaders([(header::CONTENT_TYPE, "text/plain; version=0.0.4")]);
    (kind, text)
}
