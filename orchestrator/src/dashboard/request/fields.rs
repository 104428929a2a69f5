//! The fields of the form, as a browser sends them or as a link has them.

use plans::id::ShardName;
use plans::key::{Key, KeyType};
use plans::key_set::BucketRange;

/// The fields by name, in order. A name can occur several times.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestFields(Vec<(String, String)>);

impl RequestFields {
    pub(super) fn new(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }

    /// Returns whether the form was sent, even if the field is empty.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| other == name)
    }

    /// Returns a field that is not empty, without spaces around it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(other, _)| other == name);
        let value = found.map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }

    /// Returns a field as it was sent; empty if it was not.
    pub(super) fn raw(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Returns the field of row `row`.
    pub(super) fn of_row(&self, name: &str, row: usize) -> Option<&str> {
        self.get(&format!("{name}.{row}"))
    }

    /// Returns the name of a shard in a field; an empty name if the field is empty.
    pub(super) fn shard(&self, name: &str) -> ShardName {
        ShardName::from(self.get(name).unwrap_or_default())
    }

    /// Returns the shards that a field lists, with commas or by occurring several times.
    pub(super) fn shards(&self, name: &str) -> Vec<ShardName> {
        let all = self.0.iter().filter(|(other, _)| other == name);
        let all = all.flat_map(|(_, value)| value.split(','));
        let all = all.map(str::trim).filter(|value| !value.is_empty());
        all.map(ShardName::from).collect()
    }
}

/// Parses a number of a field.
///
/// # Errors
/// The text names the field and its value.
pub(super) fn parse_number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    let number = text.parse();
    number.map_err(|_| format!("field {name}: {text:?} is not a whole number of its range"))
}

/// Returns the text of a key as a field of the form takes it; the inverse of `parse_key`.
pub(in crate::dashboard) fn key_input(key: &Key) -> String {
    match key {
        Key::Row(_) => serde_json::to_string(key).unwrap_or_default(),
        Key::Int(_)
        | Key::Text(_)
        | Key::Uuid(_)
        | Key::Bytes(_)
        | Key::Date(_)
        | Key::Timestamp(_) => key.text(),
    }
}

/// Returns a key that was typed. The planner checks whether it fits the map.
pub(super) fn parse_key(text: &str, types: &[KeyType]) -> Key {
    if types.len() > 1
        && let Ok(row) = serde_json::from_str(text)
    {
        return row;
    }
    let is_number = matches!(
        types,
        [KeyType::Smallint | KeyType::Integer | KeyType::Bigint] | []
    );
    match text.parse() {
        Ok(number) if is_number => Key::Int(number),
        Ok(_) | Err(_) => Key::from(text),
    }
}

/// Parses keys that are separated by commas. A composite key is a list in brackets.
pub(super) fn parse_keys(text: &str, types: &[KeyType]) -> Vec<Key> {
    if types.len() > 1
        && let Ok(rows) = serde_json::from_str(&format!("[{text}]"))
    {
        return rows;
    }
    let keys = text.split(',').map(str::trim);
    let keys = keys.filter(|key| !key.is_empty());
    keys.map(|key| parse_key(key, types)).collect()
}

/// Parses ranges of virtual shards such as `0-16, 40`. The second number is the one after the last.
///
/// # Errors
/// The text names what is not a range.
pub(super) fn parse_buckets(text: &str) -> Result<Vec<BucketRange>, String> {
    let parts = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, ""));
        let from: u32 = from.trim().parse().ok()?;
        let to = match to.trim() {
            "" => from.checked_add(1)?,
            to => to.parse().ok()?,
        };
        Some(BucketRange { from, to })
    };
    parts
        .map(|part| {
            let expected = "is not a range of virtual shards, such as 0-16";
            range(part).ok_or_else(|| format!("{part:?} {expected}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_by_the_type_of_the_map() {
        assert_eq!(parse_key("42", &[KeyType::Bigint]), Key::Int(42));
        assert_eq!(parse_key("42", &[KeyType::Text]), Key::from("42"));
        let row = Key::Row(vec![Key::Int(7), Key::from("eu")]);
        assert_eq!(
            parse_key("[7, \"eu\"]", &[KeyType::Bigint, KeyType::Text]),
            row
        );
        assert_eq!(parse_keys("a, b", &[KeyType::Text]).len(), 2);
    }

    #[test]
    fn virtual_shards_are_read_as_half_open_ranges() {
        let ranges = parse_buckets("0-16, 40").unwrap();
        assert_eq!(
            ranges,
            [
                BucketRange { from: 0, to: 16 },
                BucketRange { from: 40, to: 41 }
            ]
        );
        assert!(parse_buckets("x").is_err());
    }
}
