//! What stands in the way of a move is found before anything is created, each with what mends it.

use std::collections::BTreeMap;

use plans::failure::Severity;
use plans::id::ShardName;
use plans::key_set::{KeyRange, KeySet, KeyType};
use plans::plan::ShardRef;
use plans::survey::{Survey, SurveyTask};

use super::shard::Shard as Database;
use crate::error::StepError;
use crate::steps::survey;

/// Surveys the tables `listed` (name and key column) of a database made by `ddl`.
async fn surveyed(name: &str, ddl: &str, listed: &[(&str, &str)]) -> Result<Survey, StepError> {
    let source = Database::new(&format!("{name}_s")).await;
    let target = Database::on(source.cluster.clone(), &format!("{name}_t")).await;
    run(&source, ddl).await;
    survey::run(&task(&source.dsn_text(), &target.dsn_text(), listed)).await
}

/// Runs DDL whose names are in `public`.
async fn run(database: &Database, ddl: &str) {
    let session = database.session().await;
    let sql = format!("set search_path = public; {ddl}");
    session.batch_execute(&sql).await.expect("ddl");
}

fn task(source: &str, target: &str, listed: &[(&str, &str)]) -> SurveyTask {
    let shard = |name: &str, dsn: &str| ShardRef {
        name: ShardName::from(name),
        dsn: dsn.to_owned(),
    };
    SurveyTask {
        id: "t".to_owned(),
        source: shard("a", source),
        target: shard("b", target),
        tables: listed
            .iter()
            .map(|(table, key)| ((*table).to_owned(), (*key).to_owned()))
            .collect::<BTreeMap<_, _>>(),
        ignore: Vec::new(),
        keys: KeySet::Range(KeyRange::default()),
        key_type: KeyType::Bigint,
    }
}

/// Codes of what refuses, with object and remedy as one text each.
fn refusals(survey: &Survey) -> Vec<(String, String)> {
    let refused = survey
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Refused);
    refused
        .map(|f| {
            (
                f.code.clone(),
                format!("{}: {} ({})", f.object, f.problem, f.remedy),
            )
        })
        .collect()
}

/// The survey refuses with exactly this code, naming `object` and a remedy that contains `remedy`.
fn refuses(survey: &Survey, code: &str, object: &str, remedy: &str) {
    let refused = refusals(survey);
    let found = refused.iter().find(|(c, _)| c == code);
    let (_, text) = found.unwrap_or_else(|| panic!("no {code} in {refused:?}"));
    assert!(text.contains(object) && text.contains(remedy), "{text}");
}

const GOOD: &str = "create table good (tenant_id bigint, id bigint, primary key (tenant_id, id));";

#[tokio::test]
async fn a_fit_schema_is_not_refused() {
    let survey = surveyed("sv_good", GOOD, &[("good", "tenant_id")])
        .await
        .unwrap();
    assert_eq!(refusals(&survey), []);
    assert_eq!(survey.tables[0].primary_key, ["tenant_id", "id"]);
}

#[tokio::test]
async fn a_table_that_does_not_exist_is_named() {
    let survey = surveyed(
        "sv_missing",
        GOOD,
        &[("good", "tenant_id"), ("app.lost", "id")],
    )
    .await
    .unwrap();
    refuses(
        &survey,
        "table.missing",
        "table app.lost",
        "correct the name",
    );
}

#[tokio::test]
async fn a_table_that_nobody_listed_is_named() {
    let survey = surveyed(
        "sv_unlisted",
        &format!("{GOOD} create table other (id int)"),
        &[("good", "tenant_id")],
    )
    .await
    .unwrap();
    refuses(
        &survey,
        "table.unlisted",
        "table public.other",
        "list public.other",
    );
}

#[tokio::test]
async fn unfit_tables_are_all_told_at_once() {
    let ddl = "
        create table bare (tenant_id bigint not null);
        create table outside (tenant_id bigint not null, id bigint primary key);
        create table narrow (tenant_id int, id bigint, primary key (tenant_id, id));
        create unlogged table fleeting (tenant_id bigint, id bigint, primary key (tenant_id, id));
        create table parts (tenant_id bigint, id bigint, primary key (tenant_id, id)) partition by hash (tenant_id);
        create table named (tenant_id bigint, id bigint, primary key (tenant_id, id));";
    let listed = [
        ("bare", "tenant_id"),
        ("outside", "tenant_id"),
        ("narrow", "tenant_id"),
        ("fleeting", "tenant_id"),
        ("parts", "tenant_id"),
        ("named", "tenant"),
    ];
    let survey = surveyed("sv_unfit", ddl, &listed).await.unwrap();
    refuses(
        &survey,
        "table.primary_key",
        "table public.bare",
        "add primary key",
    );
    refuses(
        &survey,
        "key.identity",
        "table public.outside",
        "primary key (tenant_id, id)",
    );
    refuses(&survey, "key.type", "table public.narrow", "type bigint");
    refuses(
        &survey,
        "table.unlogged",
        "table public.fleeting",
        "ordinary table",
    );
    refuses(&survey, "table.partitioned", "table public.parts", "ignore");
    refuses(
        &survey,
        "key.missing",
        "table public.named",
        "correct the key column",
    );
}

#[tokio::test]
async fn a_foreign_key_that_leaves_the_move_is_named() {
    let ddl = "
        create table kind (id bigint primary key);
        create table good (tenant_id bigint, id bigint, kind bigint references kind, primary key (tenant_id, id));";
    let source = Database::new("sv_fk_s").await;
    let target = Database::on(source.cluster.clone(), "sv_fk_t").await;
    run(&source, ddl).await;
    let mut task = task(
        &source.dsn_text(),
        &target.dsn_text(),
        &[("good", "tenant_id")],
    );
    task.ignore = vec!["kind".to_owned()];
    let survey = survey::run(&task).await.unwrap();
    refuses(
        &survey,
        "foreign_key.leaves",
        "good_kind_fkey",
        "drop the foreign key",
    );
}

#[tokio::test]
async fn a_target_that_has_the_table_is_refused() {
    let source = Database::new("sv_there_s").await;
    let target = Database::on(source.cluster.clone(), "sv_there_t").await;
    for database in [&source, &target] {
        run(database, GOOD).await;
    }
    let listed = [("good", "tenant_id")];
    let survey = survey::run(&task(&source.dsn_text(), &target.dsn_text(), &listed))
        .await
        .unwrap();
    refuses(
        &survey,
        "target.table",
        "shard b, table public.good",
        "drop table",
    );
}

#[tokio::test]
async fn one_database_under_two_names_is_refused() {
    let only = Database::new("sv_same").await;
    run(&only, GOOD).await;
    let survey = survey::run(&task(
        &only.dsn_text(),
        &only.dsn_text(),
        &[("good", "tenant_id")],
    ))
    .await
    .unwrap();
    refuses(&survey, "pair.same", "shards a and b", "connection string");
}

#[tokio::test]
async fn a_server_without_logical_log_is_refused() {
    let source = Database::with_settings("sv_wal_s", &[("wal_level", "replica")]).await;
    let target = Database::on(source.cluster.clone(), "sv_wal_t").await;
    run(&source, GOOD).await;
    let listed = [("good", "tenant_id")];
    let survey = survey::run(&task(&source.dsn_text(), &target.dsn_text(), &listed))
        .await
        .unwrap();
    refuses(
        &survey,
        "server.wal_level",
        "shard a",
        "alter system set wal_level = 'logical'",
    );
}

#[tokio::test]
async fn a_wrong_password_names_the_shard_and_what_to_check() {
    let source = Database::new("sv_password").await;
    let target = format!(
        "host=127.0.0.1 port={} user=postgres dbname=sv_password password=wrong",
        source.cluster.port()
    );
    let error = survey::run(&task(&source.dsn_text(), &target, &[("good", "tenant_id")]))
        .await
        .unwrap_err();
    let failure = error.failure().expect("a failure");
    assert!(failure.message.contains("shard b"), "{failure:?}");
    assert!(
        failure
            .hint
            .as_deref()
            .unwrap_or_default()
            .contains("password"),
        "{failure:?}"
    );
    assert!(!failure.message.contains("wrong"), "{failure:?}");
}

#[test]
fn a_server_that_reports_version_14_is_refused() {
    let mut findings = survey::Findings::default();
    survey::check_version(140_012, "14.12", "a", &mut findings);
    survey::check_version(150_000, "15.0", "b", &mut findings);
    let [finding] = findings.as_slice() else {
        panic!("{findings:?}")
    };
    assert_eq!(finding.code, "server.version");
    assert!(
        finding.problem.contains("14.12") && finding.remedy.contains("upgrade"),
        "{finding:?}"
    );
}
