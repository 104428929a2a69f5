//! What of a map is shown: the query parameters of the page, and links that change one of them.

use super::figures::BarMeasure;
use crate::controller::ControlError;
use form_urlencoded::Serializer;
use plans::id::{MapName, MapVersion};
use serde::Deserialize;
use std::ops::Range;

/// The query parameters as text.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::dashboard) struct MapQuery {
    by: Option<String>,
    version: Option<String>,
    shard: Option<String>,
    part: Option<String>,
    piece: Option<String>,
}

/// What is shown.
#[derive(Debug, Clone)]
pub(super) struct MapSight {
    name: MapName,
    /// What decides the widths.
    pub(super) by: BarMeasure,
    /// The version, if it is not the one in force.
    pub(super) version: Option<MapVersion>,
    /// The shard whose pieces are emphasized.
    pub(super) shard: Option<String>,
    /// The indexes of the mappings to which the bar is limited.
    pub(super) part: Option<Range<usize>>,
    /// The index of a mapping of the piece that is shown in detail.
    pub(super) piece: Option<usize>,
}

impl MapQuery {
    /// Returns what is shown of a map.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] if a parameter has a value that does not exist.
    pub(super) fn sight(&self, name: &MapName) -> Result<MapSight, ControlError> {
        let filled = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        let by = filled(&self.by);
        let version = filled(&self.version);
        Ok(MapSight {
            name: name.clone(),
            by: by.map_or(Ok(BarMeasure::Keys), |name| {
                let measure = BarMeasure::parse(&name);
                measure.ok_or_else(|| invalid(&name, "keys, rows, bytes or writes"))
            })?,
            version: version.map_or(Ok(None), |text| {
                let number = text.trim().parse().map(MapVersion);
                number
                    .map(Some)
                    .map_err(|_| invalid(&text, "the number of a version"))
            })?,
            shard: filled(&self.shard),
            part: filled(&self.part).map_or(Ok(None), |text| {
                let part = part(&text);
                part.map(Some)
                    .ok_or_else(|| invalid(&text, "two indexes of mappings, such as 0-99"))
            })?,
            piece: filled(&self.piece).map_or(Ok(None), |text| {
                let number = text.parse().map(Some);
                number.map_err(|_| invalid(&text, "the index of a mapping"))
            })?,
        })
    }
}

fn invalid(text: &str, expected: &str) -> ControlError {
    let what = format!("{text:?} is not {expected}");
    ControlError::Invalid { what }
}

/// Parses `first-last` into a range that includes both.
fn part(text: &str) -> Option<Range<usize>> {
    let (first, last) = text.split_once('-')?;
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then(|| first..last.saturating_add(1))
}

impl MapSight {
    /// Returns the URL of this sight.
    pub(super) fn href(&self) -> String {
        let name = path_segment(self.name.as_str());
        match self.query().as_str() {
            "" => format!("/maps/{name}"),
            query => format!("/maps/{name}?{query}"),
        }
    }

    /// Returns the URL of the events with newer fragments of this sight.
    pub(super) fn live(&self) -> String {
        format!("/live{}", self.href())
    }

    fn query(&self) -> String {
        let mut query = Serializer::new(String::new());
        if self.by != BarMeasure::Keys {
            query.append_pair("by", self.by.name());
        }
        if let Some(version) = self.version {
            query.append_pair("version", &version.to_string());
        }
        if let Some(shard) = &self.shard {
            query.append_pair("shard", shard);
        }
        if let Some(part) = &self.part {
            let last = part.end.saturating_sub(1);
            query.append_pair("part", &format!("{}-{last}", part.start));
        }
        if let Some(piece) = self.piece {
            query.append_pair("piece", &piece.to_string());
        }
        query.finish()
    }

    /// Returns the sight with other widths.
    pub(super) fn by(&self, by: BarMeasure) -> Self {
        Self { by, ..self.clone() }
    }

    /// Returns the sight of another version. Indexes of mappings have another meaning there, so they are omitted.
    pub(super) fn at(&self, version: Option<MapVersion>) -> Self {
        Self {
            version,
            part: None,
            piece: None,
            ..self.clone()
        }
    }

    /// Returns the sight with another emphasized shard.
    pub(super) fn of_shard(&self, shard: Option<String>) -> Self {
        Self {
            shard,
            ..self.clone()
        }
    }

    /// Returns the sight of a part of the bar.
    pub(super) fn within(&self, part: Option<Range<usize>>) -> Self {
        Self {
            part,
            piece: None,
            ..self.clone()
        }
    }

    /// Returns the sight with another piece in detail.
    pub(super) fn with_piece(&self, piece: Option<usize>) -> Self {
        Self {
            piece,
            ..self.clone()
        }
    }
}

/// Encodes a name for the path of a URL.
pub(super) fn path_segment(name: &str) -> String {
    form_urlencoded::byte_serialize(name.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(by: &str, part: &str) -> Result<MapSight, ControlError> {
        let query = MapQuery {
            by: Some(by.to_owned()),
            part: Some(part.to_owned()),
            ..MapQuery::default()
        };
        query.sight(&MapName::from("a b"))
    }

    #[test]
    fn a_link_has_only_what_differs_from_the_page_without_parameters() {
        let plain = sight("", "").unwrap();
        assert_eq!(plain.href(), "/maps/a%20b");
        let rows = sight("rows", "3-7").unwrap();
        assert_eq!(rows.href(), "/maps/a%20b?by=rows&part=3-7");
        assert_eq!(
            rows.at(Some(MapVersion(2))).href(),
            "/maps/a%20b?by=rows&version=2"
        );
    }

    #[test]
    fn a_value_that_does_not_exist_is_refused() {
        assert!(sight("weight", "").is_err());
        assert!(sight("", "7-3").is_err());
    }
}
