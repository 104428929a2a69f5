//! What stands on a live target already.

use super::{Code, Refused, Warning};

pub(super) const CODES: &[Code] = &[
    Code {
        sw: "SW1001",
        name: "target.partly",
        severity: Refused,
        title: "The target has some of the tables",
        wrong: "It is neither empty nor a shard of this map.",
        mend: "Create the missing tables as they are on the source, or choose an empty database.",
    },
    Code {
        sw: "SW1002",
        name: "target.schema",
        severity: Refused,
        title: "A table on the target differs",
        wrong: "Rows may not fit, or be stored in another way.",
        mend: "Make both definitions the same, columns in the same order.",
    },
    Code {
        sw: "SW1003",
        name: "target.stray",
        severity: Refused,
        title: "Rows of the moving keys are on the target",
        wrong: "They would be mixed with those that come.",
        mend: "shardwright map check MAP tells where they come from and what mends them",
    },
    Code {
        sw: "SW1004",
        name: "target.clash",
        severity: Refused,
        title: "Rows of both shards have the same unique value",
        wrong: "The moving rows could not be written.",
        mend: "Change or delete one row of each pair, or add the key's columns to the constraint.",
    },
    Code {
        sw: "SW1005",
        name: "target.clash_unknown",
        severity: Refused,
        title: "A constraint of which clashes cannot be told",
        wrong: "Moving rows may not fit beside those of the target.",
        mend: "Add the key's columns to the constraint, or drop it for the time of the move.",
    },
    Code {
        sw: "SW1006",
        name: "reference.drift",
        severity: Warning,
        title: "A reference table drifted",
        wrong: "Rows that refer to it find other rows on the other shard.",
        mend: "shardwright map check MAP --request FILE, then shardwright map mend FILE",
    },
    Code {
        sw: "SW1007",
        name: "target.absent",
        severity: Refused,
        title: "The target has none of the tables",
        wrong: "The request says schema: existing, so none is created.",
        mend: "Run your migrations on the target, or say schema: copy.",
    },
    Code {
        sw: "SW1008",
        name: "schema.uncarried",
        severity: Refused,
        title: "The schema has objects that cannot be written from the catalog",
        wrong: "They would be missing on the target.",
        mend: "Install pg_dump of the source's major version beside the agent; or create the schema there yourself, and say schema: existing.",
    },
    Code {
        sw: "SW1009",
        name: "schema.cycle",
        severity: Refused,
        title: "Objects of the schema need each other",
        wrong: "There is no order in which they could be created on the target from the catalog.",
        mend: "Install pg_dump of the source's major version beside the agent; or create the schema there yourself, and say schema: existing.",
    },
];
