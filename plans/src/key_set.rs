//! Sets of shard-key values and the one SQL predicate that each compiles to.
//!
//! The same text serves COPY's WHERE, the publication's row filter, the guard's WHEN, the verifier, the
//! drop and the search for stray rows; [`KeySet::contains`] is its twin for routing.

use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The type of a shard key's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyType {
    /// 64-bit integer.
    Bigint,
}

impl KeyType {
    /// The type's name in SQL.
    #[must_use]
    pub fn sql_name(self) -> &'static str {
        match self {
            Self::Bigint => "bigint",
        }
    }
}

/// One value of a shard key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Key {
    /// A `bigint` key.
    Int(i64),
}

// Written out, because a derived untagged enum buffers its input and loses the place of an error.
impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bigint key (a whole number of 64 bits)")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Key, E> {
        Ok(Key::Int(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Key, E> {
        i64::try_from(value)
            .map(Key::Int)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }
}

impl Key {
    /// The value as an SQL literal with its type, safe to stand in any statement.
    #[must_use]
    pub fn sql_literal(&self) -> String {
        match self {
            Self::Int(value) => format!("'{value}'::pg_catalog.int8"),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
        }
    }
}

impl From<i64> for Key {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

/// Half-open range of keys, `from <= key < to`; a missing end has no bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRange {
    /// First key of the range; without it the range has no lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Key>,
    /// First key after the range; without it the range has no upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Key>,
}

impl KeyRange {
    /// True when no key can lie in the range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!((&self.from, &self.to), (Some(from), Some(to)) if from >= to)
    }

    /// True when `key` lies in the range.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        self.from.as_ref().is_none_or(|from| key >= from)
            && self.to.as_ref().is_none_or(|to| key < to)
    }

    /// True when some key lies in both ranges.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let starts_before = |a: &Self, b: &Self| match (&a.from, &b.to) {
            (Some(from), Some(to)) => from < to,
            _ => true,
        };
        !self.is_empty()
            && !other.is_empty()
            && starts_before(self, other)
            && starts_before(other, self)
    }

    /// True when every key of `other` lies in this range.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let from_ok = match (&self.from, &other.from) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => mine <= theirs,
        };
        let to_ok = match (&self.to, &other.to) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => mine >= theirs,
        };
        from_ok && to_ok
    }

    /// Order by lower bound; the unbounded start comes first.
    #[must_use]
    pub fn cmp_start(&self, other: &Self) -> std::cmp::Ordering {
        self.from.cmp(&other.from)
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.to) {
            (None, None) => f.write_str("all keys"),
            (Some(from), None) => write!(f, "[{from}, ∞)"),
            (None, Some(to)) => write!(f, "(-∞, {to})"),
            (Some(from), Some(to)) => write!(f, "[{from}, {to})"),
        }
    }
}

/// A set of keys that moves or lives as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeySet {
    /// A half-open range.
    Range(KeyRange),
}

impl KeySet {
    /// The SQL boolean over `column`, an expression that is already quoted (`"tenant_id"`, `new."id"`).
    ///
    /// Parenthesised, built from built-in immutable operators only, so a publication accepts it.
    #[must_use]
    pub fn predicate(&self, column: &str) -> String {
        match self {
            Self::Range(range) => {
                let from = range
                    .from
                    .as_ref()
                    .map(|key| format!("{column} operator(pg_catalog.>=) {}", key.sql_literal()));
                let to = range
                    .to
                    .as_ref()
                    .map(|key| format!("{column} operator(pg_catalog.<) {}", key.sql_literal()));
                match (from, to) {
                    (None, None) => "(true)".to_owned(),
                    (Some(only), None) | (None, Some(only)) => format!("({only})"),
                    (Some(from), Some(to)) => format!("({from} and {to})"),
                }
            }
        }
    }

    /// True when `key` is in the set: the twin of [`KeySet::predicate`].
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        match self {
            Self::Range(range) => range.contains(key),
        }
    }

    /// True when some key is in both sets.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let (Self::Range(a), Self::Range(b)) = (self, other);
        a.overlaps(b)
    }
}

impl fmt::Display for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) => range.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: Option<i64>, to: Option<i64>) -> KeyRange {
        KeyRange {
            from: from.map(Key::Int),
            to: to.map(Key::Int),
        }
    }

    #[test]
    fn a_range_holds_its_lower_bound_and_not_its_upper() {
        let r = range(Some(3), Some(5));
        assert!(r.contains(&Key::Int(3)) && r.contains(&Key::Int(4)));
        assert!(!r.contains(&Key::Int(2)) && !r.contains(&Key::Int(5)));
    }

    #[test]
    fn neighbours_do_not_overlap() {
        assert!(!range(None, Some(5)).overlaps(&range(Some(5), None)));
        assert!(range(None, Some(6)).overlaps(&range(Some(5), None)));
        assert!(!range(Some(5), Some(5)).overlaps(&range(None, None)));
    }

    #[test]
    fn covering_needs_both_ends() {
        assert!(range(None, None).covers(&range(Some(1), Some(2))));
        assert!(!range(Some(1), None).covers(&range(None, Some(2))));
        assert!(range(Some(1), Some(9)).covers(&range(Some(1), Some(9))));
    }

    #[test]
    fn the_predicate_quotes_its_bounds() {
        let set = KeySet::Range(range(Some(i64::MIN), Some(7)));
        assert_eq!(
            set.predicate("\"k\""),
            "(\"k\" operator(pg_catalog.>=) '-9223372036854775808'::pg_catalog.int8 \
             and \"k\" operator(pg_catalog.<) '7'::pg_catalog.int8)"
        );
    }
}
