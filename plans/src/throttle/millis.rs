//! Milliseconds as users write them: `25`, or `2.5` for an application with latencies below a few milliseconds.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A latency from 0.1 to 60000 ms with a resolution of one microsecond. Equal texts give equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis {
    micros: u32,
}

/// The least and the greatest value, in microseconds.
const MIN_MICROS: u32 = 100;
const MAX_MICROS: u32 = 60_000_000;

/// The value is not a valid latency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a number of milliseconds from 0.1 to 60000")]
pub struct InvalidMillis;

impl Millis {
    /// Rounds a number of milliseconds.
    ///
    /// # Errors
    /// An error if the value is not from 0.1 to 60000, or is not a number.
    pub fn new(ms: f64) -> Result<Self, InvalidMillis> {
        let micros = format!("{:.0}", ms * 1000.0).parse().ok();
        micros
            .filter(|micros| (MIN_MICROS..=MAX_MICROS).contains(micros))
            .map(|micros| Self { micros })
            .ok_or(InvalidMillis)
    }

    /// Returns the milliseconds.
    #[must_use]
    pub fn get(self) -> f64 {
        f64::from(self.micros) / 1000.0
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

impl FromStr for Millis {
    type Err = InvalidMillis;

    fn from_str(text: &str) -> Result<Self, InvalidMillis> {
        Self::new(text.parse().map_err(|_| InvalidMillis)?)
    }
}

/// Writes a whole number if possible, so that older programs can read it.
impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.micros.is_multiple_of(1000) {
            serializer.serialize_u32(self.micros / 1000)
        } else {
            serializer.serialize_f64(self.get())
        }
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Millis {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Millis".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0.1, "maximum": 60_000 })
    }
}
