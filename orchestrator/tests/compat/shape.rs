//! What of a document must be in another one.

use serde_json::Value;
use std::collections::BTreeMap;

/// What differs between migrations: an end of a range may be missing, a step may have said anything, a hold may end by
/// itself or not.
const OPEN: [&str; 3] = ["keys", "outputs", "hold"];

/// What all documents of a kind have, with its types.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// Of different types, or null in some: only that it is there.
    Any,
    Scalar(&'static str),
    /// What the elements have in common, if there were any.
    Array(Option<Box<Self>>),
    Object(BTreeMap<String, Self>),
}

impl Shape {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Any,
            Value::Bool(_) => Self::Scalar("bool"),
            Value::Number(_) => Self::Scalar("number"),
            Value::String(_) => Self::Scalar("string"),
            Value::Array(all) => {
                let common = all.iter().map(Self::of).reduce(Self::common);
                Self::Array(common.map(Box::new))
            }
            Value::Object(fields) => {
                let shape = |name: &str, value| match OPEN.contains(&name) {
                    true => Self::Any,
                    false => Self::of(value),
                };
                let named = fields.iter().map(|(n, value)| (n.clone(), shape(n, value)));
                Self::Object(named.collect())
            }
        }
    }

    /// What both have.
    pub(super) fn common(self, other: Self) -> Self {
        match (self, other) {
            (Self::Object(mut mine), Self::Object(mut others)) => {
                mine.retain(|name, _| others.contains_key(name));
                let both = mine.into_iter().filter_map(|(name, shape)| {
                    let other = others.remove(&name)?;
                    Some((name, shape.common(other)))
                });
                Self::Object(both.collect())
            }
            (Self::Array(mine), Self::Array(others)) => Self::Array(match (mine, others) {
                (Some(mine), Some(others)) => Some(Box::new(mine.common(*others))),
                (mine, others) => mine.or(others),
            }),
            (mine, others) if mine == others => mine,
            _ => Self::Any,
        }
    }

    /// Where `value` lacks something, or has it with another type.
    pub(super) fn lacks(&self, value: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.compare(value, "", &mut found);
        found
    }

    fn compare(&self, value: &Value, place: &str, found: &mut Vec<String>) {
        match (self, value) {
            (Self::Any, _) | (_, Value::Null) => {}
            (Self::Array(inner), Value::Array(all)) => {
                for element in all {
                    if let Some(inner) = inner {
                        inner.compare(element, &format!("{place}[]"), found);
                    }
                }
            }
            (Self::Object(fields), Value::Object(there)) => {
                for (name, shape) in fields {
                    let place = format!("{place}.{name}");
                    match there.get(name) {
                        Some(value) => shape.compare(value, &place, found),
                        None => found.push(format!("{place} is missing")),
                    }
                }
            }
            (shape, value) => {
                if *shape != Self::of(value) {
                    found.push(format!("{place} is {:?}, not {shape:?}", Self::of(value)));
                }
            }
        }
    }
}

/// Where `new` does not have what `old` has. What is null in `old` may be left out.
pub(super) fn lost(old: &Value, new: &Value) -> Vec<String> {
    let mut found = Vec::new();
    differ(old, new, "", &mut found);
    found
}

fn differ(old: &Value, new: &Value, place: &str, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                let other = new.get(name).unwrap_or(&Value::Null);
                differ(value, other, &format!("{place}.{name}"), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (value, other) in old.iter().zip(new) {
                differ(value, other, &format!("{place}[]"), found);
            }
        }
        (old, new) if old == new => {}
        (old, new) => found.push(format!("{place}: {old} is read as {new}")),
    }
}

#[test]
fn a_field_that_is_missing_or_of_another_type_is_found() {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (one, two) = (
        read(r#"{"a": 1, "b": [{"c": "x"}]}"#),
        read(r#"{"a": 2, "b": [], "d": 1}"#),
    );
    let shape = Shape::of(&one).common(Shape::of(&two));
    assert!(shape.lacks(&one).is_empty() && shape.lacks(&two).is_empty());
    assert_eq!(
        shape.lacks(&read(r#"{"b": [{"c": "y"}]}"#)),
        [".a is missing"]
    );
    assert_eq!(
        shape.lacks(&read(r#"{"a": "1", "b": [{"e": 1}]}"#)).len(),
        2
    );
    assert_eq!(
        lost(
            &one,
            &read(r#"{"a": 1, "b": [{"c": "x", "e": 1}], "f": 2}"#)
        ),
        [""; 0]
    );
    assert_eq!(lost(&one, &read(r#"{"a": 1, "b": [{}]}"#)).len(), 1);
    assert_eq!(lost(&one, &read(r#"{"b": [{"c": "x"}]}"#)).len(), 1);
}
