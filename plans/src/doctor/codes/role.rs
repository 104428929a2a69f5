//! Privileges of the agent's role.

use super::{FindingCode, Refused};

pub(super) const CODES: &[FindingCode] = &[
    FindingCode {
        sw: "SW0201",
        name: "role.replication",
        severity: Refused,
        title: "The role lacks the REPLICATION attribute",
        wrong: "The agent can neither create nor read a replication slot.",
        remedy: "Run `alter role ... replication`.",
    },
    FindingCode {
        sw: "SW0202",
        name: "role.create",
        severity: Refused,
        title: "The role lacks the CREATE privilege on the database",
        wrong: "The agent can create neither the schema `shardwright` nor a publication.",
        remedy: "Run `grant create on database ... to ...`.",
    },
    FindingCode {
        sw: "SW0203",
        name: "role.replica",
        severity: Refused,
        title: "The role may not set session_replication_role",
        wrong: "The changes that the agent applies would fire the application's triggers again.",
        remedy: "Run `grant set on parameter session_replication_role to ...`.",
    },
    FindingCode {
        sw: "SW0204",
        name: "role.owner",
        severity: Refused,
        title: "The role may not act as the owner of a table",
        wrong: "Only the owner of a table can add it to a publication and create a guard on it.",
        remedy: "Run `grant OWNER to ROLE`.",
    },
    FindingCode {
        sw: "SW0205",
        name: "role.usage",
        severity: Refused,
        title: "The role lacks the USAGE privilege on a schema",
        wrong: "The agent cannot read the tables of the schema.",
        remedy: "Run `grant usage on schema ... to ...`.",
    },
    FindingCode {
        sw: "SW0206",
        name: "role.monitor",
        severity: Refused,
        title: "The role cannot see the sessions of other roles",
        wrong: "The agent could not detect before the flip that a standby lacks the seal. Nor could it name the session whose writes delay a cutover.",
        remedy: "Run `grant pg_read_all_stats to ...`.",
    },
    FindingCode {
        sw: "SW0207",
        name: "role.row_security",
        severity: Refused,
        title: "Row-level security applies to the role",
        wrong: "The copy would contain only some of the rows. The agents' sessions let such a query fail instead.",
        remedy: "Run `alter role ... bypassrls`.",
    },
    FindingCode {
        sw: "SW0208",
        name: "role.connections",
        severity: Refused,
        title: "The role or the database allows too few connections",
        wrong: "A move opens up to 16 sessions on each of its shards.",
        remedy: "Run `alter role ... connection limit -1` or `alter database ... connection limit -1`.",
    },
    FindingCode {
        sw: "SW0209",
        name: "role.superuser",
        severity: Refused,
        title: "The role has more privileges than a move needs",
        wrong: "An attacker who gains one session of the agents controls the whole server. A leaked connection string, or code that is attached to a table, is enough. Only `doctor` refuses such a role; a move continues.",
        remedy: "Create a role with docs/grants.sql, and name it in the connection string of the shard: `shardwright shard set NAME --dsn ...`. If the role is not a superuser but may create roles, `alter role ... nocreaterole` is enough.",
    },
];
