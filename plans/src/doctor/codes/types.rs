//! Types whose values are valid only on their own server.

use super::{FindingCode, Refused, Warning};

pub(super) const CODES: &[FindingCode] = &[
    FindingCode {
        sw: "SW1201",
        name: "type.reg",
        severity: Refused,
        title: "A column identifies objects of its database",
        wrong: "Values of regclass, regproc and similar types are numbers of objects in this database. On the target they identify other objects, or none.",
        remedy: "Run `alter table ... alter column ... type text`.",
    },
    FindingCode {
        sw: "SW1202",
        name: "type.transaction",
        severity: Refused,
        title: "A column identifies transactions or row positions of its server",
        wrong: "Values of the types xid, cid and tid mean nothing on another server. The server itself reuses some of them.",
        remedy: "Run `alter table ... alter column ... type bigint using ...::text::bigint`. For a column of type tid, use `type text` instead.",
    },
    FindingCode {
        sw: "SW1203",
        name: "type.internal",
        severity: Refused,
        title: "A column contains values that only its server may write",
        wrong: "The server refuses values of pg_node_tree, pg_mcv_list and similar types as input. The agent therefore cannot write them on the target.",
        remedy: "Run `alter table ... alter column ... type text`.",
    },
    FindingCode {
        sw: "SW1204",
        name: "type.large_object",
        severity: Refused,
        title: "A column identifies large objects",
        wrong: "Large objects have no shard key, and the change stream does not contain their changes. The rows would arrive on the target without the objects.",
        remedy: "Store the bytes in a column: `alter table ... add column ... bytea; update ... set ... = lo_get(...)`. Then drop the old column.",
    },
    FindingCode {
        sw: "SW1211",
        name: "type.oid",
        severity: Warning,
        title: "A column contains OIDs",
        wrong: "The agent moves an OID as a number. If the number identifies a large object or a row of the catalog, it identifies a different one, or none, on the target.",
        remedy: "If the number does not identify an object, no change is needed. Otherwise store a name, or the bytes of the large object as bytea.",
    },
    FindingCode {
        sw: "SW1212",
        name: "type.position",
        severity: Warning,
        title: "A column contains log positions or transaction counts of its server",
        wrong: "The agent moves values of the types pg_lsn, xid8 and pg_snapshot unchanged. The target has other log positions and another transaction count, so comparisons with them give wrong results.",
        remedy: "If the application only keeps the values, no change is needed. Otherwise make it order rows by a sequence or a time.",
    },
];
