//! Types whose values mean something on their own server only.

use super::{Code, Refused, Warning};

pub(super) const CODES: &[Code] = &[
    Code {
        sw: "SW1201",
        name: "type.reg",
        severity: Refused,
        title: "A column names objects of its database",
        wrong: "Its values (regclass, regproc and their like) are numbers of this database; on the target they name other objects or none.",
        mend: "alter table ... alter column ... type text",
    },
    Code {
        sw: "SW1202",
        name: "type.transaction",
        severity: Refused,
        title: "A column holds transactions or places of its server",
        wrong: "Its values (xid, cid, tid) mean nothing on another server, and some come round again on this one.",
        mend: "alter table ... alter column ... type bigint using ...::text::bigint; or type text for tid",
    },
    Code {
        sw: "SW1203",
        name: "type.internal",
        severity: Refused,
        title: "A column holds what only its server may write",
        wrong: "The server refuses values of this type as input (pg_node_tree, pg_mcv_list and their like), so they cannot be written on the target.",
        mend: "alter table ... alter column ... type text",
    },
    Code {
        sw: "SW1204",
        name: "type.large_object",
        severity: Refused,
        title: "A column names large objects",
        wrong: "Large objects have no shard key and their changes are not in the stream: the rows would arrive and the objects would not.",
        mend: "Keep the bytes in a column: alter table ... add column ... bytea; update ... set ... = lo_get(...); then drop the old column.",
    },
    Code {
        sw: "SW1211",
        name: "type.oid",
        severity: Warning,
        title: "A column holds numbers of objects",
        wrong: "An oid is carried as the number that it is; if it names a large object or a row of the catalog, it names another one, or none, on the target.",
        mend: "Nothing, if the number stands for itself; else store a name, or the bytes of the large object as bytea.",
    },
    Code {
        sw: "SW1212",
        name: "type.position",
        severity: Warning,
        title: "A column holds positions in the server's log or its count of transactions",
        wrong: "The values (pg_lsn, xid8, pg_snapshot) are carried as they are, but the target's log and count stand elsewhere: comparing them with its own gives wrong answers.",
        mend: "Nothing, if they are only kept; else let the application order by a sequence or a time.",
    },
];
