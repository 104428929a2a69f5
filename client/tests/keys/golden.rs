//! The golden file: the expected results for each key and each key set, one line each.

use super::values::{BUCKETS, Samples};
use plans::key::Key;
use plans::key_set::{KeySet, bucket_of};
use serde::Serialize;

const ABOUT: &str = "Computed by PostgreSQL. keys: in key order, each with the text form of each column, \
    bytes (hex) whose order is the key order, the 64-bit hash with seed 0, and the virtual shard of 1, 16 \
    and 4096. sets: each with its SQL predicate over the columns k1, k2, k3 and its members as positions in keys.";

/// All groups.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) groups: Vec<Group>,
}

/// One table: a combination of column types.
#[derive(Debug, PartialEq)]
pub(crate) struct Group {
    /// Types of the key columns as declared.
    pub(crate) name: String,
    pub(crate) keys: Vec<Entry>,
    pub(crate) sets: Vec<Set>,
}

/// The expected results for a key.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) texts: Vec<String>,
    pub(crate) ordered: String,
    /// Keys of one column only: a decimal number of 64 bits with sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hash: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) buckets: Vec<u32>,
}

/// The expected results for a key set.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Set {
    pub(crate) set: KeySet,
    pub(crate) predicate: String,
    pub(crate) members: Vec<usize>,
}

impl Group {
    /// Returns the results of the Rust implementation of key functions.
    pub(crate) fn by_rust(samples: &Samples) -> Self {
        let one_column = samples.kinds.len() == 1;
        let entry = |key: &Key| Entry {
            key: key.clone(),
            texts: key.values().iter().map(Key::text).collect(),
            ordered: hex(&key.ordered_bytes()),
            hash: one_column.then(|| key.hash64().cast_signed().to_string()),
            buckets: match one_column {
                true => BUCKETS.map(|of| bucket_of(key, of)).to_vec(),
                false => Vec::new(),
            },
        };
        let set = |set: &KeySet| Set {
            set: set.clone(),
            predicate: samples.columns().predicate(set, ""),
            members: (0..samples.keys.len())
                .filter(|position| set.contains(&samples.keys[*position]))
                .collect(),
        };
        let mut by_bytes = samples.keys.clone();
        by_bytes.sort_by_key(Key::ordered_bytes);
        Self {
            name: samples.declared.join(","),
            keys: by_bytes.iter().map(entry).collect(),
            sets: samples.sets.iter().map(set).collect(),
        }
    }
}

impl Document {
    pub(crate) fn to_text(&self) -> String {
        let groups: Vec<String> = self.groups.iter().map(group_text).collect();
        format!(
            "{{\"about\": {},\n\"groups\": [\n{}\n]}}\n",
            serde_json::to_string(ABOUT).unwrap(),
            groups.join(",\n")
        )
    }
}

fn group_text(group: &Group) -> String {
    let columns: Vec<&str> = group.name.split(',').collect();
    format!(
        "{{\"columns\": {},\n\"keys\": [\n{}\n],\n\"sets\": [\n{}\n]}}",
        serde_json::to_string(&columns).unwrap(),
        lines(&group.keys),
        lines(&group.sets)
    )
}

fn lines<T: Serialize>(items: &[T]) -> String {
    let lines: Vec<String> = items
        .iter()
        .map(|item| serde_json::to_string(item).unwrap())
        .collect();
    lines.join(",\n")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
