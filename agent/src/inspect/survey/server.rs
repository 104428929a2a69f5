//! Checks what a server must offer (version, settings, privileges, free slots), and compares two servers.

use connect::Connected;
use plans::fix::{FixStage, FixStatement};
use plans::key::KeyType;
use plans::request::Mode;
use plans::sql::{quote_ident, quote_literal};
use plans::survey::SurveyTask;
use tokio_postgres::Row;

use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;

/// PostgreSQL 15 as a `server_version_num`. Older servers have no row filters.
const MIN_VERSION: i32 = 150_000;
/// The number of slots and walsenders that a migration needs on a shard at the same time.
const MIN_FREE_SLOTS: i64 = 3;

/// Checks one server. An offline move captures no changes and needs less.
pub(super) async fn check(
    client: &Connected,
    mode: Mode,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select pg_catalog.current_setting('server_version_num')::int,
                    pg_catalog.current_setting('server_version'),
                    pg_catalog.current_setting('wal_level'),
                    pg_catalog.current_setting('max_replication_slots')::bigint - (select count(*) from pg_catalog.pg_replication_slots),
                    pg_catalog.current_setting('max_wal_senders')::bigint - (select count(*) from pg_catalog.pg_stat_replication),
                    pg_catalog.pg_is_in_recovery(),
                    pg_catalog.current_setting('max_slot_wal_keep_size')",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading settings"))?;
    let object = |what: &str| format!("shard {shard}, {what}");
    check_version(row.get(0), row.get(1), shard, findings);
    if mode == Mode::Online {
        check_capture_settings(&row, shard, findings);
    }
    if row.get(5) {
        findings.add_refusal(
            "server.standby",
            object("server"),
            "it is a standby",
            "plan with `seed: standby` if it is a standby of the source; or register the primary's address",
        );
    }
    check_role(client, mode, findings).await
}

/// Checks the settings that the capture of changes needs.
fn check_capture_settings(row: &Row, shard: &str, findings: &mut Findings) {
    let object = |what: &str| format!("shard {shard}, {what}");
    let wal_level: &str = row.get(2);
    if wal_level != "logical" {
        findings.add_refusal(
            "server.wal_level",
            object("setting wal_level"),
            format!("it is {wal_level}; changes cannot be captured"),
            "alter system set wal_level = 'logical'; then restart the server",
        );
    }
    for (column, name) in [(3, "max_replication_slots"), (4, "max_wal_senders")] {
        let free: i64 = row.get(column);
        if free < MIN_FREE_SLOTS {
            findings.add_refusal(
                "server.slots",
                object(&format!("setting {name}")),
                format!("{free} are free, {MIN_FREE_SLOTS} are needed"),
                format!(
                    "raise {name} by at least {}, then restart the server",
                    MIN_FREE_SLOTS - free
                ),
            );
        }
    }
    if row.get::<_, &str>(6) != "-1" {
        findings.add(
            "server.keep_size",
            object("setting max_slot_wal_keep_size"),
            "a slot that falls behind further than this is lost, and with it the migration",
            "alter system set max_slot_wal_keep_size = -1 for the time of the migration, or make it large",
        );
    }
}

/// Refuses a server that is too old. `number` is its `server_version_num`.
pub(crate) fn check_version(number: i32, name: &str, shard: &str, findings: &mut Findings) {
    if number < MIN_VERSION {
        findings.add_refusal(
            "server.version",
            format!("shard {shard}, server"),
            format!("it is PostgreSQL {name}; row filters need 15 or newer"),
            "upgrade the server to PostgreSQL 15 or newer",
        );
    }
}

async fn check_role(
    client: &Connected,
    mode: Mode,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select r.rolsuper, r.rolreplication, r.rolname::text,
                    pg_catalog.has_database_privilege(pg_catalog.current_database(), 'create'),
                    pg_catalog.quote_ident(r.rolname), pg_catalog.quote_ident(pg_catalog.current_database())
             from pg_catalog.pg_roles r where r.rolname = session_user",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading the agent's role"))?;
    let (superuser, replication, name): (bool, bool, String) = (row.get(0), row.get(1), row.get(2));
    if superuser {
        return Ok(());
    }
    let object = format!("shard {shard}, role {name}");
    let (role, database): (String, String) = (row.get(4), row.get(5));
    let mut add_role_refusal = |code: &str, problem: &str, statement: String| {
        let finding = findings.add_refusal(code, object.clone(), problem, statement.clone());
        finding.fixed_by(shard, vec![FixStatement::new(FixStage::Roles, statement)]);
    };
    if !replication && mode == Mode::Online {
        let statement = format!("alter role {role} replication");
        add_role_refusal(
            "role.replication",
            "it may not use replication slots",
            statement,
        );
    }
    if !row.get::<_, bool>(3) {
        add_role_refusal(
            "role.create",
            "it may not create a schema or a publication in this database",
            format!("grant create on database {database} to {role}"),
        );
    }
    let set_result = client
        .batch_execute("set session_replication_role = replica; reset session_replication_role")
        .await;
    if set_result.is_err() {
        add_role_refusal(
            "role.replica",
            "it may not set session_replication_role, which the agent needs to apply changes",
            format!("grant set on parameter session_replication_role to {role}"),
        );
    }
    Ok(())
}

/// Compares the two servers.
pub(super) async fn check_pair(
    source: &Connected,
    target: &Connected,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let facts = "select (select system_identifier::text from pg_catalog.pg_control_system()),
                        pg_catalog.current_database()::text, pg_catalog.current_setting('server_encoding'),
                        (select datcollate || ' ' || datctype from pg_catalog.pg_database where datname = pg_catalog.current_database()),
                        (select array_agg(rolname::text) from pg_catalog.pg_roles where rolname !~ '^pg_'),
                        pg_catalog.pg_is_in_recovery()";
    let source_facts = source
        .query_one(facts, &[])
        .await
        .at(format_args!("shard {}", task.source.name))?;
    let target_facts = target
        .query_one(facts, &[])
        .await
        .at(format_args!("shard {}", task.target.name))?;
    let text = |row: &tokio_postgres::Row, column: usize| row.get::<_, String>(column);
    let object = format!("shards {} and {}", task.source.name, task.target.name);
    // A standby is reported as such: it is not the same database, although it has the same identity.
    let has_standby: bool = source_facts.get::<_, bool>(5) || target_facts.get(5);
    if (text(&source_facts, 0), text(&source_facts, 1))
        == (text(&target_facts, 0), text(&target_facts, 1))
        && !has_standby
    {
        findings.add_refusal(
            "pair.same",
            object.clone(),
            "both are the same database",
            "correct the connection string of one of them",
        );
    }
    for (column, property) in [(2, "encoding"), (3, "collation")] {
        if text(&source_facts, column) != text(&target_facts, column) {
            findings.add_refusal(
                "pair.locale",
                object.clone(),
                format!(
                    "their {property} differs: {} and {}",
                    text(&source_facts, column),
                    text(&target_facts, column)
                ),
                format!("create the target database with the source's {property}"),
            );
        }
    }
    let encoding = text(&source_facts, 2);
    if task.key.contains(&KeyType::Text) && encoding != "UTF8" {
        findings.add_refusal(
            "key.encoding",
            object.clone(),
            format!("they are encoded in {encoding}; keys of type text are compared as UTF-8"),
            "use databases that are encoded in UTF8",
        );
    }
    let (source_roles, target_roles): (Vec<String>, Vec<String>) =
        (source_facts.get(4), target_facts.get(4));
    check_roles(&source_roles, &target_roles, task, findings);
    Ok(())
}

/// Checks that the target has the roles of the source, for owners and grants.
fn check_roles(
    source_roles: &[String],
    target_roles: &[String],
    task: &SurveyTask,
    findings: &mut Findings,
) {
    let target = task.target.name.as_str();
    for role in source_roles
        .iter()
        .filter(|role| !target_roles.contains(role))
    {
        let create = format!("create role {}", quote_ident(role));
        let finding = findings.add_refusal(
            "pair.role",
            format!("shard {target}, role {role}"),
            "it exists on the source and not on the target; owners and grants cannot be copied",
            format!(
                "{create}, on the target; if applications connect as this role, create it with the source's attributes"
            ),
        );
        // If the role was created meanwhile, the statement does nothing.
        let body = format!("begin {create}; exception when duplicate_object then null; end");
        let statement = format!("do {}", quote_literal(&body));
        finding.fixed_by(target, vec![FixStatement::new(FixStage::Roles, statement)]);
    }
}
