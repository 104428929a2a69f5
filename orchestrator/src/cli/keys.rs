//! Parses keys and key sets of the command line.

use super::error::CliError;
use plans::key::{Key, KeyType};
use plans::key_set::{BucketRange, Buckets, KeyRange, KeySet};
use plans::shard_map::{KeyedBy, Selection, Strategy};
use std::collections::{BTreeMap, BTreeSet};

/// The properties of a map that are needed to parse its keys.
#[derive(Debug, Clone)]
pub(super) struct KeyShape {
    /// How the map divides keys.
    pub(super) strategy: Strategy,
    /// The types of the key's columns.
    pub(super) key: Vec<KeyType>,
    /// The number of virtual shards of a hash map; 0 for other maps.
    pub(super) buckets: u32,
}

impl KeyShape {
    /// Parses a key: one value, or one value for each column, separated by commas.
    pub(super) fn key(&self, text: &str) -> Result<Key, CliError> {
        let type_error =
            |text: &str, kind: KeyType| CliError::Usage(format!("{text:?} is not a {kind}"));
        if let [only] = self.key.as_slice() {
            return only.read(text).ok_or_else(|| type_error(text, *only));
        }
        let texts: Vec<&str> = text.split(',').map(str::trim).collect();
        if texts.len() != self.key.len() {
            let (found, columns) = (texts.len(), self.key.len());
            return Err(CliError::Usage(format!(
                "{text:?} has {found} value(s), the key has {columns} column(s)"
            )));
        }
        let values = texts.iter().zip(&self.key);
        let values =
            values.map(|(text, kind)| kind.read(text).ok_or_else(|| type_error(text, *kind)));
        Ok(Key::Row(values.collect::<Result<_, _>>()?))
    }

    /// Parses `FROM..TO`: keys, or numbers of virtual shards of a hash map. Either end may be missing.
    pub(super) fn range(&self, text: &str) -> Result<KeySet, CliError> {
        let form_error = || CliError::Usage(format!("{text:?} is not of the form FROM..TO"));
        let (from, to) = text.split_once("..").ok_or_else(form_error)?;
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
                except: BTreeSet::new(),
            })),
            Strategy::List => Err(CliError::Usage(
                "a list map has no ranges: name each key with --shard-of KEY=SHARD".to_owned(),
            )),
        }
    }

    /// Parses keys as in a request: `{...}` in YAML; `FROM..TO`; or keys of a list map or a hash map, separated by commas.
    pub(super) fn selection(&self, text: &str) -> Result<Selection, CliError> {
        if text.trim_start().starts_with('{') {
            return serde_saphyr::from_str(text)
                .map_err(|error| CliError::Usage(format!("{text:?} names no keys: {error}")));
        }
        let mut selection = Selection::default();
        let has_single_keys = match self.strategy {
            Strategy::List => true,
            Strategy::Hash => !text.contains(".."),
            Strategy::Range => false,
        };
        if has_single_keys {
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

    /// Parses one end of a range; `None` if the text is empty.
    fn bound(&self, text: &str) -> Result<Option<Key>, CliError> {
        match text {
            "" => Ok(None),
            text => self.key(text).map(Some),
        }
    }
}

/// Parses the number of a virtual shard. An empty text is `default`.
fn bucket(text: &str, default: u32) -> Result<u32, CliError> {
    if text.is_empty() {
        return Ok(default);
    }
    let number_error =
        |_| CliError::Usage(format!("{text:?} is not the number of a virtual shard"));
    text.parse().map_err(number_error)
}

/// Parses `A=B`. The last equals sign divides the text.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    let form_error = || format!("{text:?} is not of the form A=B");
    let (left, right) = text.rsplit_once('=').ok_or_else(form_error)?;
    if left.is_empty() || right.is_empty() {
        return Err(form_error());
    }
    Ok((left.to_owned(), right.to_owned()))
}

/// Parses `NAME=DSN`. The first equals sign divides the text. The error does not contain the text, which may contain a
/// password.
pub(super) fn named_dsn(text: &str) -> Result<(&str, &str), String> {
    let form = "the value is not of the form NAME=DSN (a name, an equals sign and the connection string), for example \
                s1=host=10.0.0.1 dbname=shop, or s1=postgres://10.0.0.1/shop";
    let (name, dsn) = text.split_once('=').ok_or(form)?;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || dsn.is_empty() || !name.chars().all(is_allowed) {
        return Err(form.to_owned());
    }
    Ok((name, dsn))
}

/// Parses each `NAME=DSN` of an option that may be given several times.
pub(super) fn named_dsns(
    option: &str,
    texts: &[String],
) -> Result<Vec<(String, String)>, CliError> {
    let numbered = texts.iter().zip(1..);
    let named = numbered.map(|(text, number)| {
        let usage_error = |reason| CliError::Usage(format!("{option} number {number}: {reason}"));
        let (name, dsn) = named_dsn(text).map_err(usage_error)?;
        Ok((name.to_owned(), dsn.to_owned()))
    });
    named.collect()
}

/// Parses `FROM..TO=SHARD`; either end may be missing.
pub(super) fn range_and_shard(text: &str) -> Result<(String, String), String> {
    let form_error = || format!("{text:?} is not of the form FROM..TO=SHARD");
    let (range, shard) = text.rsplit_once('=').ok_or_else(form_error)?;
    if !range.contains("..") || shard.is_empty() {
        return Err(form_error());
    }
    Ok((range.to_owned(), shard.to_owned()))
}

/// Parses the name of a key type.
pub(super) fn key_type(name: &str) -> Result<KeyType, String> {
    let known = || {
        let names: Vec<_> = KeyType::ALL.iter().map(|kind| kind.sql_name()).collect();
        format!("{name:?} is not one of {}", names.join(", "))
    };
    KeyType::parse(name.trim()).ok_or_else(known)
}

/// Parses the name of a strategy.
pub(super) fn strategy(name: &str) -> Result<Strategy, String> {
    Strategy::parse(name).ok_or_else(|| format!("{name:?} is not one of range, hash, list"))
}

/// How a new map divides its keys, and what they represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MapKind {
    pub(super) strategy: Strategy,
    pub(super) keyed_by: KeyedBy,
}

/// Parses the kind of a map: a strategy, or `schema` or `group` for a list of schemas or of groups of tables.
pub(super) fn map_kind(name: &str) -> Result<MapKind, String> {
    let listed = |keyed_by| MapKind {
        strategy: Strategy::List,
        keyed_by,
    };
    match name {
        "schema" => Ok(listed(KeyedBy::Schema)),
        "group" => Ok(listed(KeyedBy::Group)),
        other => Strategy::parse(other)
            .map(|strategy| MapKind {
                strategy,
                keyed_by: KeyedBy::Column,
            })
            .ok_or_else(|| format!("{name:?} is not one of range, hash, list, schema, group")),
    }
}

/// Returns the groups of `GROUP=TABLE,TABLE`, each with all of its tables.
pub(super) fn groups(pairs: &[(String, String)]) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (group, tables) in pairs {
        let tables = tables.split(',').map(|table| table.trim().to_owned());
        groups.entry(group.clone()).or_default().extend(tables);
    }
    groups
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
        assert!(range_and_shard("1-2=a").is_err());
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
