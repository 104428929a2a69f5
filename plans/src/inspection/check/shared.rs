//! Finds sequences of which two shards would issue the same values.

use super::combine::CheckResults;
use super::{Defect, DefectKind, ObservedSequence, Repair, SubjectResult, overlap};
use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::shard_map::Sequences;
use std::collections::BTreeMap;

/// The number of shards that can share a sequence by remainders.
const STRIDE: i64 = 64;
/// A shard's block of values begins at its number, shifted by this many bits.
const BLOCK_BITS: u32 = 40;

impl CheckResults<'_> {
    /// Returns pairs of shards that would issue the same value, with a repair.
    pub(super) fn sequence_overlaps(&self, fleet: &[ShardInfo]) -> Vec<Defect> {
        if self.map.settings.sequences == Sequences::Keep {
            return Vec::new();
        }
        let mut sequences: BTreeMap<&str, Vec<(&ShardName, &ObservedSequence)>> = BTreeMap::new();
        for result in &self.results {
            if let SubjectResult::Sequences {
                sequences: observed,
            } = &result.result
            {
                for sequence in observed {
                    let all = sequences.entry(&sequence.name).or_default();
                    all.push((&result.shard, sequence));
                }
            }
        }
        let numbers: BTreeMap<&ShardName, i32> = fleet
            .iter()
            .map(|shard| (&shard.name, shard.number))
            .collect();
        let mut found = Vec::new();
        for shards in sequences.values() {
            for (index, (shard, sequence)) in shards.iter().enumerate() {
                for (other, other_sequence) in &shards[index + 1..] {
                    let first = self.within_block(sequence, numbers.get(shard));
                    let second = self.within_block(other_sequence, numbers.get(other));
                    let Some(value) = overlap(&first, &second) else {
                        continue;
                    };
                    let pair = [(*shard, *sequence), (*other, *other_sequence)];
                    let mut to_repair: Vec<_> = pair
                        .into_iter()
                        .filter(|(shard, observed)| {
                            self.issues_foreign_values(observed, numbers.get(shard))
                        })
                        .collect();
                    if to_repair.is_empty() {
                        to_repair.push(pair[1]);
                    }
                    for repaired in to_repair {
                        found.push(overlap_defect(value, (*shard, *other), repaired, shards));
                    }
                }
            }
        }
        found
    }

    /// Returns the sequence with the end of its shard's block as its limit.
    fn within_block(&self, sequence: &ObservedSequence, number: Option<&i32>) -> ObservedSequence {
        let mut bounded = sequence.clone();
        if self.map.settings.sequences == Sequences::Block
            && !self.issues_foreign_values(sequence, number)
        {
            let next = (sequence.last >> BLOCK_BITS) + 1;
            bounded.max = bounded.max.min((next << BLOCK_BITS) - 1);
        }
        bounded
    }

    /// Returns whether the sequence issues values that do not belong to its shard.
    fn issues_foreign_values(&self, sequence: &ObservedSequence, number: Option<&i32>) -> bool {
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

/// Returns the defect of two shards that would issue `value`, with the repair of one sequence.
fn overlap_defect(
    value: i64,
    (shard, other): (&ShardName, &ShardName),
    (repaired_shard, sequence): (&ShardName, &ObservedSequence),
    all: &[(&ShardName, &ObservedSequence)],
) -> Defect {
    let issued = all.iter().map(|(_, observed)| observed.last);
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
        repair: Some(Repair::Restride {
            shard: repaired_shard.clone(),
            sequence: sequence.name.clone(),
            increment: sequence.increment,
            past: past.unwrap_or(sequence.last),
        }),
    }
}
