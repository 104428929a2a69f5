//! How rows are tied to the shard key.

use super::{FindingCode, Refused};

pub(super) const CODES: &[FindingCode] = &[
    FindingCode {
        sw: "SW0501",
        name: "key.untied",
        severity: Refused,
        title: "The map does not define how a table belongs to the shard key",
        wrong: "The agent cannot distinguish the rows that move from those that stay.",
        remedy: "In the settings of the map, name the columns of the key, or the parent and the columns under `through`.",
    },
    FindingCode {
        sw: "SW0502",
        name: "key.missing",
        severity: Refused,
        title: "A key column does not exist",
        wrong: "The agent cannot distinguish the rows that move from those that stay.",
        remedy: "Correct the column in the settings of the map.",
    },
    FindingCode {
        sw: "SW0503",
        name: "key.type",
        severity: Refused,
        title: "A key column has a different type than the key of the map",
        wrong: "Equal keys would not compare as equal, or keys would sort in a different order.",
        remedy: "Run `alter table ... alter column ... type ...`, or create the map with the type of the column.",
    },
    FindingCode {
        sw: "SW0504",
        name: "key.null",
        severity: Refused,
        title: "A key column may be null",
        wrong: "A row without a key belongs to no shard.",
        remedy: "Run `alter table ... alter column ... set not null`.",
    },
    FindingCode {
        sw: "SW0505",
        name: "key.identity",
        severity: Refused,
        title: "A key column is not part of what identifies rows",
        wrong: "The agent would capture a deleted row without its key. Once the table is published with a row filter, the application's own updates fail.",
        remedy: "Run `create unique index concurrently ... on ... (key, ...); alter table ... replica identity using index ...`. The primary key stays as it is.",
    },
    FindingCode {
        sw: "SW0506",
        name: "key.encoding",
        severity: Refused,
        title: "Keys are text and the encoding of the database is not UTF8",
        wrong: "Shardwright compares and hashes keys by their bytes in UTF-8. The server would use the bytes of its own encoding.",
        remedy: "Create a database that is encoded in UTF8: `create database ... encoding 'UTF8' template template0`.",
    },
    FindingCode {
        sw: "SW0507",
        name: "key.generated",
        severity: Refused,
        title: "A key column is generated",
        wrong: "The server sends changes without generated columns, and cannot filter changes by them.",
        remedy: "Run `alter table ... alter column ... drop expression`. From then on the application must write the column, or its inserts leave the key null. If the column is virtual, drop it instead, then add and fill an ordinary column of the same name.",
    },
    FindingCode {
        sw: "SW0508",
        name: "key.collation",
        severity: Refused,
        title: "The collation of a key column treats different texts as equal",
        wrong: "With a nondeterministic collation, the server may treat 'A' and 'a' as one key. The map treats them as two keys.",
        remedy: "Run `alter table ... alter column ... type text collate \"C\"`.",
    },
];
