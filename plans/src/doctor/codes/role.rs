//! What the role of the agent may do.

use super::{Code, Refused};

pub(super) const CODES: &[Code] = &[
    Code {
        sw: "SW0201",
        name: "role.replication",
        severity: Refused,
        title: "The role may not replicate",
        wrong: "It can neither create a replication slot nor read one.",
        mend: "alter role ... replication",
    },
    Code {
        sw: "SW0202",
        name: "role.create",
        severity: Refused,
        title: "The role may not create in the database",
        wrong: "Neither the schema `shardwright` nor a publication can be made.",
        mend: "grant create on database ... to ...",
    },
    Code {
        sw: "SW0203",
        name: "role.replica",
        severity: Refused,
        title: "The role may not set session_replication_role",
        wrong: "Applied changes would fire the application's triggers once more.",
        mend: "grant set on parameter session_replication_role to ...",
    },
    Code {
        sw: "SW0204",
        name: "role.owner",
        severity: Refused,
        title: "The role may not act as the owner of a table",
        wrong: "Only the owner may put a table into a publication and a guard onto it.",
        mend: "grant OWNER to ROLE",
    },
    Code {
        sw: "SW0205",
        name: "role.usage",
        severity: Refused,
        title: "The role may not use a schema",
        wrong: "Its tables cannot be read.",
        mend: "grant usage on schema ... to ...",
    },
    Code {
        sw: "SW0206",
        name: "role.monitor",
        severity: Refused,
        title: "The role does not see the sessions of others",
        wrong: "Standbys that lack the seal would not be noticed before the flip, and a writer that holds up a cutover could not be named.",
        mend: "grant pg_read_all_stats to ...",
    },
    Code {
        sw: "SW0207",
        name: "role.row_security",
        severity: Refused,
        title: "Row level security holds for the role",
        wrong: "The copy would bring some rows only; our sessions let such a query fail instead.",
        mend: "alter role ... bypassrls",
    },
    Code {
        sw: "SW0208",
        name: "role.connections",
        severity: Refused,
        title: "The role may open few connections, or the database lets few in",
        wrong: "A move opens up to 16 sessions on each of its shards.",
        mend: "alter role ... connection limit -1, or alter database ... connection limit -1",
    },
    Code {
        sw: "SW0209",
        name: "role.superuser",
        severity: Refused,
        title: "The role may more than a move needs",
        wrong: "Every session of the agents is worth the whole server to whoever gets hold of one: by a connection string that leaks, or by code beside a table. Only the doctor refuses it; a move goes on.",
        mend: "Make a role by docs/grants.sql, and let the connection string of the shard name it: shardwright shard set NAME --dsn ...; or alter role ... nocreaterole",
    },
];
