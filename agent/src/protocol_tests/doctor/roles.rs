//! Missing privileges of the agent's role. Each test revokes one privilege from a role that has all that it needs.

use std::collections::BTreeSet;

use super::{Database, GOOD, codes, ddl, examine, judge, plant, server_of_its_own};

/// A role with all privileges that a move needs.
const FIT: &str = "
    create role keeper;
    create role agent login replication password 'agent';
    grant keeper, pg_read_all_stats to agent;
    grant set on parameter session_replication_role to agent;";

/// The privileges of the role in its database.
const HERE: &str = "
    grant create on database roles to agent;
    create schema app;
    grant usage on schema app to agent;
    create table app.good (tenant_id bigint, id bigint, primary key (tenant_id, id));
    alter table app.good owner to keeper;
    alter table good owner to keeper;";

/// The statement that revokes a privilege or grants one too many, the statement that undoes this, and the expected
/// code.
const LACKS: [(&str, &str, &str); 10] = [
    (
        "alter role agent noreplication",
        "alter role agent replication",
        "role.replication",
    ),
    (
        "revoke create on database roles from agent",
        "grant create on database roles to agent",
        "role.create",
    ),
    (
        "revoke set on parameter session_replication_role from agent",
        "grant set on parameter session_replication_role to agent",
        "role.replica",
    ),
    (
        "alter table public.good owner to postgres",
        "alter table public.good owner to keeper",
        "role.owner",
    ),
    (
        "revoke usage on schema app from agent",
        "grant usage on schema app to agent",
        "role.usage",
    ),
    (
        "revoke pg_read_all_stats from agent",
        "grant pg_read_all_stats to agent",
        "role.monitor",
    ),
    (
        "alter table app.good enable row level security, force row level security",
        "alter table app.good disable row level security",
        "role.row_security",
    ),
    (
        "alter role agent connection limit 5",
        "alter role agent connection limit -1",
        "role.connections",
    ),
    (
        "alter role agent superuser",
        "alter role agent nosuperuser",
        "role.superuser",
    ),
    (
        "alter role agent createrole",
        "alter role agent nocreaterole",
        "role.superuser",
    ),
];

#[tokio::test]
async fn each_right_that_the_role_lacks_is_found_by_its_code_alone() {
    let database = Database::on(server_of_its_own("doctor_roles").await, "roles").await;
    ddl(&database, &format!("{GOOD} {FIT} {HERE}")).await;
    let (host, port) = (database.cluster.host(), database.cluster.port());
    let dsn = format!("host={host} port={port} user=agent dbname=roles password=agent");
    let task = plant("", "")
        .settings(r#"{"tables": {"good": "tenant_id", "app.good": "tenant_id"}}"#)
        .task(&dsn);
    let (found, text) = codes(&examine(task.clone()).await.findings);
    assert_eq!(found, BTreeSet::new(), "{text}");
    let session = database.session().await;
    for (take, give, code) in LACKS {
        session.batch_execute(take).await.expect("taken");
        let found = examine(task.clone()).await;
        session.batch_execute(give).await.expect("given");
        assert_eq!(judge(code, &found.findings), None);
    }
}
