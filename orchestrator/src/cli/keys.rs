//! Keys and key sets as a command line has them.

use super::error::CliError;
use plans::key::{Key, KeyType};
use plans::key_set::{BucketRange, Buckets, KeyRange, KeySet};
use plans::shard_map::Selection;
use plans::shard_map::Strategy;

/// How a map divides keys, as far as reading keys needs it.
#[derive(Debug, Clone)]
pub(super) struct KeyShape {
    /// How.
    pub(super) strategy: Strategy,
    /// Types of the key's columns.
    pub(super) key: Vec<KeyType>,
    /// Virtual shards of a hash map.
    pub(super) buckets: u32,
}

impl KeyShape {
    /// A key: one value, or one for each column with commas between.
    pub(super) fn key(&self, text: &str) -> Result<Key, CliError> {
        let wrong =
            |text: &str, kind: KeyType| CliError::Usage(format!("{text:?} is not a {kind}"));
        if let [only] = self.key.as_slice() {
            return only.read(text).ok_or_else(|| wrong(text, *only));
        }
        let texts: Vec<&str> = text.split(',').map(str::trim).collect();
        if texts.len() != self.key.len() {
            let (found, columns) = (texts.len(), self.key.len());
            return Err(CliError::Usage(format!(
                "{text:?} has {found} value(s), the key has {columns} column(s)"
            )));
        }
        let values = texts.iter().zip(&self.key);
        let values = values.map(|(text, kind)| kind.read(text).ok_or_else(|| wrong(text, *kind)));
        Ok(Key::Row(values.collect::<Result<_, _>>()?))
    }

    /// `FROM..TO` of keys, or of virtual shards on a hash map; either end may be missing.
    pub(super) fn range(&self, text: &str) -> Result<KeySet, CliError> {
        let form = || CliError::Usage(format!("{text:?} is not of the form FROM..TO"));
        let (from, to) = text.split_once("..").ok_or_else(form)?;
        match self.strategy {
            Strategy::Range => Ok(KeySet::Range(vec![KeyRange {
                from: self.bound(from)?,
                to: self.bound(to)?,
            }])),
            Strategy::Hash => Ok(KeySet::Hash(Buckets {
                of: self.buckets,
                ranges: vec![BucketRange {
                    from: bucket(from, 0)?,
                    to: bucket(to, self.buckets)?,
                }],
            })),
            Strategy::List => Err(CliError::Usage(
                "a list map names its keys one by one: --shard-of KEY=SHARD".to_owned(),
            )),
        }
    }

    /// Keys as a request names them: `{...}` in YAML, or `FROM..TO`, or on a list map keys with commas between.
    pub(super) fn selection(&self, text: &str) -> Result<Selection, CliError> {
        if text.trim_start().starts_with('{') {
            return serde_saphyr::from_str(text)
                .map_err(|error| CliError::Usage(format!("{text:?} names no keys: {error}")));
        }
        let mut selection = Selection::default();
        if self.strategy == Strategy::List {
            let keys: Result<Vec<Key>, CliError> =
                text.split(',').map(|key| self.key(key.trim())).collect();
            selection.values = Some(keys?);
            return Ok(selection);
        }
        match self.range(text)? {
            KeySet::Range(ranges) => {
                let range = ranges.into_iter().next();
                (selection.from, selection.to) = range.map_or((None, None), |r| (r.from, r.to));
            }
            KeySet::Hash(buckets) => selection.buckets = Some(buckets.ranges),
            KeySet::List(_) => {}
        }
        Ok(selection)
    }

    fn bound(&self, text: &str) -> Result<Option<Key>, CliError> {
        match text {
            "" => Ok(None),
            text => self.key(text).map(Some),
        }
    }
}

fn bucket(text: &str, open: u32) -> Result<u32, CliError> {
    if text.is_empty() {
        return Ok(open);
    }
    let wrong = |_| CliError::Usage(format!("{text:?} is not the number of a virtual shard"));
    text.parse().map_err(wrong)
}

/// `A=B`, cut at the last equals sign.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    let form = || format!("{text:?} is not of the form A=B");
    let (left, right) = text.rsplit_once('=').ok_or_else(form)?;
    if left.is_empty() || right.is_empty() {
        return Err(form());
    }
    Ok((left.to_owned(), right.to_owned()))
}

/// `NAME=DSN`, cut at the first equals sign. It may hold a password: what is wrong is reported without it.
pub(super) fn named_dsn(text: &str) -> Result<(&str, &str), String> {
    let form = "it is not of the form NAME=DSN, the name with an equals sign before the connection string: \
                s1=host=10.0.0.1 dbname=shop, or s1=postgres://10.0.0.1/shop";
    let (name, dsn) = text.split_once('=').ok_or(form)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || dsn.is_empty() || !name.chars().all(plain) {
        return Err(form.to_owned());
    }
    Ok((name, dsn))
}

/// `NAME=DSN` of an option that may be given several times.
pub(super) fn named_dsns(
    option: &str,
    texts: &[String],
) -> Result<Vec<(String, String)>, CliError> {
    let numbered = texts.iter().zip(1..);
    let named = numbered.map(|(text, place)| {
        let wrong = |reason| CliError::Usage(format!("{option} number {place}: {reason}"));
        let (name, dsn) = named_dsn(text).map_err(wrong)?;
        Ok((name.to_owned(), dsn.to_owned()))
    });
    named.collect()
}

/// `FROM..TO=SHARD`; either end may be missing.
pub(super) fn range_of(text: &str) -> Result<(String, String), String> {
    let form = || format!("{text:?} is not of the form FROM..TO=SHARD");
    let (range, shard) = text.rsplit_once('=').ok_or_else(form)?;
    if !range.contains("..") || shard.is_empty() {
        return Err(form());
    }
    Ok((range.to_owned(), shard.to_owned()))
}

/// A key type by its name.
pub(super) fn key_type(name: &str) -> Result<KeyType, String> {
    let known = || {
        let names: Vec<_> = KeyType::ALL.iter().map(|kind| kind.sql_name()).collect();
        format!("{name:?} is none of {}", names.join(", "))
    };
    KeyType::parse(name.trim()).ok_or_else(known)
}

/// A strategy by its name.
pub(super) fn strategy(name: &str) -> Result<Strategy, String> {
    Strategy::parse(name).ok_or_else(|| format!("{name:?} is none of range, hash, list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(strategy: Strategy, key: &[KeyType]) -> KeyShape {
        KeyShape {
            strategy,
            key: key.to_vec(),
            buckets: 64,
        }
    }

    #[test]
    fn ranges_may_be_open_and_negative() {
        let shape = shape(Strategy::Range, &[KeyType::Bigint]);
        let keys = |text| shape.range(text).unwrap().to_string();
        assert_eq!(keys("-5..7"), "[-5, 7)");
        assert_eq!(keys(".."), "all keys");
        assert!(shape.range("1..x").is_err());
        assert!(range_of("1-2=a").is_err());
    }

    #[test]
    fn a_name_ends_at_the_first_equals_sign_and_a_password_is_not_reported() {
        let dsn = "host=h password=hunter2";
        assert_eq!(named_dsn(&format!("s1={dsn}")), Ok(("s1", dsn)));
        for text in [
            format!("s1 {dsn}"),
            dsn.replace('=', " "),
            format!("={dsn}"),
        ] {
            let reason = named_dsn(&text).unwrap_err();
            assert!(
                reason.contains("NAME=DSN") && !reason.contains("hunter2"),
                "{reason}"
            );
        }
    }

    #[test]
    fn composite_keys_have_commas_and_virtual_shards_are_numbers() {
        let two = shape(Strategy::Range, &[KeyType::Text, KeyType::Integer]);
        assert_eq!(
            two.key("eu, 7").unwrap(),
            Key::Row(vec![Key::Text("eu".to_owned()), Key::Int(7)])
        );
        assert!(two.key("eu").is_err());
        let hash = shape(Strategy::Hash, &[KeyType::Uuid]);
        assert_eq!(hash.range("..16").unwrap(), KeySet::buckets(64, 0, 16));
        assert!(
            shape(Strategy::List, &[KeyType::Text])
                .range("a..b")
                .is_err()
        );
    }
}
