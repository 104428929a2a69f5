//! Answers of all shards → defects, each with what would mend it.

use super::{
    Checked, Defect, DefectKind, GuardSeen, KeyRows, Mend, ReferenceSeen, RowsSeen, SAMPLE, Seen,
    SequenceSeen, TableSeen, overlap, schema_differences,
};
use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::key::Key;
use crate::key_set::KeySet;
use crate::shard_map::{Sequences, ShardMap, Strategy, defects};
use crate::table::TableName;
use std::collections::{BTreeMap, BTreeSet};

/// How many differences a text names.
const NAMED: usize = 5;

/// All defects of a map, from the map itself and the parts that are there; same parts, same defects.
#[must_use]
pub fn combine(map: &ShardMap, fleet: &[ShardInfo], parts: &[Checked]) -> Vec<Defect> {
    let mut parts: Vec<&Checked> = parts.iter().collect();
    parts.sort_by(|a, b| a.shard.cmp(&b.shard));
    let seen = Answers { map, parts };
    let mut found = defects(map, fleet);
    for gap in found.iter_mut() {
        gap.mend = seen.mend_of_map(gap);
    }
    found.extend(seen.misplaced());
    found.extend(seen.reference());
    found.extend(seen.schema());
    found.extend(seen.guards());
    found.extend(seen.sequences(fleet));
    found
}

struct Answers<'a> {
    map: &'a ShardMap,
    parts: Vec<&'a Checked>,
}

impl<'a> Answers<'a> {
    fn rows(&self) -> impl Iterator<Item = (&'a ShardName, &'a RowsSeen)> {
        self.parts.iter().filter_map(|part| match &part.seen {
            Seen::Rows(rows) => Some((&part.shard, rows)),
            Seen::Schema { .. }
            | Seen::Reference { .. }
            | Seen::Guards { .. }
            | Seen::Sequences { .. }
            | Seen::Present { .. } => None,
        })
    }

    /// What would mend a defect that the map itself has.
    fn mend_of_map(&self, defect: &Defect) -> Option<Mend> {
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
            | DefectKind::SequenceOverlap => None,
        }
    }

    /// Keys that nobody owns go to the only shard that has rows of them; without rows to the neighbour's.
    fn map_keys(&self, keys: KeySet) -> Mend {
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
            (Some(only), None) => Mend::MapKeys {
                keys,
                shard: only.clone(),
            },
            (None, _) => match self.neighbour(&keys) {
                Some(shard) => Mend::MapKeys { keys, shard },
                None => by_hand(format!("map {keys} to a shard")),
            },
            (Some(_), Some(_)) => by_hand(format!(
                "several shards have rows of {keys}: decide which shard owns them, map them there, then check again"
            )),
        }
    }

    /// The owner of the keys right before these, or of the first keys.
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

    fn present(&self) -> BTreeMap<&'a ShardName, BTreeSet<&'a Key>> {
        let mut present: BTreeMap<&ShardName, BTreeSet<&Key>> = BTreeMap::new();
        for part in &self.parts {
            if let Seen::Present { keys } = &part.seen {
                let there = present.entry(&part.shard).or_default();
                there.extend(
                    keys.iter()
                        .filter(|found| found.rows > 0)
                        .map(|found| &found.key),
                );
            }
        }
        present
    }

    /// Keys that the owner has too are on two shards; the others are only on the wrong one.
    fn strays(
        &self,
        shard: &ShardName,
        rows: &RowsSeen,
        present: &BTreeMap<&ShardName, BTreeSet<&Key>>,
    ) -> Vec<Defect> {
        let mut twice: BTreeMap<&ShardName, Vec<&KeyRows>> = BTreeMap::new();
        let mut once: BTreeMap<&ShardName, Vec<&KeyRows>> = BTreeMap::new();
        for found in &rows.stray_keys {
            let Some(owner) = self.map.locate(&found.key).map(|mapping| &mapping.shard) else {
                continue;
            };
            let there = present
                .get(owner)
                .is_some_and(|keys| keys.contains(&found.key));
            let group = if there { &mut twice } else { &mut once };
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
            defect.mend = Some(Mend::DeleteStray {
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
            defect.mend = Some(by_hand(format!(
                "shard {owner} owns keys whose rows of {} are on shard {shard} alone: copy the rows there, or delete them",
                rows.table
            )));
            defects.push(defect);
        }
        defects
    }

    fn unmapped(&self, shard: &ShardName, rows: &RowsSeen) -> Defect {
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
        let mend = match (self.map.strategy, gap) {
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
            mend: Some(mend),
        }
    }

    fn reference(&self) -> Vec<Defect> {
        let mut tables: BTreeMap<&str, Vec<(&ShardName, &ReferenceSeen)>> = BTreeMap::new();
        for part in &self.parts {
            if let Seen::Reference { tables: seen } = &part.seen {
                for table in seen {
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
                .map(|(_, seen)| seen.digest.as_str())
                .collect();
            let Some(right) = most_common(&digests).map(|index| shards[index]) else {
                continue;
            };
            for (shard, seen) in shards
                .iter()
                .filter(|(_, seen)| seen.digest != right.1.digest)
            {
                found.push(Defect {
                    kind: DefectKind::ReferenceDrift,
                    shards: vec![(*shard).clone(), right.0.clone()],
                    object: format!("shard {shard}, table {table}"),
                    detail: format!(
                        "{} row(s) here, {} on shard {}, and they differ",
                        seen.rows, right.1.rows, right.0
                    ),
                    count: seen.rows.abs_diff(right.1.rows).max(1),
                    sample: Vec::new(),
                    mend: Some(Mend::CopyReference {
                        table: TableName::parse(table),
                        from: right.0.clone(),
                        to: (*shard).clone(),
                        from_digest: right.1.digest.clone(),
                        to_digest: seen.digest.clone(),
                    }),
                });
            }
        }
        found
    }

    fn schema(&self) -> Vec<Defect> {
        let mut tables: BTreeMap<&str, Vec<(&ShardName, &TableSeen)>> = BTreeMap::new();
        for part in &self.parts {
            if let Seen::Schema { tables: seen } = &part.seen {
                for table in seen {
                    tables
                        .entry(&table.table)
                        .or_default()
                        .push((&part.shard, table));
                }
            }
        }
        let mut found = Vec::new();
        for (table, shards) in tables {
            let facts: Vec<_> = shards.iter().map(|(_, seen)| &seen.facts).collect();
            let Some((norm, right)) = most_common(&facts).map(|index| shards[index]) else {
                continue;
            };
            for (shard, seen) in shards.iter().filter(|(_, seen)| seen.facts != right.facts) {
                let differences = schema_differences(
                    (shard.as_str(), seen.facts.as_slice()),
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
                    mend: Some(by_hand(format!(
                        "make table {table} on shard {shard} as it is on shard {norm}"
                    ))),
                });
            }
        }
        found
    }

    fn guards(&self) -> Vec<Defect> {
        let mut found = Vec::new();
        for part in &self.parts {
            if let Seen::Guards { broken } = &part.seen {
                found.extend(broken.iter().map(|seen| guard(&part.shard, seen)));
            }
        }
        found
    }

    fn sequences(&self, fleet: &[ShardInfo]) -> Vec<Defect> {
        if self.map.settings.sequences == Sequences::Keep {
            return Vec::new();
        }
        let mut sequences: BTreeMap<&str, Vec<(&ShardName, &SequenceSeen)>> = BTreeMap::new();
        for part in &self.parts {
            if let Seen::Sequences { sequences: seen } = &part.seen {
                for sequence in seen {
                    let all = sequences.entry(&sequence.name).or_default();
                    all.push((&part.shard, sequence));
                }
            }
        }
        let numbers: BTreeMap<&ShardName, i32> = fleet
            .iter()
            .map(|shard| (&shard.name, shard.number))
            .collect();
        let mut found = Vec::new();
        for shards in sequences.values() {
            for (index, (shard, one)) in shards.iter().enumerate() {
                for (other, two) in &shards[index + 1..] {
                    let first = self.bounded(one, numbers.get(shard));
                    let second = self.bounded(two, numbers.get(other));
                    let Some(value) = overlap(&first, &second) else {
                        continue;
                    };
                    let pair = [(*shard, *one), (*other, *two)];
                    let mut culprits: Vec<_> = pair
                        .into_iter()
                        .filter(|(shard, seen)| self.astray(seen, numbers.get(shard)))
                        .collect();
                    if culprits.is_empty() {
                        culprits.push(pair[1]);
                    }
                    for culprit in culprits {
                        found.push(shared(value, (*shard, *other), culprit, shards));
                    }
                }
            }
        }
        found
    }

    /// The sequence as far as it goes: a block ends before the next shard's begins.
    fn bounded(&self, sequence: &SequenceSeen, number: Option<&i32>) -> SequenceSeen {
        let mut bounded = sequence.clone();
        if self.map.settings.sequences == Sequences::Block && !self.astray(sequence, number) {
            let next = (sequence.last >> BLOCK_BITS) + 1;
            bounded.max = bounded.max.min((next << BLOCK_BITS) - 1);
        }
        bounded
    }

    /// Whether the sequence does not issue values of its shard's own.
    fn astray(&self, sequence: &SequenceSeen, number: Option<&i32>) -> bool {
        let Some(number) = number.copied().map(i64::from) else {
            return true;
        };
        match self.map.settings.sequences {
            Sequences::Stride => {
                sequence.increment.abs() != STRIDE
                    || sequence.last.rem_euclid(STRIDE) != number.rem_euclid(STRIDE)
            }
            Sequences::Block => sequence.last >> BLOCK_BITS != number,
            Sequences::Keep => false,
        }
    }
}

fn by_hand(advice: String) -> Mend {
    Mend::ByHand { advice }
}

fn misplaced(
    kind: DefectKind,
    shard: &ShardName,
    owner: &ShardName,
    rows: &RowsSeen,
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
            .take(SAMPLE)
            .map(|found| found.key.clone())
            .collect(),
        mend: None,
    }
}

fn guard(shard: &ShardName, seen: &GuardSeen) -> Defect {
    Defect {
        kind: DefectKind::GuardMissing,
        shards: vec![shard.clone()],
        object: format!("shard {shard}, table {}", seen.table),
        detail: format!(
            "{}; writes to {} are not refused as they should be",
            seen.problem, seen.keys
        ),
        count: 1,
        sample: Vec::new(),
        mend: Some(Mend::RecreateGuard {
            shard: shard.clone(),
            table: seen.table.clone(),
        }),
    }
}

/// Shards that can share out a sequence by its remainder.
const STRIDE: i64 = 64;
/// A shard's block of values begins at its number, shifted by so many bits.
const BLOCK_BITS: u32 = 40;

fn shared(
    value: i64,
    (shard, other): (&ShardName, &ShardName),
    (culprit, sequence): (&ShardName, &SequenceSeen),
    all: &[(&ShardName, &SequenceSeen)],
) -> Defect {
    let issued = all.iter().map(|(_, seen)| seen.last);
    let past = if sequence.increment > 0 {
        issued.max()
    } else {
        issued.min()
    };
    Defect {
        kind: DefectKind::SequenceOverlap,
        shards: vec![shard.clone(), other.clone()],
        object: format!("sequence {}", sequence.name),
        detail: format!("shards {shard} and {other} would both issue {value}"),
        count: 1,
        sample: Vec::new(),
        mend: Some(Mend::Restride {
            shard: culprit.clone(),
            sequence: sequence.name.clone(),
            increment: sequence.increment,
            past: past.unwrap_or(sequence.last),
        }),
    }
}

/// The index of the first of the values that occur most often.
fn most_common<T: PartialEq>(values: &[T]) -> Option<usize> {
    let count = |value: &T| values.iter().filter(|other| *other == value).count();
    (0..values.len()).max_by_key(|index| (count(&values[*index]), values.len() - index))
}
