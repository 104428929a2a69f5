//! Style sheet, script and icon, which are part of the binary.

use super::page::PageError;
use crate::controller::ControlError;
use axum::extract::{Path, RawQuery};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "assets/"]
struct Assets;

/// Returns the URL of an asset. It changes with the content, so that browsers may cache the response.
pub(super) fn address(file: &str) -> String {
    let hash = Assets::get(file).map(|asset| asset.metadata.sha256_hash());
    let hash = hash.unwrap_or_default();
    let tag: String = hash[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("/assets/{file}?v={tag}")
}

/// Returns one asset.
pub(super) async fn show(
    Path(file): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let asset = Assets::get(&file).ok_or_else(|| ControlError::missing("asset", &file))?;
    let kind = asset.metadata.mimetype().to_owned();
    let versioned = query.is_some_and(|query| query.starts_with("v="));
    let cache = if versioned {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, cache.to_owned()),
    ];
    Ok((headers, asset.data.into_owned()).into_response())
}

/// Returns the icon at the URL that browsers request without a link to it.
pub(super) async fn favicon() -> Result<Response, PageError> {
    show(Path("favicon.svg".to_owned()), RawQuery(None)).await
}
