//! Compares the definitions of one table on two shards, part by part.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One part of a table's definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SchemaFact {
    /// The kind and the name: `column balance`, `index accounts_pkey`.
    pub what: String,
    /// The definition.
    pub definition: String,
}

/// Returns the differences between two definitions of a table. Each argument is the name of a shard and the definition
/// on it.
#[must_use]
pub fn schema_differences(
    left: (&str, &[SchemaFact]),
    right: (&str, &[SchemaFact]),
) -> Vec<String> {
    let by_name = |facts: &[SchemaFact]| -> BTreeMap<String, BTreeSet<String>> {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for fact in facts {
            let named = all.entry(fact.what.clone()).or_default();
            named.insert(fact.definition.clone());
        }
        all
    };
    let (left_facts, right_facts) = (by_name(left.1), by_name(right.1));
    let names: BTreeSet<&String> = left_facts.keys().chain(right_facts.keys()).collect();
    let described = |definitions: Option<&BTreeSet<String>>| {
        definitions.map_or_else(
            || "missing".to_owned(),
            |all| {
                all.iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(" and ")
            },
        )
    };
    names
        .into_iter()
        .filter(|name| left_facts.get(*name) != right_facts.get(*name))
        .map(|name| {
            format!(
                "{name}: on {} {}, on {} {}",
                left.0,
                described(left_facts.get(name)),
                right.0,
                described(right_facts.get(name))
            )
        })
        .collect()
}
