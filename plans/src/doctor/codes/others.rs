//! What runs beside a write, and who else reads or writes by logical replication.

use super::{Code, Refused, Warning};

pub(super) const CODES: &[Code] = &[
    Code {
        sw: "SW0901",
        name: "trigger.always",
        severity: Refused,
        title: "A trigger fires for replicated changes too",
        wrong: "What it does was done on the source and is done once more on the target.",
        mend: "alter table ... enable trigger ...; it then fires for the application's writes only. One that was enabled as replica never fired for those: alter table ... disable trigger ...",
    },
    Code {
        sw: "SW0902",
        name: "rule.always",
        severity: Refused,
        title: "A rule acts on replicated changes too",
        wrong: "Changes would be rewritten on the target.",
        mend: "alter table ... enable rule ...; it then acts on the application's writes only. One that was enabled as replica never acted on those: alter table ... disable rule ...",
    },
    Code {
        sw: "SW0903",
        name: "trigger.event",
        severity: Warning,
        title: "An event trigger fires at changes of definitions",
        wrong: "It runs for what a move creates and drops as well, and may refuse it.",
        mend: "alter event trigger ... disable; for the time of the move",
    },
    Code {
        sw: "SW0904",
        name: "code.untrusted",
        severity: Refused,
        title: "Code of somebody who is not trusted would run with the privileges of the agents",
        wrong: "A check constraint, a domain, a generated column, an index, extended statistics, a partition key or a cast calls a function. PostgreSQL runs it with the rights of whoever writes or reads the row, which is the agents' role, and the function's owner can change it at any time.",
        mend: "Write it without that function. Or, if its owner may do whatever the agents' role may, trust that owner: psql ... -v owner=... -v trust=on -f docs/grants.sql, on both shards.",
    },
    Code {
        sw: "SW0911",
        name: "publication.all_tables",
        severity: Warning,
        title: "A publication has all tables",
        wrong: "Its subscribers get arriving rows as inserts and removed ones as deletes, and our own tables too.",
        mend: "In one transaction, so that no change between the two is decoded without it: begin; drop publication ...; create publication ... for table ...; commit; then on each subscriber: alter subscription ... refresh publication",
    },
    Code {
        sw: "SW0912",
        name: "publication.table",
        severity: Warning,
        title: "A table is published to others",
        wrong: "Their subscribers get arriving rows as inserts and removed ones as deletes, as if the application had written them.",
        mend: "Let them tell moved rows from new ones, for example by the source that they come from.",
    },
    Code {
        sw: "SW0913",
        name: "subscription.present",
        severity: Warning,
        title: "A subscription writes into the database",
        wrong: "The guard refuses what it writes to moved keys, and the subscription stops.",
        mend: "alter subscription ... disable; for the time of the move",
    },
];
