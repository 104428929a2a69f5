//! The survey finds all obstacles of a move before anything is created, and reports a remedy for each of them.

use plans::failure::Severity;
use plans::fleet::ShardRef;
use plans::id::{MapName, ShardName};
use plans::key::KeyType;
use plans::key_set::KeySet;
use plans::plan::TargetState;
use plans::request::Mode;
use plans::shard_map::{KeyColumns, MapSettings};
use plans::survey::{Survey, SurveyTask};

use super::shard::Shard as Database;
use crate::error::StepError;
use crate::inspect::findings::Findings;
use crate::inspect::survey;

/// Surveys the tables `listed` (name and key column) of a database that `ddl` creates.
pub(super) async fn surveyed(
    name: &str,
    ddl: &str,
    listed: &[(&str, &str)],
) -> Result<Survey, StepError> {
    let source = Database::new(&format!("{name}_s")).await;
    let target = Database::on(source.cluster.clone(), &format!("{name}_t")).await;
    run(&source, ddl).await;
    survey::run(&task(&source.dsn_text(), &target.dsn_text(), listed)).await
}

/// Executes DDL with `public` as search path.
pub(super) async fn run(database: &Database, ddl: &str) {
    let session = database.session().await;
    let sql = format!("set search_path = public; {ddl}");
    session.batch_execute(&sql).await.expect("ddl");
}

pub(super) fn task(source: &str, target: &str, listed: &[(&str, &str)]) -> SurveyTask {
    let shard = |name: &str, number: i32, dsn: &str| ShardRef {
        name: ShardName::from(name),
        number,
        dsn: dsn.to_owned(),
        identity: None,
    };
    let columns = |names: &str| KeyColumns(names.split(',').map(str::to_owned).collect());
    SurveyTask {
        mapped: None,
        map: MapName::from("orders"),
        source: shard("a", 1, source),
        target: shard("b", 2, target),
        settings: MapSettings {
            tables: listed
                .iter()
                .map(|(table, key)| ((*table).to_owned(), columns(key)))
                .collect(),
            ..MapSettings::default()
        },
        keys: KeySet::range(None, None),
        key: vec![KeyType::Bigint],
        mode: Mode::Online,
        seed: plans::request::Seed::Copy,
        again: false,
        trial: false,
    }
}

/// Returns the codes of the refusing findings, each with its object and remedy as one text.
pub(super) fn refusals(survey: &Survey) -> Vec<(String, String)> {
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

/// Checks that the survey refuses with exactly this code, with `object` and a remedy that contains `remedy`.
pub(super) fn refuses(survey: &Survey, code: &str, object: &str, remedy: &str) {
    let refused = refusals(survey);
    let found = refused
        .iter()
        .find(|(c, text)| c == code && text.contains(object));
    let (_, text) = found.unwrap_or_else(|| panic!("no {code} of {object} in {refused:?}"));
    assert!(text.contains(remedy), "{text}");
}

pub(super) const GOOD: &str =
    "create table good (tenant_id bigint, id bigint, primary key (tenant_id, id));";

#[tokio::test]
async fn a_fit_schema_is_not_refused() {
    let survey = surveyed("sv_good", GOOD, &[("good", "tenant_id")])
        .await
        .unwrap();
    assert_eq!(refusals(&survey), []);
    assert_eq!(survey.tables[0].identity, ["tenant_id", "id"]);
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
        "create it as on the map's other shards, or correct the name",
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
        create table named (tenant_id bigint, id bigint, primary key (tenant_id, id));";
    let listed = [
        ("bare", "tenant_id"),
        ("outside", "tenant_id"),
        ("narrow", "tenant_id"),
        ("fleeting", "tenant_id"),
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
        "on \"public\".\"outside\" (\"tenant_id\", \"id\")",
    );
    refuses(&survey, "key.type", "table public.narrow", "type bigint");
    refuses(
        &survey,
        "table.unlogged",
        "table public.fleeting",
        "ordinary table",
    );
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
    task.settings.ignore = vec!["kind".to_owned()];
    let survey = survey::run(&task).await.unwrap();
    refuses(
        &survey,
        "foreign_key.leaves",
        "table public.kind: it does not move, and foreign keys join it to tables that move: good_kind_fkey of public.good",
        "list public.kind under `reference` if every shard has the same rows",
    );
}

#[tokio::test]
async fn keys_of_every_type_and_of_several_columns_fit() {
    let ddl = "
        create table by_text (tenant varchar(20), id bigint, primary key (tenant, id));
        create table by_uuid (tenant uuid, id bigint, primary key (tenant, id));
        create table by_both (region text, at timestamptz, id bigint, primary key (region, at, id));";
    let source = Database::new("sv_types_s").await;
    let target = Database::on(source.cluster.clone(), "sv_types_t").await;
    run(&source, ddl).await;
    let with = |listed: &[(&str, &str)], key: &[KeyType]| {
        let mut task = task(&source.dsn_text(), &target.dsn_text(), listed);
        task.settings.ignore = vec!["*".to_owned()];
        task.key = key.to_vec();
        task
    };
    let text = with(&[("by_text", "tenant")], &[KeyType::Text]);
    assert_eq!(refusals(&survey::run(&text).await.unwrap()), []);
    let both = with(
        &[("by_both", "region,at")],
        &[KeyType::Text, KeyType::Timestamptz],
    );
    let survey = survey::run(&both).await.unwrap();
    assert_eq!(refusals(&survey), []);
    assert_eq!(survey.tables[0].key_names(), ["region", "at"]);
    let wrong = with(
        &[("by_uuid", "tenant"), ("by_text", "tenant,id")],
        &[KeyType::Bytea],
    );
    let survey = survey::run(&wrong).await.unwrap();
    refuses(&survey, "key.type", "table public.by_uuid", "type bytea");
    refuses(
        &survey,
        "key.untied",
        "table public.by_text",
        "1 columns under `tables`",
    );
}

#[tokio::test]
async fn reference_tables_come_first_and_may_be_referred_to_but_not_refer() {
    let ddl = "
        create table unit (id bigint primary key);
        create table kind (id bigint primary key, unit bigint references unit);
        create table good (tenant_id bigint, id bigint, kind bigint references kind, primary key (tenant_id, id));
        create table best (id bigint primary key, tenant_id bigint, good bigint, foreign key (tenant_id, good) references good);";
    let source = Database::new("sv_ref_s").await;
    let target = Database::on(source.cluster.clone(), "sv_ref_t").await;
    run(&source, ddl).await;
    let mut task = task(
        &source.dsn_text(),
        &target.dsn_text(),
        &[("good", "tenant_id")],
    );
    task.settings.reference = ["best", "kind", "unit"].map(str::to_owned).to_vec();
    let survey = survey::run(&task).await.unwrap();
    let [(code, text)] = refusals(&survey).try_into().expect("one refusal");
    assert!(
        code == "foreign_key.reference" && text.contains("best"),
        "{text}"
    );
    let names: Vec<&str> = survey
        .tables
        .iter()
        .map(|t| t.table.name.as_str())
        .collect();
    assert_eq!(names, ["unit", "kind", "best", "good"]);
    assert_eq!(survey.target, TargetState::New);
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
    let mut findings = Findings::default();
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
