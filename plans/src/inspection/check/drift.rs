//! Finds reference tables and definitions that differ between shards.

use super::combine::{CheckAnswers, by_hand};
use super::{
    Defect, DefectKind, ObservedReference, ObservedTable, Repair, SubjectResult, schema_differences,
};
use crate::id::ShardName;
use crate::table::TableName;
use std::collections::BTreeMap;

/// The maximum number of differences in a text.
const NAMED: usize = 5;

impl CheckAnswers<'_> {
    /// Returns the shards whose rows of a reference table differ from those of most shards.
    pub(super) fn reference(&self) -> Vec<Defect> {
        let mut tables: BTreeMap<&str, Vec<(&ShardName, &ObservedReference)>> = BTreeMap::new();
        for part in &self.parts {
            if let SubjectResult::Reference { tables: observed } = &part.result {
                for table in observed {
                    tables
                        .entry(&table.table)
                        .or_default()
                        .push((&part.shard, table));
                }
            }
        }
        let mut found = Vec::new();
        for (table, shards) in tables {
            let digests: Vec<&str> = shards
                .iter()
                .map(|(_, observed)| observed.digest.as_str())
                .collect();
            let Some(right) = most_common(&digests).map(|index| shards[index]) else {
                continue;
            };
            for (shard, observed) in shards
                .iter()
                .filter(|(_, observed)| observed.digest != right.1.digest)
            {
                found.push(Defect {
                    kind: DefectKind::ReferenceDrift,
                    shards: vec![(*shard).clone(), right.0.clone()],
                    object: format!("shard {shard}, table {table}"),
                    detail: format!(
                        "{} row(s) here, {} on shard {}, and they differ",
                        observed.rows, right.1.rows, right.0
                    ),
                    count: observed.rows.abs_diff(right.1.rows).max(1),
                    sample: Vec::new(),
                    repair: Some(Repair::CopyReference {
                        table: TableName::parse(table),
                        from: right.0.clone(),
                        to: (*shard).clone(),
                        from_digest: right.1.digest.clone(),
                        to_digest: observed.digest.clone(),
                    }),
                });
            }
        }
        found
    }

    /// Returns the shards whose definition of a table differs from that of most shards.
    pub(super) fn schema(&self) -> Vec<Defect> {
        let mut tables: BTreeMap<&str, Vec<(&ShardName, &ObservedTable)>> = BTreeMap::new();
        for part in &self.parts {
            if let SubjectResult::Schema { tables: observed } = &part.result {
                for table in observed {
                    tables
                        .entry(&table.table)
                        .or_default()
                        .push((&part.shard, table));
                }
            }
        }
        let mut found = Vec::new();
        for (table, shards) in tables {
            let facts: Vec<_> = shards.iter().map(|(_, observed)| &observed.facts).collect();
            let Some((norm, right)) = most_common(&facts).map(|index| shards[index]) else {
                continue;
            };
            for (shard, observed) in shards
                .iter()
                .filter(|(_, observed)| observed.facts != right.facts)
            {
                let differences = schema_differences(
                    (shard.as_str(), observed.facts.as_slice()),
                    (norm.as_str(), right.facts.as_slice()),
                );
                found.push(Defect {
                    kind: DefectKind::SchemaDrift,
                    shards: vec![(*shard).clone(), norm.clone()],
                    object: format!("shard {shard}, table {table}"),
                    detail: differences
                        .iter()
                        .take(NAMED)
                        .cloned()
                        .collect::<Vec<_>>()
                        .join("; "),
                    count: u64::try_from(differences.len()).unwrap_or(u64::MAX),
                    sample: Vec::new(),
                    repair: Some(by_hand(format!(
                        "make table {table} on shard {shard} as it is on shard {norm}"
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
