//! Defects that the test server cannot have: other versions, clocks that are ahead, and a missing pg_dump of the
//! server's version. The tests simulate them in one database by replacing a function of the catalog.

use super::pairs::{PairCase, live, surveyed};
use super::{Database, GOOD, QUICK, codes, ddl, examine, judge, plant, server, server_of_its_own};

/// Returns DDL that makes the server report this version number.
fn of_version(number: u32) -> String {
    format!(
        "create or replace function pg_catalog.current_setting(text) returns text stable called on null input \
         language sql as $$ select case when $1 = 'server_version_num' then '{number}' \
                                         else pg_catalog.current_setting($1, false) end $$;"
    )
}

/// A version for which no programs are installed, so that the writer reads the schema from the catalog.
const UNHEARD_OF: u32 = 990_000;

/// Makes `now()`, by which transactions are measured, return a time five minutes in the future.
const LATER: &str = "
    create or replace function pg_catalog.now() returns timestamptz stable language sql
        as 'select pg_catalog.transaction_timestamp() + interval ''5 minutes''';";

/// Makes `clock_timestamp()` return a time one minute in the future.
const AHEAD: &str = "
    create or replace function pg_catalog.clock_timestamp() returns timestamptz volatile language sql
        as 'select pg_catalog.statement_timestamp() + interval ''1 minute''';";

const UNCARRIED: &str = "create aggregate total (int) (sfunc = pg_catalog.int4pl, stype = int)";

/// A table and a function that depend on each other. The table stays.
const CYCLE: &str = "
    create function twice(int) returns int immutable language sql return $1 * 2;
    create table item (id int primary key, double int generated always as (twice(id)) stored);
    create or replace function twice(int) returns int immutable language sql
        begin atomic select count(*)::int * 2 from item; end";

#[tokio::test]
async fn a_version_to_avoid_is_found() {
    for (number, code) in [(140_012, "server.version"), (150_013, "server.minor")] {
        let database = Database::on(server().await, &format!("feigned_{number}")).await;
        ddl(&database, &format!("{GOOD} {}", of_version(number))).await;
        let found = examine(plant("", "").task(&database.dsn_text())).await;
        assert_eq!(judge(code, &found.findings), None);
    }
}

#[tokio::test]
async fn a_transaction_that_is_open_for_minutes_is_found() {
    let database = Database::on(server_of_its_own("doctor_old").await, "old").await;
    ddl(&database, &format!("{GOOD} {LATER}")).await;
    let task = plant("", "").task(&database.dsn_text());
    let writer = database.session().await;
    let write = "begin; insert into public.good values (1, 1)";
    writer.batch_execute(write).await.expect("written");
    let found = examine(task.clone()).await;
    assert_eq!(judge("transaction.old", &found.findings), None);
    writer.batch_execute("rollback").await.expect("ended");
    let (found, text) = codes(&examine(task).await.findings);
    assert!(found.is_empty(), "{text}");
}

#[tokio::test]
async fn clocks_that_differ_are_found() {
    let cluster = server().await;
    let source = Database::on(cluster.clone(), "clock_s").await;
    let target = Database::on(cluster, "clock_t").await;
    ddl(&source, GOOD).await;
    ddl(&target, &format!("{GOOD} {AHEAD}")).await;
    let pair = live("pair.clock", "", "");
    let found = surveyed(&pair, &source.dsn_text(), &target.dsn_text()).await;
    assert_eq!(judge(pair.code, &found), None);
}

#[tokio::test]
async fn what_the_catalog_writer_cannot_write_is_found() {
    let cluster = server().await;
    let pairs = [
        live("schema.uncarried", UNCARRIED, ""),
        PairCase {
            settings: r#"{"tables": {"good": "tenant_id"}, "ignore": ["item"]}"#,
            ..live("schema.cycle", CYCLE, "")
        },
    ];
    for (number, pair) in pairs.iter().enumerate() {
        let source = Database::on(cluster.clone(), &format!("written_{number}_s")).await;
        let target = Database::on(cluster.clone(), &format!("written_{number}_t")).await;
        let unheard_of = of_version(UNHEARD_OF);
        ddl(&source, &format!("{unheard_of} {GOOD} {}", pair.source)).await;
        ddl(&target, &unheard_of).await;
        let found = surveyed(pair, &source.dsn_text(), &target.dsn_text()).await;
        assert_eq!(judge(pair.code, &found), None);
    }
}

/// Simulates PostgreSQL 18: constraints in the catalog are not enforced.
const UNENFORCED: &str = "
    create or replace function pg_catalog.to_jsonb(anyelement) returns jsonb stable language sql
        as $$ select '{\"conenforced\": false}'::jsonb $$;";

/// A check constraint and a foreign key that are not validated, the latter on a partition.
const UNCHECKED: &str = "
    alter table good add check (id > 0) not valid;
    create table item (tenant_id bigint, id bigint, good bigint, primary key (tenant_id, id)) partition by hash (tenant_id);
    create table part partition of item for values with (modulus 1, remainder 0);
    alter table item add constraint kept foreign key (tenant_id, good) references good;
    update pg_constraint set convalidated = false where conrelid = 'part'::regclass and contype = 'f'";

#[tokio::test]
async fn a_constraint_that_is_not_enforced_is_not_to_be_validated() {
    let database = Database::on(server().await, "unenforced").await;
    ddl(&database, &format!("{GOOD} {UNCHECKED}")).await;
    let listed =
        plant("", "").settings(r#"{"tables": {"good": "tenant_id", "item": "tenant_id"}}"#);
    let task = listed.task(&database.dsn_text());
    let remedies = async || -> Vec<(String, String)> {
        let findings = examine(task.clone()).await.findings.into_iter();
        let findings = findings.filter(|finding| finding.code != QUICK);
        findings
            .map(|finding| (finding.code, finding.remedy))
            .collect()
    };
    let told = |code: &str, remedy: &str| (code.to_owned(), remedy.to_owned());
    assert_eq!(
        remedies().await,
        [
            told(
                "table.not_valid",
                "alter table public.good validate constraint good_id_check"
            ),
            told(
                "foreign_key.not_valid",
                "alter table public.part validate constraint kept"
            ),
        ]
    );
    ddl(&database, UNENFORCED).await;
    let enforce = "alter table public.item alter constraint kept enforced";
    assert_eq!(remedies().await, [told("foreign_key.not_valid", enforce)]);
}

/// Simulates PostgreSQL 18: a key column that is computed when it is read.
const VIRTUAL: &str = "
    create table made (account bigint not null, tenant_id bigint generated always as (account) stored, id bigint, primary key (tenant_id, id));
    update pg_attribute set attgenerated = 'v' where attrelid = 'made'::regclass and attname = 'tenant_id'";

#[tokio::test]
async fn a_virtual_key_is_not_told_to_drop_its_expression() {
    let database = Database::on(server().await, "virtual").await;
    ddl(&database, &format!("{GOOD} {VIRTUAL}")).await;
    let listed =
        plant("", "").settings(r#"{"tables": {"good": "tenant_id", "made": "tenant_id"}}"#);
    let found = examine(listed.task(&database.dsn_text())).await.findings;
    let finding = found.iter().find(|finding| finding.code == "key.generated");
    let remedy = &finding.expect("found").remedy;
    assert!(!remedy.contains("drop expression"), "{remedy}");
}
