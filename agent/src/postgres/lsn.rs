//! A position in the write-ahead log (WAL).

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use bytes::BytesMut;
use serde::{Deserialize, Serialize};
use tokio_postgres::types::{FromSql, IsNull, PgLsn, ToSql, Type, to_sql_checked};

/// A byte position in the write-ahead log of one server and timeline; prints as `X/Y`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Lsn(pub u64);

/// The error for a text that is not a WAL position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a wal position of the form X/Y")]
pub struct InvalidLsn {
    /// The invalid text.
    pub text: String,
}

impl Lsn {
    /// The invalid position `0/0`, which is less than every other.
    pub const ZERO: Self = Self(0);

    /// Returns the number of bytes from `earlier` to this position; 0 if `earlier` is later.
    pub fn bytes_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lsn({self})")
    }
}

impl FromStr for Lsn {
    type Err = InvalidLsn;
    fn from_str(text: &str) -> Result<Self, InvalidLsn> {
        let half = |digits: &str| {
            let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
            plain
                .then(|| u32::from_str_radix(digits, 16).ok())
                .flatten()
        };
        text.split_once('/')
            .and_then(|(high, low)| Some((half(high)?, half(low)?)))
            .map(|(high, low)| Self(u64::from(high) << 32 | u64::from(low)))
            .ok_or_else(|| InvalidLsn {
                text: text.to_owned(),
            })
    }
}

impl TryFrom<String> for Lsn {
    type Error = InvalidLsn;
    fn try_from(text: String) -> Result<Self, InvalidLsn> {
        text.parse()
    }
}

impl From<Lsn> for String {
    fn from(lsn: Lsn) -> Self {
        lsn.to_string()
    }
}

impl From<PgLsn> for Lsn {
    fn from(lsn: PgLsn) -> Self {
        Self(lsn.into())
    }
}

impl From<Lsn> for PgLsn {
    fn from(lsn: Lsn) -> Self {
        Self::from(lsn.0)
    }
}

impl<'a> FromSql<'a> for Lsn {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        PgLsn::from_sql(ty, raw).map(Self::from)
    }

    fn accepts(ty: &Type) -> bool {
        <PgLsn as FromSql>::accepts(ty)
    }
}

impl ToSql for Lsn {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        PgLsn::from(*self).to_sql(ty, out)
    }

    fn accepts(ty: &Type) -> bool {
        <PgLsn as ToSql>::accepts(ty)
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips_and_orders_by_value() {
        for text in ["0/0", "0/16B3748", "1/0", "FFFFFFFF/FFFFFFFF"] {
            let lsn: Lsn = text.parse().expect(text);
            assert_eq!(lsn.to_string(), text);
            let json = serde_json::to_string(&lsn).expect("serializes");
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(
                serde_json::from_str::<Lsn>(&json).expect("deserializes"),
                lsn
            );
        }
        assert!("1/0".parse::<Lsn>().expect("parses") > "0/FFFFFFFF".parse().expect("parses"));
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "0",
            "/",
            "0/",
            "0/G",
            "100000000/0",
            "+1/0",
            "0/1/2",
            " 0/1",
        ] {
            let refused = text.parse::<Lsn>();
            assert_eq!(
                refused,
                Err(InvalidLsn {
                    text: text.to_owned()
                })
            );
        }
    }
}
