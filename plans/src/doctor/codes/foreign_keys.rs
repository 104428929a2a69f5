//! Foreign keys, and tables that belong to others.

use super::{Code, Note, Refused, Warning};

pub(super) const CODES: &[Code] = &[
    Code {
        sw: "SW0601",
        name: "foreign_key.leaves",
        severity: Refused,
        title: "A table that stays is joined to tables that move",
        wrong: "Rows would refer to rows on another shard.",
        mend: "List it under `tables`, `through` or `reference`, as the finding says; or: alter table ... drop constraint ...",
    },
    Code {
        sw: "SW0602",
        name: "foreign_key.reference",
        severity: Refused,
        title: "A reference table refers to rows that are not on every shard",
        wrong: "Every shard has its rows, but not those that they refer to.",
        mend: "List it as sharded, or the table that it refers to under `reference` too; or: alter table ... drop constraint ...",
    },
    Code {
        sw: "SW0603",
        name: "foreign_key.across",
        severity: Refused,
        title: "Rows refer to rows that do not move with them",
        wrong: "The foreign key cannot be built on the target after the copy, and rows that stay lose what they refer to.",
        mend: "alter table ... drop constraint ...; or give both rows the same key",
    },
    Code {
        sw: "SW0604",
        name: "foreign_key.loose",
        severity: Note,
        title: "Foreign keys do not hold the shard key",
        wrong: "Nothing but the application keeps a row and the one that it refers to on the same shard.",
        mend: "alter table ... add foreign key (key, ...) references ... (key, ...); or leave it to the application",
    },
    Code {
        sw: "SW0605",
        name: "foreign_key.not_valid",
        severity: Warning,
        title: "A foreign key was never checked",
        wrong: "Rows without a parent may be there, and the foreign key cannot be validated on the target.",
        mend: "alter table ... validate constraint ...; where it is not enforced: alter table ... alter constraint ... enforced",
    },
    Code {
        sw: "SW0606",
        name: "foreign_key.mixed",
        severity: Warning,
        title: "Rows refer to rows of another key",
        wrong: "A move that takes one of the two keys and leaves the other is refused.",
        mend: "alter table ... drop constraint ...; or give both rows the same key",
    },
    Code {
        sw: "SW0611",
        name: "through.online",
        severity: Refused,
        title: "A table without the key is to move online",
        wrong: "Its changes cannot be told by key: a row filter does not look at other tables.",
        mend: "Add the key column to it, or move with `mode: offline`.",
    },
    Code {
        sw: "SW0612",
        name: "through.orphan",
        severity: Refused,
        title: "Rows without a parent",
        wrong: "They have no key, so they belong to no shard.",
        mend: "Give them a parent; or, if nothing needs them: delete from ... where ... is not null and not exists (...)",
    },
    Code {
        sw: "SW0613",
        name: "through.unkeyed",
        severity: Warning,
        title: "Rows that refer to no parent",
        wrong: "They have no key: no move takes them, and they stay on the shard where they are.",
        mend: "Nothing where they may stay; else give them a parent.",
    },
];
