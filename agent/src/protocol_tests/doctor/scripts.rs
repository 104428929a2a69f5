//! The result of each remedy: the finding no longer exists, and no other finding replaces it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;

use futures::stream::{self, StreamExt};
use plans::doctor::Finding;
use plans::doctor::{Script, ShardDatabase, script};
use plans::id::ShardName;
use plans::identity::DatabaseIdentity;
use plans::request::Mode;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::plants::all;
use super::{
    AT_ONCE, Database, GOOD, Plant, QUICK, Remedy, codes, ddl, examine, plant, read, server,
};

/// Returns the script that the doctor writes for findings on a database.
async fn written(database: &Database, findings: &[Finding]) -> Script {
    let identity = "select system_identifier::text, (select oid from pg_database where datname = current_database())
                    from pg_control_system()";
    let session = database.session().await;
    let row = session.query_one(identity, &[]).await.expect("read");
    let identity = DatabaseIdentity {
        system: row.get(0),
        database: Some(row.get(1)),
        ..DatabaseIdentity::default()
    };
    let place = ShardDatabase {
        shard: &ShardName::from("a"),
        identity: Some(&identity),
    };
    // Other tests use the same server, so its own finding is omitted.
    let of_tables = findings.iter().filter(|finding| finding.code != QUICK);
    script(&[place], &of_tables.collect::<Vec<_>>(), true)
}

/// Runs a script with psql, as an operator does. Returns the output of psql if it fails.
async fn psql(database: &Database, script: &str) -> Result<(), String> {
    // Some installations have servers only. Any version of psql runs the script.
    let own = database.cluster.binaries().path("psql");
    let program = if own.is_file() {
        own
    } else {
        PathBuf::from("psql")
    };
    let mut psql = Command::new(program);
    for (name, value) in database.dsn().resolve().expect("resolved").variables() {
        psql.envs(value.map(|value| (name, value)));
    }
    let psql = psql.args(["-X", "-q", "-f", "-"]).stdin(Stdio::piped());
    let psql = psql.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut psql = psql.expect("started");
    let mut stdin = psql.stdin.take().expect("a pipe");
    stdin.write_all(script.as_bytes()).await.expect("written");
    drop(stdin);
    let output = psql.wait_with_output().await.expect("ran");
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    output.status.success().then_some(()).ok_or(reported)
}

/// Returns the findings after the remedy of a planted defect; `None` if the remedy changes nothing.
async fn after(plant: &Plant, database: &Database) -> Result<Option<Vec<Finding>>, String> {
    let mut task = plant.task(&database.dsn_text());
    match plant.remedy {
        Remedy::Stays(why) => {
            assert!(!why.is_empty(), "{}", plant.code);
            return Ok(None);
        }
        Remedy::Statements(statements) => ddl(database, statements).await,
        Remedy::Offline => task.mode = Mode::Offline,
        Remedy::Settings(settings) => task.maps[0].settings = read(settings),
        Remedy::Script(_) => {
            let found = examine(task.clone()).await.findings;
            let mut planted: Vec<Finding> = found;
            planted.retain(|finding| finding.code == plant.code);
            let script = written(database, &planted).await;
            if script.covered == 0 {
                return Err(format!("no script fixes {planted:#?}"));
            }
            for _ in ["once", "again"] {
                psql(database, &script.text).await?;
            }
        }
    }
    Ok(Some(examine(task).await.findings))
}

/// Returns an error message if the remedy of a planted defect is wrong.
async fn judge(plant: &Plant, number: usize) -> Option<String> {
    let database = Database::on(server().await, &format!("remedied_{number}")).await;
    ddl(&database, &format!("{GOOD} {}", plant.ddl)).await;
    let wanted = match plant.remedy {
        Remedy::Script(lesser) => lesser,
        Remedy::Statements(_) | Remedy::Settings(_) | Remedy::Offline | Remedy::Stays(_) => &[],
    };
    match after(plant, &database).await {
        Err(reported) => Some(format!("{}: {reported}", plant.code)),
        Ok(None) => None,
        Ok(Some(found)) => {
            let (left, text) = codes(&found);
            let wanted: BTreeSet<String> = wanted.iter().map(|code| (*code).to_owned()).collect();
            (left != wanted).then(|| format!("{}: after its remedy: {text}", plant.code))
        }
    }
}

#[tokio::test]
async fn after_each_remedy_its_finding_is_gone_and_no_other_is_there() {
    let plants = all();
    let judged = plants.iter().enumerate();
    let judged = judged.map(|(number, plant)| judge(plant, number));
    let judged: Vec<Option<String>> = stream::iter(judged.collect::<Vec<_>>())
        .buffered(AT_ONCE)
        .collect()
        .await;
    let wrong: Vec<String> = judged.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test]
async fn all_remedies_of_one_table_go_together() {
    let ill = plant(
        "key.identity",
        "alter table good drop constraint good_pkey;
         alter table good alter tenant_id drop not null, add primary key (id), add check (id > 0) not valid;
         create index broken on good (id);
         update pg_index set indisvalid = false where indexrelid = 'broken'::regclass;
         create function touch() returns trigger language plpgsql as 'begin return new; end';
         create trigger touched before update on good for each row execute function touch();
         alter table good enable always trigger touched;
         create table part (tenant_id bigint, id bigint, primary key (id)) partition by range (id);
         create table part_low partition of part for values from (0) to (10);
         create table \"part.high\" partition of part for values from (10) to (20);",
    )
    .settings(r#"{"tables": {"good": "tenant_id", "part": "tenant_id"}}"#);
    let database = Database::on(server().await, "remedied_together").await;
    ddl(&database, &format!("{GOOD} {}", ill.ddl)).await;
    let task = ill.task(&database.dsn_text());
    let found = examine(task.clone()).await.findings;
    let expected = [
        "key.identity",
        "key.null",
        "table.invalid_index",
        "table.not_valid",
        "trigger.always",
    ];
    assert_eq!(codes(&found).0, expected.map(str::to_owned).into());
    let script = written(&database, &found).await;
    psql(&database, &script.text).await.expect("ran");
    let (left, text) = codes(&examine(task).await.findings);
    assert_eq!(left, BTreeSet::new(), "{text}\n{}", script.text);
}

#[tokio::test]
async fn a_script_runs_in_the_database_that_it_is_for_alone() {
    let ill = plant(
        "table.not_valid",
        "alter table good add check (id > 0) not valid",
    );
    let database = Database::on(server().await, "scripted").await;
    let other = Database::on(server().await, "scripted_other").await;
    for database in [&database, &other] {
        ddl(database, &format!("{GOOD} {}", ill.ddl)).await;
    }
    let found = examine(ill.task(&database.dsn_text())).await.findings;
    let script = written(&database, &found).await;
    let refused = psql(&other, &script.text).await.expect_err("refused");
    assert!(
        refused.contains("none of the shards that the script is for: a"),
        "{refused}"
    );
    let left = codes(&examine(ill.task(&other.dsn_text())).await.findings).0;
    assert!(left.contains("table.not_valid"));
}

#[tokio::test]
async fn what_rows_stand_in_the_way_of_is_reported_and_the_rest_is_done() {
    let ill = plant(
        "key.null",
        "create table loose (tenant_id bigint, id bigint primary key); insert into loose values (null, 1);
         alter table good add check (id > 0) not valid",
    )
    .settings(r#"{"tables": {"good": "tenant_id", "loose": "tenant_id"}}"#);
    let database = Database::on(server().await, "remedied_rows").await;
    ddl(&database, &format!("{GOOD} {}", ill.ddl)).await;
    let task = ill.task(&database.dsn_text());
    let found = examine(task.clone()).await.findings;
    let script = written(&database, &found).await;
    let reported = psql(&database, &script.text)
        .await
        .expect_err("rows are left");
    assert!(reported.contains("not everything was done"), "{reported}");
    let left = codes(&examine(task.clone()).await.findings).0;
    assert_eq!(left, ["key.identity", "key.null"].map(str::to_owned).into());
    // The application continues to write such rows until the operator has decided.
    ddl(
        &database,
        "insert into loose values (null, 2); delete from loose",
    )
    .await;
    psql(&database, &script.text).await.expect("ran");
    assert_eq!(codes(&examine(task).await.findings).0, BTreeSet::new());
}
