//! How rows are tied to the shard key.

use super::{Code, Refused};

pub(super) const CODES: &[Code] = &[
    Code {
        sw: "SW0501",
        name: "key.untied",
        severity: Refused,
        title: "How a table belongs to the key is not known",
        wrong: "Its rows cannot be told from those that stay.",
        mend: "Name the columns, or the parent and the columns under `through`, in the map's settings.",
    },
    Code {
        sw: "SW0502",
        name: "key.missing",
        severity: Refused,
        title: "A key column does not exist",
        wrong: "Its rows cannot be told from those that stay.",
        mend: "Correct the column in the map's settings.",
    },
    Code {
        sw: "SW0503",
        name: "key.type",
        severity: Refused,
        title: "A key column has another type than the map's key",
        wrong: "The same key would not compare equal, or in another order.",
        mend: "alter table ... alter column ... type ...; or make the map with the column's type",
    },
    Code {
        sw: "SW0504",
        name: "key.null",
        severity: Refused,
        title: "A key column may be null",
        wrong: "A row without a key belongs to no shard.",
        mend: "alter table ... alter column ... set not null",
    },
    Code {
        sw: "SW0505",
        name: "key.identity",
        severity: Refused,
        title: "A key column is not part of what identifies rows",
        wrong: "A deleted row would be captured without its key, and the application's own updates fail once the table is published with a row filter.",
        mend: "create unique index concurrently ... on ... (key, ...); alter table ... replica identity using index .... The primary key stays as it is.",
    },
    Code {
        sw: "SW0506",
        name: "key.encoding",
        severity: Refused,
        title: "Keys are text and the database is not UTF-8",
        wrong: "Keys are compared and hashed by the bytes of UTF-8; the server would do it by other bytes.",
        mend: "create database ... encoding 'UTF8' template template0",
    },
    Code {
        sw: "SW0507",
        name: "key.generated",
        severity: Refused,
        title: "A key column is generated",
        wrong: "Changes are sent without generated columns and cannot be filtered by them.",
        mend: "alter table ... alter column ... drop expression; the application has to write the column from then on, or its inserts leave the key null. A virtual column is dropped, and a plain one of its name is added and filled.",
    },
    Code {
        sw: "SW0508",
        name: "key.collation",
        severity: Refused,
        title: "A key column takes different texts for equal",
        wrong: "With a collation that is not deterministic 'A' and 'a' may be one key for the server and two for the map.",
        mend: "alter table ... alter column ... type text collate \"C\"",
    },
];
