//! Measures the time of the doctor for a schema with many tables.

use std::path::Path;
use std::time::Instant;

use plans::doctor::{DoctorTask, MapTables};
use plans::inspection::{Inspected, Inspection};
use plans::request::Mode;

use super::shard::Shard as Database;
use super::survey::{run, task};
use crate::inspect;

const TABLES: usize = 5_000;

fn wide(tables: usize) -> String {
    let table = |at: usize| {
        format!(
            "create table t{at} (tenant_id bigint not null, id bigint not null, a text, b int default 1 check (b > 0), c timestamptz default now(),
                r1 bigint, r2 bigint, r3 bigint, primary key (tenant_id, id)); create index on t{at} (tenant_id, a); create index on t{at} (c);"
        )
    };
    (0..tables).map(table).collect()
}

#[tokio::test]
#[ignore = "figures"]
async fn the_doctor_of_many_tables() {
    let source = Database::with_settings("many_s", &[("max_locks_per_transaction", "1024")]).await;
    run(&source, &wide(TABLES)).await;
    let names: Vec<String> = (0..TABLES).map(|at| format!("t{at}")).collect();
    let listed: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "tenant_id"))
        .collect();
    let task = task(&source.dsn_text(), &source.dsn_text(), &listed);
    let task = DoctorTask {
        shard: task.source,
        maps: vec![MapTables {
            mapped: None,
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
