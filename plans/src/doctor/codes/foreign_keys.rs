//! Foreign keys, and tables that refer to other tables.

use super::{FindingCode, Note, Refused, Warning};

pub(super) const CODES: &[FindingCode] = &[
    FindingCode {
        sw: "SW0601",
        name: "foreign_key.leaves",
        severity: Refused,
        title: "Foreign keys connect a table that stays with tables that move",
        wrong: "Rows would refer to rows on another shard.",
        remedy: "List the table under `tables`, `through` or `reference`, as the finding states. Or run `alter table ... drop constraint ...`.",
    },
    FindingCode {
        sw: "SW0602",
        name: "foreign_key.reference",
        severity: Refused,
        title: "A reference table refers to rows that are not on every shard",
        wrong: "Every shard has the rows of the reference table, but not the rows that they refer to.",
        remedy: "List the table as sharded, or list the table that it refers to under `reference` too. Or run `alter table ... drop constraint ...`.",
    },
    FindingCode {
        sw: "SW0603",
        name: "foreign_key.across",
        severity: Refused,
        title: "Rows refer to rows that do not move with them",
        wrong: "The agent cannot create the foreign key on the target after the copy. Rows that stay lose the rows that they refer to.",
        remedy: "Run `alter table ... drop constraint ...`, or give both rows the same key.",
    },
    FindingCode {
        sw: "SW0604",
        name: "foreign_key.loose",
        severity: Note,
        title: "Foreign keys do not contain the shard key",
        wrong: "Only the application keeps a row and the row that it refers to on the same shard.",
        remedy: "Run `alter table ... add foreign key (key, ...) references ... (key, ...)`, or rely on the application.",
    },
    FindingCode {
        sw: "SW0605",
        name: "foreign_key.not_valid",
        severity: Warning,
        title: "A foreign key was never validated",
        wrong: "The table may have rows without a parent. The agent then cannot validate the foreign key on the target.",
        remedy: "Run `alter table ... validate constraint ...`. If the foreign key is not enforced, run `alter table ... alter constraint ... enforced`.",
    },
    FindingCode {
        sw: "SW0606",
        name: "foreign_key.mixed",
        severity: Warning,
        title: "Rows refer to rows of another key",
        wrong: "A plan refuses a move that takes one of the two keys and leaves the other.",
        remedy: "Run `alter table ... drop constraint ...`, or give both rows the same key.",
    },
    FindingCode {
        sw: "SW0611",
        name: "through.online",
        severity: Refused,
        title: "The changes of a table without the shard key cannot be assigned to keys",
        wrong: "A row filter cannot read other tables, so the agent looks up the parent of each changed row. It can do so only if a validated foreign key proves that the parent exists, and if a primary key identifies the row.",
        remedy: "Run `alter table ... add foreign key ... references ...`. Or add the key column to the table, or move it with `mode: offline`.",
    },
    FindingCode {
        sw: "SW0612",
        name: "through.orphan",
        severity: Refused,
        title: "Rows refer to a parent that does not exist",
        wrong: "The rows have no key, so they belong to no shard.",
        remedy: "Give the rows a parent. Or, if nothing needs them, run `delete from ... where ... is not null and not exists (...)`.",
    },
    FindingCode {
        sw: "SW0613",
        name: "through.unkeyed",
        severity: Warning,
        title: "Rows refer to no parent",
        wrong: "The rows have no key. No move takes them, so they stay on the shard where they are.",
        remedy: "If the rows may stay there, no change is needed. Otherwise give them a parent.",
    },
];
