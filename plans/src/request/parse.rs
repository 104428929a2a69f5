//! Text to request, with the line and column of whatever is wrong.
//!
//! First the operation alone, then the whole text into that operation's own type: an internally
//! tagged enum would buffer what it reads, and with that lose every position.

use super::{Drain, Isolate, Merge, MoveKeys, Rebalance, Request, RequestError, Split};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// The key that names the operation.
const OPERATION: &str = "operation";

/// What a request can ask for.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
enum Operation {
    Split,
    Merge,
    Move,
    Isolate,
    Drain,
    Rebalance,
}

/// The operations by the names that they are written with.
const OPERATIONS: [(&str, Operation); 6] = [
    ("split", Operation::Split),
    ("merge", Operation::Merge),
    ("move", Operation::Move),
    ("isolate", Operation::Isolate),
    ("drain", Operation::Drain),
    ("rebalance", Operation::Rebalance),
];

impl TryFrom<String> for Operation {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let found = OPERATIONS.iter().find(|(known, _)| *known == name);
        found.map(|(_, operation)| *operation).ok_or_else(|| {
            let known: Vec<&str> = OPERATIONS.iter().map(|(known, _)| *known).collect();
            format!("unknown operation `{name}`, expected {}", known.join(", "))
        })
    }
}

/// The operation of a request, whatever else it says.
#[derive(Deserialize)]
struct Head {
    operation: Operation,
}

/// Reads a request; contradictions within it are not looked for.
pub(super) fn read(text: &str) -> Result<Request, RequestError> {
    let head: Head = serde_saphyr::from_str(text).map_err(malformed)?;
    let request = match head.operation {
        Operation::Split => Request::Split(body::<Split>(text)?),
        Operation::Merge => Request::Merge(body::<Merge>(text)?),
        Operation::Move => Request::Move(body::<MoveKeys>(text)?),
        Operation::Isolate => Request::Isolate(body::<Isolate>(text)?),
        Operation::Drain => Request::Drain(body::<Drain>(text)?),
        Operation::Rebalance => Request::Rebalance(body::<Rebalance>(text)?),
    };
    Ok(request)
}

fn body<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, RequestError> {
    serde_saphyr::from_str::<Body<T>>(text)
        .map(|body| body.0)
        .map_err(malformed)
}

fn malformed(error: serde_saphyr::Error) -> RequestError {
    let place = error.location();
    let text = error.to_string();
    RequestError::Malformed {
        line: place.map(|p| p.line()),
        column: place.map(|p| p.column()),
        message: text.strip_prefix("error: ").unwrap_or(&text).to_owned(),
    }
}

/// A `T` that stands beside the operation's name in one mapping.
struct Body<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Body<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BodyVisitor(PhantomData))
    }
}

struct BodyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BodyVisitor<T> {
    type Value = Body<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping with the fields of a request")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(WithoutOperation(map))).map(Body)
    }
}

/// A mapping in which the operation's name is passed over.
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

/// A field's name for the seed, or `None` for the operation, which leaves the seed unused.
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
