//! Definitions of one table on two shards, compared fact by fact.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One thing that a table's definition consists of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SchemaFact {
    /// Kind and name: `column balance`, `index accounts_pkey`.
    pub what: String,
    /// Its definition.
    pub definition: String,
}

/// What differs between two definitions of a table; `here` and `there` are the shards' names.
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
    let (ours, theirs) = (by_name(left.1), by_name(right.1));
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
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
        .filter(|name| ours.get(*name) != theirs.get(*name))
        .map(|name| {
            format!(
                "{name}: on {} {}, on {} {}",
                left.0,
                described(ours.get(name)),
                right.0,
                described(theirs.get(name))
            )
        })
        .collect()
}
