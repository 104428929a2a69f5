//! Finds reference tables and definitions that differ between shards.

use super::combine::{CheckResults, by_hand};
use super::{
    Defect, DefectKind, ObservedReference, ObservedTable, Repair, SubjectResult, schema_differences,
};
use crate::id::ShardName;
use crate::table::TableName;
use std::collections::BTreeMap;

/// The maximum number of differences in a text.
const MAX_DIFFERENCES: usize = 5;

impl CheckResults<'_> {
    /// Returns the shards whose rows of a reference table differ from those of most shards.
    pub(super) fn reference_drift(&self) -> Vec<Defect> {
        let mut tables: BTreeMap<&str, Vec<(&ShardName, &ObservedReference)>> = BTreeMap::new();
        for result in &self.results {
            if let SubjectResult::Reference { tables: observed } = &result.result {
                for table in observed {
                    tables
                        .entry(&table.table)
                        .or_default()
                        .push((&result.shard, table));
                }
            }
        }
        let mut found = Vec::new();
        for (table, shards) in tables {
            let digests: Vec<&str> = shards
                .iter()
                .map(|(_, observed)| observed.digest.as_str())
                .collect();
            let Some((reference_shard, reference)) =
                most_common(&digests).map(|index| shards[index])
            else {
                continue;
            };
            for (shard, observed) in shards
                .iter()
                .filter(|(_, observed)| observed.digest != reference.digest)
            {
                found.push(Defect {
                    kind: DefectKind::ReferenceDrift,
                    shards: vec![(*shard).clone(), reference_shard.clone()],
                    object: format!("shard {shard}, table {table}"),
                    detail: format!(
                        "{} row(s) on this shard, {} on shard {}, and they differ",
                        observed.rows, reference.rows, reference_shard
                    ),
                    count: observed.rows.abs_diff(reference.rows).max(1),
                    sample: Vec::new(),
                    repair: Some(Repair::CopyReference {
                        table: TableName::parse(table),
                        from: reference_shard.clone(),
                        to: (*shard).clone(),
                        from_digest: reference.digest.clone(),
                        to_digest: observed.digest.clone(),
                    }),
                });
            }
        }
        found
    }

    /// Returns the shards whose definition of a table differs from that of most shards.
    pub(super) fn schema_drift(&self) -> Vec<Defect> {
        let mut tables: BTreeMap<&str, Vec<(&ShardName, &ObservedTable)>> = BTreeMap::new();
        for result in &self.results {
            if let SubjectResult::Schema { tables: observed } = &result.result {
                for table in observed {
                    tables
                        .entry(&table.table)
                        .or_default()
                        .push((&result.shard, table));
                }
            }
        }
        let mut found = Vec::new();
        for (table, shards) in tables {
            let facts: Vec<_> = shards.iter().map(|(_, observed)| &observed.facts).collect();
            let Some((reference_shard, reference)) = most_common(&facts).map(|index| shards[index])
            else {
                continue;
            };
            for (shard, observed) in shards
                .iter()
                .filter(|(_, observed)| observed.facts != reference.facts)
            {
                let differences = schema_differences(
                    (shard.as_str(), observed.facts.as_slice()),
                    (reference_shard.as_str(), reference.facts.as_slice()),
                );
                found.push(Defect {
                    kind: DefectKind::SchemaDrift,
                    shards: vec![(*shard).clone(), reference_shard.clone()],
                    object: format!("shard {shard}, table {table}"),
                    detail: differences
                        .iter()
                        .take(MAX_DIFFERENCES)
                        .cloned()
                        .collect::<Vec<_>>()
                        .join("; "),
                    count: u64::try_from(differences.len()).unwrap_or(u64::MAX),
                    sample: Vec::new(),
                    repair: Some(by_hand(format!(
                        "make table {table} on shard {shard} as it is on shard {reference_shard}"
                    ))),
                });
            }
        }
        found
    }
}

/// Returns the index of the first of the most frequent values.
fn most_common<T: PartialEq>(values: &[T]) -> Option<usize> {
    let count = |value: &T| values.iter().filter(|other| *other == value).count();
    (0..values.len()).max_by_key(|index| (count(&values[*index]), values.len() - index))
}
