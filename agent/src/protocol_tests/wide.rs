//! Figures: what a plan of a wide schema costs, beside a dump and a restore of it.

use std::path::Path;
use std::time::Instant;

use plans::doctor::{DoctorTask, MapTables};
use plans::inspection::{Inspected, Inspection};
use plans::request::Mode;
use plans::survey::SurveyTask;

use super::shard::Shard as Database;
use super::survey::{refusals, run, task};
use crate::inspect::{self, survey};

/// Tables and foreign keys of the schema.
const WIDE: (usize, usize) = (138, 339);

fn wide((tables, keys): (usize, usize)) -> String {
    let mut ddl = String::new();
    for at in 0..tables {
        ddl.push_str(&format!(
            "create table t{at} (tenant_id bigint not null, id bigint not null, a text, b int default 1 check (b > 0), c timestamptz default now(),
                r1 bigint, r2 bigint, r3 bigint, primary key (tenant_id, id)); create index on t{at} (tenant_id, a); create index on t{at} (c);"
        ));
    }
    for key in 0..keys {
        let (from, to, column) = (key % tables, (key * 7 + 1) % tables, 1 + key / tables);
        ddl.push_str(&format!(
            "alter table t{from} add foreign key (tenant_id, r{column}) references t{to};"
        ));
    }
    ddl
}

#[tokio::test]
#[ignore = "figures"]
async fn a_plan_of_a_wide_schema() {
    let source = Database::new("wide_s").await;
    let target = Database::on(source.cluster.clone(), "wide_t").await;
    let _other = Database::on(source.cluster.clone(), "wide_o").await;
    run(&source, &wide(WIDE)).await;
    let names: Vec<String> = (0..WIDE.0).map(|at| format!("t{at}")).collect();
    let listed: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "tenant_id"))
        .collect();
    let task = SurveyTask {
        mode: Mode::Online,
        ..task(&source.dsn_text(), &target.dsn_text(), &listed)
    };
    let (begun, bin) = (Instant::now(), "/usr/lib/postgresql/15/bin");
    let piped = format!("{bin}/pg_dump --schema-only wide_s | {bin}/psql -q -X wide_o > /dev/null");
    let mut shell = tokio::process::Command::new("bash");
    for (name, value) in source.dsn().resolve().expect("resolved").variables() {
        shell.envs(value.map(|value| (name, value)));
    }
    let done = shell.args(["-c", &piped]).status().await;
    assert!(done.expect("ran").success());
    println!("pg_dump | psql: {:?}", begun.elapsed());
    for trial in [false, true] {
        let begun = Instant::now();
        let survey = survey::run(&SurveyTask {
            trial,
            ..task.clone()
        })
        .await
        .expect("surveyed");
        assert_eq!(refusals(&survey), []);
        println!(
            "survey, trial {trial}: {:?} {:?}",
            begun.elapsed(),
            survey.trial
        );
    }
}

#[tokio::test]
#[ignore = "figures"]
async fn the_doctor_of_many_tables() {
    const TABLES: usize = 5_000;
    let source = Database::with_settings("many_s", &[("max_locks_per_transaction", "1024")]).await;
    run(&source, &wide((TABLES, 0))).await;
    let names: Vec<String> = (0..TABLES).map(|at| format!("t{at}")).collect();
    let listed: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "tenant_id"))
        .collect();
    let task = task(&source.dsn_text(), &source.dsn_text(), &listed);
    let task = DoctorTask {
        shard: task.source,
        maps: vec![MapTables {
            map: task.map,
            settings: task.settings,
            key: task.key,
        }],
        mode: Mode::Online,
    };
    let begun = Instant::now();
    let seen = inspect::run(&Inspection::Doctor(task), Path::new("/")).await;
    let Ok(Inspected::Doctor(examined)) = seen else {
        panic!("{seen:?}")
    };
    println!(
        "doctor of {} tables: {:?}, {} findings",
        examined.tables,
        begun.elapsed(),
        examined.findings.len()
    );
}
