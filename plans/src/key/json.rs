//! Keys in JSON and YAML: numbers, strings, arrays, or an object with the name of the type.
//!
//! The deserializer is written by hand: a derived untagged enum would buffer its input, and errors would have no
//! position.

use super::{Key, KeyType};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = match self {
            Self::Int(value) => return serializer.serialize_i64(*value),
            Self::Text(text) => return serializer.serialize_str(text),
            Self::Row(values) => {
                let mut row = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    row.serialize_element(value)?;
                }
                return row.end();
            }
            Self::Uuid(_) => KeyType::Uuid,
            Self::Bytes(_) => KeyType::Bytea,
            Self::Date(_) => KeyType::Date,
            Self::Timestamp(_) => KeyType::Timestamptz,
        };
        let mut object = serializer.serialize_map(Some(1))?;
        object.serialize_entry(kind.sql_name(), &self.text())?;
        object.end()
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key: a whole number of 64 bits, a string, an array of these for a composite key, or an object such as {\"uuid\": \"…\"}")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Key, E> {
        Ok(Key::Int(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Key, E> {
        i64::try_from(value)
            .map(Key::Int)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Key, E> {
        Ok(Key::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Key, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        if values.is_empty() || values.len() > MAX_COLUMNS {
            return Err(de::Error::invalid_length(values.len(), &self));
        }
        Ok(Key::Row(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Key, A::Error> {
        let (name, text): (String, String) = map
            .next_entry()?
            .ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let kind = KeyType::parse(&name)
            .ok_or_else(|| de::Error::custom(format!("{name} is not a key type")))?;
        let key = kind
            .read(&text)
            .ok_or_else(|| de::Error::custom(format!("{text:?} is not a {kind}")))?;
        if map.next_key::<String>()?.is_some() {
            return Err(de::Error::invalid_length(2, &self));
        }
        Ok(key)
    }
}

/// The maximum number of values in a composite key.
const MAX_COLUMNS: usize = 3;

impl JsonSchema for Key {
    fn schema_name() -> Cow<'static, str> {
        "Key".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let part = generator.subschema_for::<Self>();
        json_schema!({
            "description": "One value of a shard key. Other types than integers may be written as strings; an array is a composite key.",
            "anyOf": [
                { "type": "integer", "format": "int64" },
                { "type": "string" },
                { "type": "array", "items": part, "minItems": 1, "maxItems": MAX_COLUMNS },
                {
                    "type": "object",
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                    "properties": {
                        "uuid": { "type": "string" },
                        "bytea": { "type": "string" },
                        "date": { "type": "string" },
                        "timestamptz": { "type": "string" }
                    }
                }
            ]
        })
    }
}
