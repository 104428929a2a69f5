//! Parses the text of a request. Errors have a line and a column.
//!
//! It first parses only the operation, then the whole text into the type of this operation. An internally tagged enum
//! would buffer its input and lose the positions.

use super::{Drain, Isolate, Merge, MoveOperation, Rebalance, Request, RequestError, Split};
use crate::nearest::nearest_name;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// The field with the name of the operation.
const OPERATION: &str = "operation";

/// The operations that a request can contain.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
enum OperationName {
    Split,
    Merge,
    Move,
    Isolate,
    Drain,
    Rebalance,
}

/// The names of the operations.
const OPERATIONS: [(&str, OperationName); 6] = [
    ("split", OperationName::Split),
    ("merge", OperationName::Merge),
    ("move", OperationName::Move),
    ("isolate", OperationName::Isolate),
    ("drain", OperationName::Drain),
    ("rebalance", OperationName::Rebalance),
];

impl TryFrom<String> for OperationName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let found = OPERATIONS.iter().find(|(known, _)| *known == name);
        found.map(|(_, operation)| *operation).ok_or_else(|| {
            let known: Vec<&str> = OPERATIONS.iter().map(|(known, _)| *known).collect();
            let meant = nearest_name(&name, known.iter().copied()).map(did_you_mean);
            format!(
                "unknown operation `{name}`, expected {}{}",
                known.join(", "),
                meant.map_or_else(String::new, |meant| format!("; {meant}"))
            )
        })
    }
}

/// The operation of a request. Other fields are ignored.
#[derive(Deserialize)]
struct RequestHead {
    operation: OperationName,
}

/// Used to find out whether a text contains the field `operation`.
#[derive(Deserialize)]
struct OptionalOperation {
    operation: Option<IgnoredAny>,
}

/// All fields that requests have.
const FIELDS: [&str; 19] = [
    OPERATION,
    "map",
    "source",
    "sources",
    "into",
    "even",
    "moves",
    "key",
    "target",
    "targets",
    "by",
    "drop_tables",
    "onto",
    "threshold_percent",
    "max_bytes",
    "watch_seconds",
    "tables",
    "ignore",
    "options",
];

/// Other names of the fields for sources and targets.
const ALIASES: [&str; 2] = ["from", "to"];

/// A mapping with only known fields.
#[derive(Deserialize)]
struct KnownFields(
    #[expect(dead_code, reason = "only errors of the parser are used")]
    BTreeMap<KnownField, IgnoredAny>,
);

/// A field that some request has.
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct KnownField(String);

impl TryFrom<String> for KnownField {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if FIELDS.contains(&name.as_str()) || ALIASES.contains(&name.as_str()) {
            return Ok(Self(name));
        }
        let meant = nearest_name(&name, FIELDS).unwrap_or(OPERATION);
        Err(format!("unknown field `{name}`; {}", did_you_mean(meant)))
    }
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// Parses a request. It does not check for contradictions.
pub(super) fn read(text: &str) -> Result<Request, RequestError> {
    let head = serde_saphyr::from_str::<RequestHead>(text);
    let head = head.map_err(|error| malformed(unknown_field_error(text).unwrap_or(error)))?;
    let request = match head.operation {
        OperationName::Split => Request::Split(body::<Split>(text)?),
        OperationName::Merge => Request::Merge(body::<Merge>(text)?),
        OperationName::Move => Request::Move(body::<MoveOperation>(text)?),
        OperationName::Isolate => Request::Isolate(body::<Isolate>(text)?),
        OperationName::Drain => Request::Drain(body::<Drain>(text)?),
        OperationName::Rebalance => Request::Rebalance(body::<Rebalance>(text)?),
    };
    Ok(request)
}

/// Parses the fields of an operation.
fn body<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, RequestError> {
    serde_saphyr::from_str::<RequestBody<T>>(text)
        .map(|body| body.0)
        .map_err(malformed)
}

/// Returns the error for the first unknown field of a text without an operation. The field is probably a misspelling.
fn unknown_field_error(text: &str) -> Option<serde_saphyr::Error> {
    let parsed: OptionalOperation = serde_saphyr::from_str(text).ok()?;
    if parsed.operation.is_some() {
        return None;
    }
    serde_saphyr::from_str::<KnownFields>(text).err()
}

fn malformed(error: serde_saphyr::Error) -> RequestError {
    let place = error.location();
    let text = error.to_string();
    let mut message = text.strip_prefix("error: ").unwrap_or(&text).to_owned();
    if let Some(meant) = meant_field(&text) {
        message = format!("{}\n{}", message.trim_end(), did_you_mean(meant));
    }
    RequestError::Malformed {
        line: place.map(|p| p.line()),
        column: place.map(|p| p.column()),
        message,
    }
}

/// Returns the known field that is nearest to the unknown field in the parser's message.
fn meant_field(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("unknown field `")?;
    let (name, rest) = rest.split_once("`, expected one of ")?;
    let known = rest.lines().next()?.split(", ");
    nearest_name(name, known)
}

/// A `T` in the same mapping as the name of the operation.
struct RequestBody<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for RequestBody<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BodyVisitor(PhantomData))
    }
}

struct BodyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BodyVisitor<T> {
    type Value = RequestBody<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping with the fields of a request")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(WithoutOperation(map))).map(RequestBody)
    }
}

/// A mapping without the name of the operation.
struct WithoutOperation<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithoutOperation<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let mut seed = Some(seed);
        loop {
            match self.0.next_key_seed(FieldName(&mut seed))? {
                Some(None) => {
                    self.0.next_value::<IgnoredAny>()?;
                }
                Some(found) => return Ok(found),
                None => return Ok(None),
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

/// Reads a field's name with the seed, or `None` for the operation, which does not use the seed.
struct FieldName<'a, K>(&'a mut Option<K>);

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for FieldName<'_, K> {
    type Value = Option<K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for FieldName<'_, K> {
    type Value = Option<K::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        if name == OPERATION {
            return Ok(None);
        }
        self.0
            .take()
            .map(|seed| seed.deserialize(serde::de::value::StrDeserializer::new(name)))
            .transpose()
    }
}
