//! Combines the results of all shards into defects, each with the repair that fits.

use super::{
    CheckSubject, CheckTaskResult, Defect, DefectKind, KeyRows, MAX_SAMPLE_KEYS, ObservedGuard,
    Repair, StrayRows, SubjectResult, SurplusRows,
};
use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::inspection::check::defects::defects;
use crate::key::Key;
use crate::key_set::KeySet;
use crate::shard_map::{ShardMap, Strategy};
use std::collections::{BTreeMap, BTreeSet};

/// Returns all defects of a map, from the map itself and the available results. The same results give the same defects.
#[must_use]
pub fn combine(map: &ShardMap, fleet: &[ShardInfo], results: &[CheckTaskResult]) -> Vec<Defect> {
    let mut results: Vec<&CheckTaskResult> = results.iter().collect();
    results.sort_by(|a, b| a.shard.cmp(&b.shard));
    let results = CheckResults { map, results };
    let mut found = defects(map, fleet);
    for defect in found.iter_mut() {
        defect.repair = results.repair_of_map(defect);
    }
    found.extend(results.misplaced_rows());
    found.extend(results.reference_drift());
    found.extend(results.schema_drift());
    found.extend(results.broken_guards());
    found.extend(results.sequence_overlaps(fleet));
    found.extend(missing_tables(map));
    found
}

/// Returns a defect if the map lists no tables, because then no row was checked.
fn missing_tables(map: &ShardMap) -> Option<Defect> {
    let settings = &map.settings;
    let lists_none = settings.tables.is_empty() && settings.through.is_empty();
    (lists_none && settings.keyed_by.is_column()).then(|| Defect {
        kind: DefectKind::NotExamined,
        shards: Vec::new(),
        object: format!("the tables of map {}", map.name),
        detail: format!(
            "the map lists no tables, so no row was checked: shardwright map set {} --table NAME=COLUMN",
            map.name
        ),
        count: 1,
        sample: Vec::new(),
        repair: None,
    })
}

/// Returns the rows on seeded targets that are to be removed, ordered by shard and table.
#[must_use]
pub fn surplus_rows(results: &[CheckTaskResult]) -> Vec<SurplusRows> {
    let surplus = results.iter().flat_map(|result| {
        let rows = result.result.stray_rows().iter();
        rows.filter(|rows| rows.surplus > 0)
            .map(|rows| SurplusRows {
                shard: result.shard.clone(),
                table: rows.table.clone(),
                rows: rows.surplus,
            })
    });
    let mut surplus: Vec<SurplusRows> = surplus.collect();
    surplus.sort_by(|a, b| (&a.shard, &a.table).cmp(&(&b.shard, &b.table)));
    surplus
}

/// Creates the defect for a task that could not be carried out.
#[must_use]
pub fn not_examined(shard: &ShardName, subject: &CheckSubject, why: &str) -> Defect {
    Defect {
        kind: DefectKind::NotExamined,
        shards: vec![shard.clone()],
        object: subject.to_string(),
        detail: why.to_owned(),
        count: 1,
        sample: Vec::new(),
        repair: None,
    }
}

/// The results of all tasks of a check.
pub(super) struct CheckResults<'a> {
    pub(super) map: &'a ShardMap,
    /// The results of the tasks.
    pub(super) results: Vec<&'a CheckTaskResult>,
}

impl<'a> CheckResults<'a> {
    /// Returns the rows that do not belong to their shard, one value for each shard and table.
    fn rows(&self) -> impl Iterator<Item = (&'a ShardName, &'a StrayRows)> {
        self.results.iter().flat_map(|result| {
            let rows = result.result.stray_rows().iter();
            rows.map(|rows| (&result.shard, rows))
        })
    }

    /// Returns the repair for a defect of the map itself.
    fn repair_of_map(&self, defect: &Defect) -> Option<Repair> {
        match defect.kind {
            DefectKind::Gap => {
                let gaps = self.map.gaps().pieces();
                let gap = gaps
                    .into_iter()
                    .find(|gap| gap.to_string() == defect.object)?;
                Some(self.map_keys(gap))
            }
            DefectKind::Overlap => Some(by_hand(format!(
                "{}: correct one of the two mappings, then import the map again",
                defect.object
            ))),
            DefectKind::UnknownShard => Some(by_hand(format!(
                "register {}, or correct the mappings that name it",
                defect.object
            ))),
            DefectKind::StrayRow
            | DefectKind::UnmappedKey
            | DefectKind::ReferenceDrift
            | DefectKind::SchemaDrift
            | DefectKind::GuardMissing
            | DefectKind::KeyOnTwoShards
            | DefectKind::SequenceOverlap
            | DefectKind::NotExamined => None,
        }
    }

    /// Returns the repair for keys that no shard owns: they are mapped to the only shard that has rows of them, or
    /// without rows to the shard of the adjacent keys.
    fn map_keys(&self, keys: KeySet) -> Repair {
        let shards_with_rows: BTreeSet<&ShardName> = self
            .rows()
            .filter(|(_, rows)| {
                rows.unmapped_keys
                    .iter()
                    .any(|found| keys.contains(&found.key))
            })
            .map(|(shard, _)| shard)
            .collect();
        let mut shards_with_rows = shards_with_rows.into_iter();
        match (shards_with_rows.next(), shards_with_rows.next()) {
            (Some(only), None) => Repair::MapKeys {
                keys,
                shard: only.clone(),
            },
            (None, _) => match self.adjacent_owner(&keys) {
                Some(shard) => Repair::MapKeys { keys, shard },
                None => by_hand(format!("map {keys} to a shard")),
            },
            (Some(_), Some(_)) => by_hand(format!(
                "several shards have rows of {keys}: decide which shard owns them, map them there, then check again"
            )),
        }
    }

    /// Returns the owner of the keys immediately before these, or of the first keys.
    fn adjacent_owner(&self, keys: &KeySet) -> Option<ShardName> {
        let before = self
            .map
            .mappings
            .iter()
            .rev()
            .find(|mapping| mapping.keys < *keys);
        before
            .or_else(|| self.map.mappings.first())
            .map(|mapping| mapping.shard.clone())
    }

    /// Returns the defects of rows that are not on the shard that owns their key.
    fn misplaced_rows(&self) -> Vec<Defect> {
        let mut found = Vec::new();
        let present: BTreeMap<&ShardName, BTreeSet<&Key>> = self.present();
        for (shard, rows) in self.rows() {
            if rows.stray > 0 {
                found.extend(self.stray_rows(shard, rows, &present));
            }
            if rows.unmapped > 0 {
                found.push(self.unmapped_keys(shard, rows));
            }
        }
        found
    }

    /// Returns for each shard the keys that were found on other shards and have rows on this shard, too.
    fn present(&self) -> BTreeMap<&'a ShardName, BTreeSet<&'a Key>> {
        let mut present: BTreeMap<&ShardName, BTreeSet<&Key>> = BTreeMap::new();
        for result in &self.results {
            if let SubjectResult::Present { keys } = &result.result {
                let keys_of_shard = present.entry(&result.shard).or_default();
                keys_of_shard.extend(
                    keys.iter()
                        .filter(|found| found.rows > 0)
                        .map(|found| &found.key),
                );
            }
        }
        present
    }

    /// Divides stray keys: those of which the owner has rows too are on two shards, the others only on the wrong shard.
    fn stray_rows(
        &self,
        shard: &ShardName,
        rows: &StrayRows,
        present: &BTreeMap<&ShardName, BTreeSet<&Key>>,
    ) -> Vec<Defect> {
        let mut on_both_shards: BTreeMap<&ShardName, Vec<&KeyRows>> = BTreeMap::new();
        let mut only_here: BTreeMap<&ShardName, Vec<&KeyRows>> = BTreeMap::new();
        for found in &rows.stray_keys {
            let Some(owner) = self.map.locate(&found.key).map(|mapping| &mapping.shard) else {
                continue;
            };
            let owner_has_rows = present
                .get(owner)
                .is_some_and(|keys| keys.contains(&found.key));
            let group = if owner_has_rows {
                &mut on_both_shards
            } else {
                &mut only_here
            };
            group.entry(owner).or_default().push(found);
        }
        let mut defects = Vec::new();
        for (owner, keys) in on_both_shards {
            let mut defect =
                misplaced_defect(DefectKind::KeyOnTwoShards, shard, owner, rows, &keys);
            defect.detail = format!(
                "{} key(s) with {} row(s) on this shard; shard {owner} owns the keys, and has rows of them too",
                keys.len(),
                defect.count
            );
            defect.repair = Some(Repair::DeleteStray {
                shard: shard.clone(),
                owner: owner.clone(),
                keys: defect.sample.clone(),
            });
            defects.push(defect);
        }
        for (owner, keys) in only_here {
            let mut defect = misplaced_defect(DefectKind::StrayRow, shard, owner, rows, &keys);
            defect.detail = format!(
                "{} key(s) with {} row(s) on this shard; shard {owner} owns the keys, and has no rows of them ({} stray row(s) in the table)",
                keys.len(),
                defect.count,
                rows.stray
            );
            defect.repair = Some(by_hand(format!(
                "shard {owner} owns keys whose rows of {} are only on shard {shard}: copy the rows to shard {owner}, or delete them",
                rows.table
            )));
            defects.push(defect);
        }
        defects
    }

    /// Returns the defect of rows whose key no shard owns, with a repair.
    fn unmapped_keys(&self, shard: &ShardName, rows: &StrayRows) -> Defect {
        let sample: Vec<Key> = rows
            .unmapped_keys
            .iter()
            .map(|found| found.key.clone())
            .collect();
        let gaps = self.map.gaps();
        let gap = gaps
            .pieces()
            .into_iter()
            .find(|gap| sample.iter().any(|key| gap.contains(key)));
        let repair = match (self.map.strategy, gap) {
            (_, Some(gap)) => self.map_keys(gap),
            (Strategy::List, None) if !sample.is_empty() => {
                self.map_keys(KeySet::list(sample.iter().cloned()))
            }
            (_, None) => by_hand(format!(
                "rows of {} on shard {shard} have keys that no mapping of map {} contains: map the keys, or delete the rows",
                rows.table, self.map.name
            )),
        };
        let orphans = match rows.orphans {
            0 => String::new(),
            orphans => format!(", {orphans} of them without a parent row"),
        };
        Defect {
            kind: DefectKind::UnmappedKey,
            shards: vec![shard.clone()],
            object: format!("shard {shard}, table {}", rows.table),
            detail: format!(
                "{} row(s) with keys that no shard owns{orphans}",
                rows.unmapped
            ),
            count: rows.unmapped,
            sample,
            repair: Some(repair),
        }
    }

    /// Returns the defects of missing or altered guards.
    fn broken_guards(&self) -> Vec<Defect> {
        let mut found = Vec::new();
        for result in &self.results {
            if let SubjectResult::Guards { broken } = &result.result {
                found.extend(
                    broken
                        .iter()
                        .map(|observed| broken_guard(&result.shard, observed)),
                );
            }
        }
        found
    }
}

/// Returns a repair that an operator must do.
pub(super) fn by_hand(advice: String) -> Repair {
    Repair::ByHand { advice }
}

/// Returns the defect of rows on `shard` whose keys belong to `owner`, without detail and repair.
fn misplaced_defect(
    kind: DefectKind,
    shard: &ShardName,
    owner: &ShardName,
    rows: &StrayRows,
    keys: &[&KeyRows],
) -> Defect {
    Defect {
        kind,
        shards: vec![shard.clone(), owner.clone()],
        object: format!("shard {shard}, table {}", rows.table),
        detail: String::new(),
        count: keys.iter().map(|found| found.rows).sum(),
        sample: keys
            .iter()
            .take(MAX_SAMPLE_KEYS)
            .map(|found| found.key.clone())
            .collect(),
        repair: None,
    }
}

/// Returns the defect of one missing or altered guard.
fn broken_guard(shard: &ShardName, observed: &ObservedGuard) -> Defect {
    Defect {
        kind: DefectKind::GuardMissing,
        shards: vec![shard.clone()],
        object: format!("shard {shard}, table {}", observed.table),
        detail: format!(
            "{}; the shard does not refuse writes to {}, although it released them",
            observed.problem, observed.keys
        ),
        count: 1,
        sample: Vec::new(),
        repair: Some(Repair::RecreateGuard {
            shard: shard.clone(),
            table: observed.table.clone(),
        }),
    }
}
