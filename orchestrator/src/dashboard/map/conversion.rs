//! The conversion of a map that has not ended.

use crate::controller::{ControlError, Controller};
use crate::view::figures::moment;
use askama::Template;
use plans::id::{MapName, ShardName};

/// What the user must know while a map gets another strategy or key.
#[derive(Template)]
#[template(path = "map/conversion.html")]
pub(super) struct MapConversionView {
    id: String,
    began: String,
    by: String,
    shards: String,
}

impl MapConversionView {
    /// Reads the unfinished conversion of a map, if there is one.
    pub(super) async fn read(
        controller: &Controller,
        map: &MapName,
    ) -> Result<Option<Self>, ControlError> {
        let conversions = controller.store().conversions().await?;
        let mut unfinished = conversions.into_iter().filter(|c| c.finished_at.is_none());
        let own = unfinished.find(|conversion| &conversion.map == map);
        Ok(own.map(|conversion| {
            let shards: Vec<&str> = conversion.shards.iter().map(ShardName::as_str).collect();
            Self {
                id: conversion.id.to_string(),
                began: moment(conversion.created_at),
                by: conversion.by.clone(),
                shards: shards.join(", "),
            }
        }))
    }
}
