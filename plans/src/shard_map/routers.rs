//! Writes a map as configuration of poolers and routers. They must read it again when keys change their owner.
//!
//! PgBouncer and libpq's service file know only names of databases. The configuration has one name for each shard, one
//! for each virtual shard and each exception of a hash map, and one for each key of a list map. These names do not change when keys move,
//! so an application that uses them needs no map. Ranges have no such names. pgdog itself finds the shard of a key, in
//! ranges and lists.

use super::{Mapping, ShardMap, Strategy};
use crate::id::ShardName;
use crate::key::{Key, KeyType};
use crate::key_set::KeySet;
use crate::sql::quoted;
use crate::table::TableName;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The program that reads the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Router {
    /// PgBouncer: the section `[databases]`, which its file can include.
    Pgbouncer,
    /// pgdog: databases, tables and mappings, as a part of its file.
    Pgdog,
    /// Programs with libpq: a connection service file.
    Service,
}

/// The address of a shard, or of its pooler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardAddress {
    /// The host, or several separated by commas if the router supports this.
    pub host: String,
    /// The port.
    pub port: String,
    /// The name of the database.
    pub dbname: String,
}

/// Why a map cannot be written for a router.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouterError {
    /// The address of a shard was not given.
    #[error("the address of shard {0} is unknown")]
    NoAddress(ShardName),
    /// A value contains a character that would end its line and begin another one.
    #[error("the name or the address of shard {:?} contains control characters", .0.as_str())]
    Control(ShardName),
    /// pgdog divides hashed keys with another function.
    #[error("pgdog cannot route by the virtual shards of a hash map")]
    Hash,
    /// pgdog supports only a key with one column, of some types.
    #[error("pgdog cannot route by keys of type {0}")]
    Key(String),
}

impl RouterError {
    /// Returns what the user can do.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoAddress(_) | Self::Control(_) => {
                "give the address of the shard: --place 'SHARD=host=… port=… dbname=…'"
            }
            Self::Hash | Self::Key(_) => {
                "route in the application with the client library, or by names of databases: --format pgbouncer"
            }
        }
    }
}

/// Returns the configuration. The same map and addresses always give the same bytes.
///
/// # Errors
/// [`RouterError`].
pub fn route(
    map: &ShardMap,
    router: Router,
    addresses: &BTreeMap<ShardName, ShardAddress>,
) -> Result<String, RouterError> {
    let head = format!(
        "shard map {:?}, version {}: written anew by each export",
        map.name.as_str(),
        map.version
    );
    match router {
        Router::Pgbouncer => {
            let fits = |name: &str| !name.contains(char::is_control);
            let (lines, left_out) = named_entries(map, addresses, fits, |name, address| {
                let (host, dbname) = (quoted(&address.host, '\''), quoted(&address.dbname, '\''));
                let port = &address.port;
                format!(
                    "{} = host={host} port={port} dbname={dbname}\n",
                    quoted_ini_name(name)
                )
            })?;
            Ok(format!("; {head}{left_out}\n[databases]\n{lines}"))
        }
        Router::Service => {
            // libpq would read `[a]b]` as the service `a`.
            let fits = |name: &str| !name.contains(|c: char| c.is_control() || c == ']');
            let (lines, left_out) = named_entries(map, addresses, fits, |name, address| {
                let ShardAddress { host, port, dbname } = address;
                format!("[{name}]\nhost={host}\nport={port}\ndbname={dbname}\n")
            })?;
            Ok(format!("# {head}{left_out}\n{lines}"))
        }
        Router::Pgdog => pgdog(map, addresses).map(|lines| format!("# {head}\n{lines}")),
    }
}

/// Returns the address of a shard, if it is known and contains no control characters.
fn address<'p>(
    addresses: &'p BTreeMap<ShardName, ShardAddress>,
    shard: &ShardName,
) -> Result<&'p ShardAddress, RouterError> {
    let address = addresses.get(shard);
    let address = address.ok_or_else(|| RouterError::NoAddress(shard.clone()))?;
    let texts = [
        shard.as_str(),
        &address.host,
        &address.port,
        &address.dbname,
    ];
    match texts.iter().any(|text| text.contains(char::is_control)) {
        true => Err(RouterError::Control(shard.clone())),
        false => Ok(address),
    }
}

/// Returns the entries `MAP.shard.SHARD`, then `MAP.key.KEY` and `MAP.BUCKET`, or `MAP.KEY`, each written by `line`. Keys whose name does
/// not fulfil `fits` are left out, because tenants may choose any keys; the second text is the comment about them.
fn named_entries(
    map: &ShardMap,
    addresses: &BTreeMap<ShardName, ShardAddress>,
    fits: impl Fn(&str) -> bool,
    line: impl Fn(&str, &ShardAddress) -> String,
) -> Result<(String, String), RouterError> {
    let mut out = String::new();
    let mut left_out = 0;
    for shard in map.shards() {
        let name = format!("{}.shard.{shard}", map.name);
        out += &line(&name, address(addresses, &shard)?);
    }
    for Mapping { keys, shard, .. } in &map.mappings {
        let address = address(addresses, shard)?;
        for name in stable_names(keys) {
            match fits(&name) {
                true => out += &line(&format!("{}.{name}", map.name), address),
                false => left_out += 1,
            }
        }
    }
    let left_out = match left_out {
        0 => String::new(),
        left_out => format!(", without {left_out} key(s) that no name here can hold"),
    };
    Ok((out, left_out))
}

/// Returns the names that stay the same when keys change their owner.
fn stable_names(keys: &KeySet) -> Vec<String> {
    match keys {
        KeySet::Range(_) => Vec::new(),
        KeySet::Hash(buckets) => {
            let ranges = buckets.ranges.iter();
            let all = ranges.flat_map(|range| range.from..range.to);
            let (_, single) = buckets.exceptions();
            let single = single.into_iter().map(|key| format!("key.{}", key.text()));
            all.map(|bucket| bucket.to_string()).chain(single).collect()
        }
        KeySet::List(keys) => keys.iter().map(Key::text).collect(),
    }
}

/// Returns the name, in quotes if it contains special characters.
fn quoted_ini_name(name: &str) -> String {
    let needs_no_quotes = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    match name.chars().all(needs_no_quotes) {
        true => name.to_owned(),
        false => quoted(name, '"'),
    }
}

/// Returns the databases, tables and mappings for pgdog.
fn pgdog(
    map: &ShardMap,
    addresses: &BTreeMap<ShardName, ShardAddress>,
) -> Result<String, RouterError> {
    let data_type = pgdog_type(map)?;
    let name = toml_string(map.name.as_str());
    let shards = map.shards();
    let mut out = String::new();
    for (number, shard) in shards.iter().enumerate() {
        let ShardAddress { host, port, dbname } = address(addresses, shard)?;
        let (host, dbname) = (toml_string(host), toml_string(dbname));
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "\n# shard {shard}\n[[databases]]\nname = {name}\nhost = {host}\nport = {port}\ndatabase_name = {dbname}\nshard = {number}\n"
        );
    }
    let tables = map.settings.tables.iter();
    let columns: Vec<(String, String)> = tables
        .filter_map(|(table, columns)| {
            Some((TableName::parse(table).name, columns.0.first()?.clone()))
        })
        .collect();
    for (table, column) in &columns {
        let (table, column) = (toml_string(table), toml_string(column));
        let _ = write!(
            out,
            "\n[[sharded_tables]]\ndatabase = {name}\nname = {table}\ncolumn = {column}\ndata_type = \"{data_type}\"\n"
        );
    }
    let mut distinct_columns: Vec<&String> = columns.iter().map(|(_, column)| column).collect();
    distinct_columns.sort();
    distinct_columns.dedup();
    for column in distinct_columns {
        let column = toml_string(column);
        for Mapping { keys, shard, .. } in &map.mappings {
            let number = shards
                .iter()
                .position(|known| known == shard)
                .unwrap_or_default();
            for key_lines in pgdog_key_lines(keys) {
                let _ = write!(
                    out,
                    "\n[[sharded_mappings]]\ndatabase = {name}\ncolumn = {column}\n{key_lines}\nshard = {number}\n"
                );
            }
        }
    }
    Ok(out)
}

/// Returns pgdog's name for the type of the map's key.
fn pgdog_type(map: &ShardMap) -> Result<&'static str, RouterError> {
    if map.strategy == Strategy::Hash {
        return Err(RouterError::Hash);
    }
    match map.key.as_slice() {
        [KeyType::Smallint | KeyType::Integer | KeyType::Bigint] => Ok("bigint"),
        [KeyType::Text] => Ok("varchar"),
        [KeyType::Uuid] => Ok("uuid"),
        types => {
            let names: Vec<&str> = types.iter().map(|kind| kind.sql_name()).collect();
            Err(RouterError::Key(names.join(", ")))
        }
    }
}

/// Returns the lines that name the keys in pgdog's mappings.
fn pgdog_key_lines(keys: &KeySet) -> Vec<String> {
    let value = |key: &Key| match key {
        Key::Int(number) => number.to_string(),
        Key::Text(_)
        | Key::Uuid(_)
        | Key::Bytes(_)
        | Key::Date(_)
        | Key::Timestamp(_)
        | Key::Row(_) => toml_string(&key.text()),
    };
    match keys {
        KeySet::Range(ranges) => {
            let end = |name: &str, key: &Option<Key>| {
                let key = key.as_ref();
                key.map(|key| format!("{name} = {}", value(key)))
            };
            let lines = ranges.iter().map(|range| {
                let ends = [end("start", &range.from), end("end", &range.to)];
                let kind = Some("kind = \"range\"".to_owned());
                let lines: Vec<String> = [kind].into_iter().chain(ends).flatten().collect();
                lines.join("\n")
            });
            lines.collect()
        }
        KeySet::List(keys) => {
            let values: Vec<String> = keys.iter().map(value).collect();
            vec![format!("kind = \"list\"\nvalues = [{}]", values.join(", "))]
        }
        // Hash maps were refused earlier.
        KeySet::Hash(_) => Vec::new(),
    }
}

/// Returns a TOML string. TOML has the same escapes as JSON.
fn toml_string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}
