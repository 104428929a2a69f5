//! Sequences.

use super::{FindingCode, Note, Warning};

pub(super) const CODES: &[FindingCode] = &[
    FindingCode {
        sw: "SW0701",
        name: "target.sequence",
        severity: Note,
        title: "Both shards have the sequence",
        wrong: "From the flip on, each shard draws values from its own sequence.",
        remedy: "Choose a setting for the map: `shardwright map set MAP --sequences stride`, `block` or `keep`.",
    },
    FindingCode {
        sw: "SW0702",
        name: "sequence.shared",
        severity: Note,
        title: "Several columns draw values from one sequence",
        wrong: "The values are distinct on one shard. They are distinct across shards only if the map divides its sequences among the shards.",
        remedy: "Run `shardwright map set MAP --sequences stride`.",
    },
    FindingCode {
        sw: "SW0703",
        name: "sequence.cycle",
        severity: Warning,
        title: "A sequence cycles",
        wrong: "The sequence issues values again that rows on this or another shard already have.",
        remedy: "Run `alter sequence ... no cycle`.",
    },
    FindingCode {
        sw: "SW0704",
        name: "sequence.step",
        severity: Warning,
        title: "A sequence has an increment other than 1",
        wrong: "Shardwright cannot divide the sequence by stride, so two shards may issue the same value.",
        remedy: "Run `shardwright map set MAP --sequences block`, which needs bigint. If nothing reserves ranges of values by the increment, `alter sequence ... increment by 1` is also possible. An allocator that takes 50 values with each nextval would then issue some of them twice.",
    },
    FindingCode {
        sw: "SW0705",
        name: "sequence.short",
        severity: Warning,
        title: "A sequence is near its end",
        wrong: "If the map divides the sequence by stride, it continues in steps of 64 and reaches its end even sooner. Inserts then fail.",
        remedy: "Run `alter table ... alter column ... type bigint; alter sequence ... as bigint`.",
    },
];
