//! Sequences.

use super::{Code, Note, Warning};

pub(super) const CODES: &[Code] = &[
    Code {
        sw: "SW0701",
        name: "target.sequence",
        severity: Note,
        title: "Both shards have the sequence",
        wrong: "From the flip on both draw values from their own one.",
        mend: "shardwright map set MAP --sequences stride, block or keep",
    },
    Code {
        sw: "SW0702",
        name: "sequence.shared",
        severity: Note,
        title: "Several columns draw from one sequence",
        wrong: "Their values are apart on one shard. Between shards they stay so only if the map shares sequences out.",
        mend: "shardwright map set MAP --sequences stride",
    },
    Code {
        sw: "SW0703",
        name: "sequence.cycle",
        severity: Warning,
        title: "A sequence cycles",
        wrong: "It issues values again that are on this or another shard.",
        mend: "alter sequence ... no cycle",
    },
    Code {
        sw: "SW0704",
        name: "sequence.step",
        severity: Warning,
        title: "A sequence counts by another step than 1",
        wrong: "It cannot be shared out by stride, so two shards may issue the same value.",
        mend: "shardwright map set MAP --sequences block, which needs bigint; or, where nothing reserves ranges of values by the step: alter sequence ... increment by 1. An allocator that takes 50 values with each nextval would then give some of them out twice.",
    },
    Code {
        sw: "SW0705",
        name: "sequence.short",
        severity: Warning,
        title: "A sequence is near its end",
        wrong: "Shared out by stride it goes on in steps of 64 and ends all the sooner; then inserts fail.",
        mend: "alter table ... alter column ... type bigint; alter sequence ... as bigint",
    },
];
