//! The survey of a move to a live shard lists all obstacles and changes nothing.

use plans::key::Key;
use plans::key_set::KeySet;
use plans::plan::TargetState;
use plans::survey::{Survey, SurveyTask};

use super::shard::Shard as Database;
use super::survey::{GOOD, refusals, refuses, run, task};
use crate::inspect::survey;

/// Surveys two live databases. Both are created by `ddl` and then filled by statements of their own.
async fn between(
    name: &str,
    ddl: &str,
    own: [&str; 2],
    change: impl Fn(&mut SurveyTask),
) -> Survey {
    let source = Database::new(&format!("{name}_s")).await;
    let target = Database::on(source.cluster.clone(), &format!("{name}_t")).await;
    run(&source, &format!("{ddl} {}", own[0])).await;
    run(&target, &format!("{ddl} {}", own[1])).await;
    let mut task = task(
        &source.dsn_text(),
        &target.dsn_text(),
        &[("good", "tenant_id")],
    );
    task.keys = KeySet::range(Some(Key::Int(100)), Some(Key::Int(200)));
    change(&mut task);
    survey::run(&task).await.expect("surveyed")
}

#[tokio::test]
async fn a_live_target_with_the_same_tables_is_taken() {
    let rows = [
        "insert into good values (100, 1);",
        "insert into good values (5, 1);",
    ];
    let survey = between("sv_live", GOOD, rows, |_| {}).await;
    assert_eq!(refusals(&survey), []);
    assert_eq!(survey.target, TargetState::Live);
}

#[tokio::test]
async fn a_target_with_some_of_the_tables_is_refused_with_the_missing_ones() {
    let source = Database::new("sv_partly_s").await;
    let target = Database::on(source.cluster.clone(), "sv_partly_t").await;
    let other = "create table other (tenant_id bigint, id bigint, primary key (tenant_id, id));";
    run(&source, &format!("{GOOD} {other}")).await;
    run(&target, GOOD).await;
    let listed = [("good", "tenant_id"), ("other", "tenant_id")];
    let survey = survey::run(&task(&source.dsn_text(), &target.dsn_text(), &listed))
        .await
        .unwrap();
    refuses(
        &survey,
        "target.partly",
        "tables public.other: they are missing",
        "create",
    );
}

#[tokio::test]
async fn tables_that_differ_are_told_column_by_column_with_both_definitions() {
    let ddl =
        "create table good (tenant_id bigint, id bigint, amount int, primary key (tenant_id, id));";
    let own = [
        "",
        "alter table good alter amount type bigint; create index late on good (id);",
    ];
    let survey = between("sv_drift", ddl, own, |_| {}).await;
    refuses(
        &survey,
        "target.schema",
        "column amount: on a place 3 integer, on b place 3 bigint",
        "same",
    );
    refuses(
        &survey,
        "target.schema",
        "index late: on a missing, on b CREATE INDEX late",
        "same",
    );
}

#[tokio::test]
async fn moving_keys_that_are_on_the_target_already_are_counted() {
    let own = ["", "insert into good values (150, 1), (150, 2), (7, 1);"];
    let survey = between("sv_stray", GOOD, own, |_| {}).await;
    refuses(
        &survey,
        "target.stray",
        "table public.good: 2 row(s)",
        "map check",
    );
}

#[tokio::test]
async fn every_constraint_in_which_rows_clash_is_listed_with_the_rows() {
    let ddl = "create table good (tenant_id bigint, id bigint, mail text, code numeric, active boolean,
                 spot int4range, primary key (tenant_id, id), unique (id), unique nulls not distinct (code));
               create unique index good_mail on good (lower(mail)) where active;";
    let source = "insert into good values (100, 1, 'A@x', 1.5, true), (100, 2, 'b@x', null, true), (100, 3, 'c@x', 3, false), (7, 4, 'd@x', 4, true);";
    let target = "insert into good values (1, 1, 'a@X', 1.50, true), (1, 9, 'c@x', null, true), (1, 4, 'd@x', 40, true);";
    let survey = between("sv_clash", ddl, [source, target], |_| {}).await;
    let clashes: Vec<String> = refusals(&survey)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let [code, id, mail] = clashes.as_slice() else {
        panic!("{clashes:?}")
    };
    assert!(
        code.contains("good_code_key") && code.contains("2 value(s)"),
        "{code}"
    );
    assert!(
        id.contains("good_id_key of public.good: 1 value(s)"),
        "{id}"
    );
    assert!(
        id.contains("rows (100,1) of shard a, rows (1,1) of shard b"),
        "{id}"
    );
    assert!(
        mail.contains("good_mail") && mail.contains("1 value(s)"),
        "{mail}"
    );
}

#[tokio::test]
async fn a_constraint_that_cannot_be_compared_is_refused_by_name() {
    let ddl = "create table good (tenant_id bigint, id bigint, spot int4range, primary key (tenant_id, id),
                 exclude using gist (spot with &&));";
    let survey = between("sv_unknown", ddl, ["", ""], |_| {}).await;
    refuses(
        &survey,
        "target.clash_unknown",
        "good_spot_excl",
        "add the columns of the shard key",
    );
}

#[tokio::test]
async fn a_reference_table_that_drifted_is_a_warning_and_shared_sequences_a_note() {
    let ddl = "create table kind (id serial primary key); create table good (tenant_id bigint, id bigserial, kind int references kind, primary key (tenant_id, id));";
    let own = [
        "insert into kind values (1), (2);",
        "insert into kind values (1);",
    ];
    let survey = between("sv_refdrift", ddl, own, |task| {
        task.settings.reference = vec!["kind".to_owned()];
    })
    .await;
    assert_eq!(refusals(&survey), []);
    let warning = survey.findings.iter().find(|f| f.code == "reference.drift");
    let warning = warning.expect("a warning");
    assert!(
        warning.problem.contains("2 row(s) on a, 1 on b"),
        "{warning:?}"
    );
    let note = survey.findings.iter().find(|f| f.code == "target.sequence");
    assert!(
        note.expect("a note").object.contains("good_id_seq"),
        "{note:?}"
    );
    assert_eq!(survey.tables.len(), 1);
}
