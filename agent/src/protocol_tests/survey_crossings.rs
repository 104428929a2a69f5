//! Foreign keys by which rows of different keys reference each other are reported before a plan is made.

use plans::doctor::Finding;
use plans::failure::Severity;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::survey::Survey;

use super::shard::Shard as Database;
use super::survey::{refuses, run, task};
use crate::inspect::survey;

/// A shop: stock, orders, and order lines, which another tenant may supply. All keys contain `tenant`.
const SHOP: &str = "
    create table stock (tenant bigint, id bigint, primary key (tenant, id));
    create table orders (tenant bigint, id bigint, primary key (tenant, id));
    create table line (tenant bigint, id bigint, order_id bigint, supplier bigint, item bigint, primary key (tenant, id),
        foreign key (tenant, order_id) references orders,
        constraint supplied foreign key (supplier, item) references stock);
    insert into stock select t, 1 from generate_series(1, 9) t;
    insert into orders select t, 1 from generate_series(1, 9) t;
    insert into line select t, 1, 1, t, 1 from generate_series(1, 9) t;";

/// Surveys the shop with additional rows. The keys from 5 on are to move.
async fn surveyed(name: &str, rows: &str) -> Survey {
    let source = Database::new(&format!("{name}_s")).await;
    let target = Database::on(source.cluster.clone(), &format!("{name}_t")).await;
    run(&source, &format!("{SHOP} {rows}")).await;
    let listed = [
        ("stock", "tenant"),
        ("orders", "tenant"),
        ("line", "tenant"),
    ];
    let mut task = task(&source.dsn_text(), &target.dsn_text(), &listed);
    task.keys = KeySet::range(Some(Key::Int(5)), None);
    survey::run(&task).await.expect("surveyed")
}

/// Returns the findings except that of the test server, which does not wait for the disk.
fn of_the_schema(survey: &Survey) -> Vec<&Finding> {
    let findings = survey.findings.iter();
    findings.filter(|f| f.code != "server.fsync").collect()
}

#[tokio::test]
async fn rows_that_refer_across_the_cut_are_refused_and_the_foreign_key_is_named() {
    for (name, rows) in [
        ("sv_across_out", "insert into line values (8, 2, 1, 2, 1)"),
        ("sv_across_in", "insert into line values (2, 2, 1, 8, 1)"),
    ] {
        let survey = surveyed(name, rows).await;
        refuses(
            &survey,
            "foreign_key.across",
            "foreign key supplied of public.line",
            "drop constraint \"supplied\"",
        );
        let [_] = of_the_schema(&survey)[..] else {
            panic!("{:?}", survey.findings)
        };
    }
}

#[tokio::test]
async fn a_foreign_key_that_only_could_lead_across_is_a_note() {
    let on_one_side = "insert into line values (8, 2, 1, 9, 1), (1, 2, 1, 2, 1)";
    let survey = surveyed("sv_loose", on_one_side).await;
    let [finding] = of_the_schema(&survey)[..] else {
        panic!("{:?}", survey.findings)
    };
    assert_eq!(
        (finding.code.as_str(), finding.severity),
        ("foreign_key.loose", Severity::Note)
    );
    assert!(
        finding
            .object
            .contains("foreign keys supplied of public.line"),
        "{finding:?}"
    );
}
