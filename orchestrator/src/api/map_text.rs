//! Writes a map as JSON in pieces, so that even a map with a million keys needs memory for only one piece of text.

use crate::controller::MarkedMap;
use axum::body::Bytes;
use futures::stream::{Stream, unfold};
use plans::shard_map::{Mapping, MappingState, ShardMap};

/// The approximate size of a piece in bytes.
const PIECE_SIZE: usize = 64 << 10;
/// The text after the last mapping.
const END: &str = "]}";

/// Writes the JSON of a map piece by piece.
#[derive(Debug)]
struct MapWriter {
    marked: MarkedMap,
    /// The index of the next mapping; `None`: everything is written.
    next: Option<usize>,
}

/// Returns the JSON of `marked` as serde writes a [`ShardMap`].
pub(super) fn pieces(marked: MarkedMap) -> impl Stream<Item = serde_json::Result<Bytes>> {
    let writer = MapWriter {
        marked,
        next: Some(0),
    };
    unfold(writer, |mut writer| async {
        let piece = writer.next_piece().transpose()?;
        Some((piece, writer))
    })
}

/// Returns the whole JSON as one text.
///
/// # Errors
/// Returns an error if serde cannot write the map. This would be a defect of the program.
pub(super) fn text(marked: &MarkedMap) -> serde_json::Result<String> {
    let mut writer = MapWriter {
        marked: marked.clone(),
        next: Some(0),
    };
    let mut text = Vec::new();
    while let Some(piece) = writer.next_piece()? {
        text.extend_from_slice(&piece);
    }
    Ok(String::from_utf8(text).unwrap_or_default())
}

impl MapWriter {
    /// Returns the next piece; `None` after the last one.
    fn next_piece(&mut self) -> serde_json::Result<Option<Bytes>> {
        let Some(mut index) = self.next else {
            return Ok(None);
        };
        let mappings = &self.marked.bare().mappings;
        let mut piece = Vec::with_capacity(PIECE_SIZE + PIECE_SIZE / 4);
        if index == 0 {
            piece.extend_from_slice(head(self.marked.bare())?.as_bytes());
        }
        while piece.len() < PIECE_SIZE && index < mappings.len() {
            if index > 0 {
                piece.push(b',');
            }
            write(&mut piece, &mappings[index], self.marked.state(index))?;
            index += 1;
        }
        self.next = Some(index).filter(|index| *index < mappings.len());
        if self.next.is_none() {
            piece.extend_from_slice(END.as_bytes());
        }
        Ok(Some(piece.into()))
    }
}

/// Returns everything before the first mapping. The mappings are the last field of a map.
fn head(map: &ShardMap) -> serde_json::Result<String> {
    let mut text = serde_json::to_string(&ShardMap {
        name: map.name.clone(),
        key: map.key.clone(),
        incarnation: map.incarnation.clone(),
        migration: map.migration.clone(),
        settings: map.settings.clone(),
        mappings: Vec::new(),
        ..*map
    })?;
    text.truncate(text.len() - END.len());
    Ok(text)
}

/// Writes a mapping, with `state` instead of its own state.
fn write(piece: &mut Vec<u8>, mapping: &Mapping, state: MappingState) -> serde_json::Result<()> {
    if mapping.state == state {
        return serde_json::to_writer(piece, mapping);
    }
    let marked = Mapping {
        state,
        ..mapping.clone()
    };
    serde_json::to_writer(piece, &marked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::id::{MapName, MapVersion, ShardName};
    use plans::key::{Key, KeyType};
    use plans::key_set::KeySet;
    use plans::shard_map::{MapSettings, Strategy};
    use std::sync::Arc;

    fn map(mappings: i64) -> ShardMap {
        let mapping = |number: i64| Mapping {
            keys: KeySet::list((0..9).map(|key| Key::Int(number * 9 + key))),
            shard: ShardName(format!("s{number}")),
            state: MappingState::Active,
        };
        ShardMap {
            name: MapName::from("m"),
            strategy: Strategy::List,
            key: vec![KeyType::Bigint],
            buckets: 0,
            version: MapVersion(3),
            incarnation: "i".to_owned(),
            migration: None,
            settings: MapSettings::default(),
            mappings: (0..mappings).map(mapping).collect(),
        }
    }

    #[test]
    fn the_pieces_together_are_the_json_of_the_map() {
        for mappings in [0, 1, 2, 5_000] {
            let map = map(mappings);
            let expected = serde_json::to_string(&map).unwrap();
            let marked = MarkedMap::new(Arc::new(map), &[]);
            assert_eq!(text(&marked).unwrap(), expected);
            let mut writer = MapWriter {
                marked,
                next: Some(0),
            };
            let mut longest = 0;
            while let Some(piece) = writer.next_piece().unwrap() {
                longest = longest.max(piece.len());
            }
            assert!(
                longest < 2 * PIECE_SIZE,
                "{mappings} mappings: {longest} bytes"
            );
        }
    }
}
