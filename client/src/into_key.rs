//! Conversion of the application's values to shard keys.
//!
//! A conversion uses only the value's own type. Routing converts the key to the type of the map's key, or returns an
//! error. Dates and times that PostgreSQL cannot represent also cause an error in routing.

use chrono::{DateTime, Datelike, NaiveDate, TimeZone};
use plans::key::Key;
use uuid::Uuid;

/// 2000-01-01 in chrono's days.
const DAYS_TO_2000: i32 = 730_120;
/// 2000-01-01 00:00 UTC in Unix microseconds.
const MICROS_TO_2000: i64 = 946_684_800_000_000;

/// A value that can be a shard key, or one column of it. Tuples are composite keys.
pub trait IntoKey {
    /// Returns the key in the value's own type.
    fn into_key(self) -> Key;
}

impl IntoKey for Key {
    fn into_key(self) -> Key {
        self
    }
}

impl IntoKey for &Key {
    fn into_key(self) -> Key {
        self.clone()
    }
}

impl IntoKey for i64 {
    fn into_key(self) -> Key {
        Key::Int(self)
    }
}

impl IntoKey for i32 {
    fn into_key(self) -> Key {
        Key::Int(self.into())
    }
}

impl IntoKey for i16 {
    fn into_key(self) -> Key {
        Key::Int(self.into())
    }
}

impl IntoKey for String {
    fn into_key(self) -> Key {
        Key::Text(self)
    }
}

impl IntoKey for &str {
    fn into_key(self) -> Key {
        Key::Text(self.to_owned())
    }
}

impl IntoKey for &String {
    fn into_key(self) -> Key {
        Key::Text(self.clone())
    }
}

impl IntoKey for Uuid {
    fn into_key(self) -> Key {
        Key::Uuid(self.into_bytes())
    }
}

/// The bytes of a uuid. For a `bytea` key use a slice or a vector.
impl IntoKey for [u8; 16] {
    fn into_key(self) -> Key {
        Key::Uuid(self)
    }
}

impl IntoKey for &[u8] {
    fn into_key(self) -> Key {
        Key::Bytes(self.to_vec())
    }
}

impl IntoKey for Vec<u8> {
    fn into_key(self) -> Key {
        Key::Bytes(self)
    }
}

impl IntoKey for NaiveDate {
    fn into_key(self) -> Key {
        Key::Date(self.num_days_from_ce() - DAYS_TO_2000)
    }
}

/// Fractions of a microsecond, which PostgreSQL does not store, are cut off.
impl<Z: TimeZone> IntoKey for DateTime<Z> {
    fn into_key(self) -> Key {
        Key::Timestamp(self.timestamp_micros() - MICROS_TO_2000)
    }
}

impl<A: IntoKey, B: IntoKey> IntoKey for (A, B) {
    fn into_key(self) -> Key {
        Key::Row(vec![self.0.into_key(), self.1.into_key()])
    }
}

impl<A: IntoKey, B: IntoKey, C: IntoKey> IntoKey for (A, B, C) {
    fn into_key(self) -> Key {
        Key::Row(vec![
            self.0.into_key(),
            self.1.into_key(),
            self.2.into_key(),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::key::KeyType;

    #[test]
    fn days_and_moments_are_counted_as_postgresql_counts_them() {
        for text in [
            "2000-01-01",
            "1969-12-31",
            "2024-02-29",
            "0001-01-01",
            "9999-12-31",
        ] {
            let date: NaiveDate = text.parse().unwrap();
            assert_eq!(Some(date.into_key()), KeyType::Date.read(text));
            let time = format!("{text}T23:59:59.999999+00:00");
            let moment = DateTime::parse_from_rfc3339(&time).unwrap();
            assert_eq!(Some(moment.into_key()), KeyType::Timestamptz.read(&time));
        }
    }

    #[test]
    fn tuples_are_composite_keys() {
        let key = ("eu", 7_i32, -1_i64).into_key();
        let columns = vec![Key::Text("eu".to_owned()), Key::Int(7), Key::Int(-1)];
        assert_eq!(key, Key::Row(columns));
    }
}
