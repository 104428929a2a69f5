//! Activity that is affected by moves: concurrent jobs, and other users of logical replication.

use super::{FindingCode, Refused, Warning};

pub(super) const CODES: &[FindingCode] = &[
    FindingCode {
        sw: "SW0901",
        name: "trigger.always",
        severity: Refused,
        title: "A trigger also fires for replicated changes",
        wrong: "The trigger has run on the source, and would run again on the target.",
        remedy: "Run `alter table ... enable trigger ...`. The trigger then fires only for the application's writes. A trigger that was enabled as replica never fired for them; in this case run `alter table ... disable trigger ...`.",
    },
    FindingCode {
        sw: "SW0902",
        name: "rule.always",
        severity: Refused,
        title: "A rule also applies to replicated changes",
        wrong: "The rule would rewrite changes on the target.",
        remedy: "Run `alter table ... enable rule ...`. The rule then applies only to the application's writes. A rule that was enabled as replica never applied to them; in this case run `alter table ... disable rule ...`.",
    },
    FindingCode {
        sw: "SW0903",
        name: "trigger.event",
        severity: Warning,
        title: "An event trigger fires for changes of definitions",
        wrong: "The event trigger also fires for what a move creates and drops, and may refuse it.",
        remedy: "Run `alter event trigger ... disable` for the duration of the move.",
    },
    FindingCode {
        sw: "SW0904",
        name: "code.untrusted",
        severity: Refused,
        title: "Code of an untrusted role would run with the privileges of the agents",
        wrong: "A check constraint, a domain, a generated column, an index, extended statistics, a partition key or a cast calls a function. PostgreSQL runs the function with the privileges of the role that writes or reads the row, here the agents' role. The owner of the function can change it at any time.",
        remedy: "Rewrite the definition without that function. Or, if the owner of the function may do whatever the agents' role may do, trust the owner. To trust it, run `psql ... -v owner=... -v trust=on -f docs/grants.sql` on both shards.",
    },
    FindingCode {
        sw: "SW0911",
        name: "publication.all_tables",
        severity: Warning,
        title: "A publication contains all tables",
        wrong: "Subscribers of the publication receive copied rows as inserts and removed rows as deletes. They also receive changes of Shardwright's own tables.",
        remedy: "Replace the publication in one transaction, so that the server decodes no change without it: `begin; drop publication ...; create publication ... for table ...; commit`. Then run `alter subscription ... refresh publication` on each subscriber.",
    },
    FindingCode {
        sw: "SW0912",
        name: "publication.table",
        severity: Warning,
        title: "A publication contains a table that moves",
        wrong: "Subscribers of the publication receive copied rows as inserts and removed rows as deletes, as if the application had written them.",
        remedy: "Make the subscribers distinguish moved rows from new rows, for example by the source that they come from.",
    },
    FindingCode {
        sw: "SW0913",
        name: "subscription.present",
        severity: Warning,
        title: "A subscription writes into the database",
        wrong: "The guard refuses what the subscription writes to moved keys, and the subscription stops.",
        remedy: "Run `alter subscription ... disable` for the duration of the move.",
    },
];
