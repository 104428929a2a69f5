//! Combines the results of all shards into defects, each with the repair that fits.

use super::{
    CheckSubject, CheckTaskResult, Defect, DefectKind, KeyRows, MAX_SAMPLE_KEYS, ObservedGuard,
    Repair, StrayRows, SubjectResult,
};
use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::inspection::check::defects::defects;
use crate::key::Key;
use crate::key_set::KeySet;
use crate::shard_map::{ShardMap, Strategy};
use std::collections::{BTreeMap, BTreeSet};

/// Returns all defects of a map, from the map itself and the available parts. The same parts give the same defects.
#[must_use]
pub fn combine(map: &ShardMap, fleet: &[ShardInfo], parts: &[CheckTaskResult]) -> Vec<Defect> {
    let mut parts: Vec<&CheckTaskResult> = parts.iter().collect();
    parts.sort_by(|a, b| a.shard.cmp(&b.shard));
    let answers = CheckAnswers { map, parts };
    let mut found = defects(map, fleet);
    for gap in found.iter_mut() {
        gap.repair = answers.repair_of_map(gap);
    }
    found.extend(answers.misplaced());
    found.extend(answers.reference());
    found.extend(answers.schema());
    found.extend(answers.guards());
    found.extend(answers.sequences(fleet));
    found.extend(no_tables(map));
    found
}

/// Returns a defect if the map lists no tables, because then no row was checked.
fn no_tables(map: &ShardMap) -> Option<Defect> {
    let settings = &map.settings;
    (settings.tables.is_empty() && settings.through.is_empty()).then(|| Defect {
        kind: DefectKind::NotExamined,
        shards: Vec::new(),
        object: format!("the tables of map {}", map.name),
        detail: format!(
            "the map names none, so no row was looked at: shardwright map set {} --table NAME=COLUMN",
            map.name
        ),
        count: 1,
        sample: Vec::new(),
        repair: None,
    })
}

/// Creates the defect for a part that could not be checked.
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
pub(super) struct CheckAnswers<'a> {
    pub(super) map: &'a ShardMap,
    /// The results of the tasks.
    pub(super) parts: Vec<&'a CheckTaskResult>,
}

impl<'a> CheckAnswers<'a> {
    /// Returns the rows that do not belong to their shard, one value for each shard and table.
    fn rows(&self) -> impl Iterator<Item = (&'a ShardName, &'a StrayRows)> {
        self.parts.iter().filter_map(|part| match &part.result {
            SubjectResult::Rows(rows) => Some((&part.shard, rows)),
            SubjectResult::Schema { .. }
            | SubjectResult::Reference { .. }
            | SubjectResult::Guards { .. }
            | SubjectResult::Sequences { .. }
            | SubjectResult::Present { .. } => None,
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
        let holders: BTreeSet<&ShardName> = self
            .rows()
            .filter(|(_, rows)| {
                rows.unmapped_keys
                    .iter()
                    .any(|found| keys.contains(&found.key))
            })
            .map(|(shard, _)| shard)
            .collect();
        let mut holders = holders.into_iter();
        match (holders.next(), holders.next()) {
            (Some(only), None) => Repair::MapKeys {
                keys,
                shard: only.clone(),
            },
            (None, _) => match self.neighbour(&keys) {
                Some(shard) => Repair::MapKeys { keys, shard },
                None => by_hand(format!("map {keys} to a shard")),
            },
            (Some(_), Some(_)) => by_hand(format!(
                "several shards have rows of {keys}: decide which shard owns them, map them there, then check again"
            )),
        }
    }

    /// Returns the owner of the keys immediately before these, or of the first keys.
    fn neighbour(&self, keys: &KeySet) -> Option<ShardName> {
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
    fn misplaced(&self) -> Vec<Defect> {
        let mut found = Vec::new();
        let present: BTreeMap<&ShardName, BTreeSet<&Key>> = self.present();
        for (shard, rows) in self.rows() {
            if rows.stray > 0 {
                found.extend(self.strays(shard, rows, &present));
            }
            if rows.unmapped > 0 {
                found.push(self.unmapped(shard, rows));
            }
        }
        found
    }

    /// Returns for each shard the keys that were found on other shards and have rows on this shard, too.
    fn present(&self) -> BTreeMap<&'a ShardName, BTreeSet<&'a Key>> {
        let mut present: BTreeMap<&ShardName, BTreeSet<&Key>> = BTreeMap::new();
        for part in &self.parts {
            if let SubjectResult::Present { keys } = &part.result {
                let tables_of_shard = present.entry(&part.shard).or_default();
                tables_of_shard.extend(
                    keys.iter()
                        .filter(|found| found.rows > 0)
                        .map(|found| &found.key),
                );
            }
        }
        present
    }

    /// Divides stray keys: those of which the owner has rows too are on two shards, the others only on the wrong shard.
    fn strays(
        &self,
        shard: &ShardName,
        rows: &StrayRows,
        present: &BTreeMap<&ShardName, BTreeSet<&Key>>,
    ) -> Vec<Defect> {
        let mut twice: BTreeMap<&ShardName, Vec<&KeyRows>> = BTreeMap::new();
        let mut once: BTreeMap<&ShardName, Vec<&KeyRows>> = BTreeMap::new();
        for found in &rows.stray_keys {
            let Some(owner) = self.map.locate(&found.key).map(|mapping| &mapping.shard) else {
                continue;
            };
            let tables_of_shard = present
                .get(owner)
                .is_some_and(|keys| keys.contains(&found.key));
            let group = if tables_of_shard {
                &mut twice
            } else {
                &mut once
            };
            group.entry(owner).or_default().push(found);
        }
        let mut defects = Vec::new();
        for (owner, keys) in twice {
            let mut defect = misplaced(DefectKind::KeyOnTwoShards, shard, owner, rows, &keys);
            defect.detail = format!(
                "{} key(s) with {} row(s) here, which shard {owner} owns and has rows of too",
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
        for (owner, keys) in once {
            let mut defect = misplaced(DefectKind::StrayRow, shard, owner, rows, &keys);
            defect.detail = format!(
                "{} key(s) with {} row(s) here, which shard {owner} owns and has no row of ({} stray row(s) in the table)",
                keys.len(),
                defect.count,
                rows.stray
            );
            defect.repair = Some(by_hand(format!(
                "shard {owner} owns keys whose rows of {} are on shard {shard} alone: copy the rows there, or delete them",
                rows.table
            )));
            defects.push(defect);
        }
        defects
    }

    /// Returns the defect of rows whose key no shard owns, with a repair.
    fn unmapped(&self, shard: &ShardName, rows: &StrayRows) -> Defect {
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
                "rows of {} on shard {shard} have keys that map {} does not know: map them, or delete the rows",
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
    fn guards(&self) -> Vec<Defect> {
        let mut found = Vec::new();
        for part in &self.parts {
            if let SubjectResult::Guards { broken } = &part.result {
                found.extend(broken.iter().map(|observed| guard(&part.shard, observed)));
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
fn misplaced(
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
fn guard(shard: &ShardName, observed: &ObservedGuard) -> Defect {
    Defect {
        kind: DefectKind::GuardMissing,
        shards: vec![shard.clone()],
        object: format!("shard {shard}, table {}", observed.table),
        detail: format!(
            "{}; writes to {} are not refused as they should be",
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
