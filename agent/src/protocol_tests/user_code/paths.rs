//! Each way in which the agent accesses a table, with code that the owner added after the plan.

use std::sync::Arc;

use plans::names::Direction;
use plans::request::Mode;
use plans::step::StepKind;

use super::super::bench::{Bench, VERSION};
use super::super::ddl;
use super::super::interrupted::again;
use super::super::verify::case::VerifyCase;
use super::{OWNED, as_owner, assert_refused};
use crate::steps::{self, drop_old};

/// Runs when a row is written.
const CHECK: &str = "alter table public.item add constraint c check (evil.act()) not valid";
/// Runs when a statement on the table is planned.
const CONSTANT: &str = "create index i on public.item ((id + evil.same(1)))";
/// Fires in sessions with `session_replication_role = replica`.
const TRIGGER: &str = "create trigger t before insert or update or delete on public.item for each row execute function evil.fired(); \
    alter table public.item enable always trigger t";
/// Runs for each row that is written directly into the partition.
const ATTACHED: &str = "create table public.whole (like public.item) partition by list (evil.same(id)); \
    alter table public.whole attach partition public.item for values in (1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 21)";
/// PostgreSQL locks no table for this change.
const DOMAIN: &str = "alter domain evil.mail add check (evil.act()) not valid";

const ROWS: &str =
    "insert into public.item select 100, g, 'v', 'a@b', null, 'low' from generate_series(1, 9) g";

/// Creates a table that belongs to `evil`, with rows on the source.
async fn bench(name: &str) -> Bench {
    let bench = Bench::new(name, OWNED).await;
    as_owner(&bench.source.session().await, ROWS).await;
    bench
}

#[tokio::test]
async fn a_copy_runs_no_code_of_the_owner_on_either_side() {
    for (name, on_target, attack) in [
        ("copy_check", true, CHECK),
        ("copy_domain", true, DOMAIN),
        ("copy_trigger", true, TRIGGER),
        ("copy_from", false, CONSTANT),
        ("copy_to", true, CONSTANT),
    ] {
        let bench = bench(name).await;
        let attacked = if on_target {
            &bench.target
        } else {
            &bench.source
        };
        as_owner(&attacked.session().await, attack).await;
        let mut context = again(&bench, StepKind::Copy);
        Arc::make_mut(&mut context.dispatch).mode = Mode::Offline;
        let copied = steps::run(&context, StepKind::Copy).await;
        assert_refused(&bench, copied, attack).await;
    }
}

#[tokio::test]
async fn changes_run_no_code_that_came_while_they_are_applied() {
    for (name, attack) in [
        ("code_check", CHECK),
        ("code_domain", DOMAIN),
        ("code_trigger", TRIGGER),
        ("code_index", CONSTANT),
    ] {
        let bench = bench(name).await;
        bench.capture(Direction::Forward).await;
        let stream = bench.stream(Direction::Forward).await;
        let app = bench.source.session().await;
        let write = |id: i32| {
            format!("insert into public.item values (100, {id}, 'v', 'a@b', null, 'low')")
        };
        // A previous proof must not remain valid without a limit.
        as_owner(&app, &write(20)).await;
        bench.drain(&stream).await.expect("applied");
        as_owner(&bench.target.session().await, attack).await;
        as_owner(&app, &write(21)).await;
        let refused = bench.drain(&stream).await;
        assert_refused(&bench, refused, attack).await;
    }
}

/// The partition bounds are evaluated for rows that are written into the partition, although no catalog row of the
/// partition itself refers to them.
#[tokio::test]
async fn changes_run_no_code_of_a_partitioned_table_that_their_table_came_to() {
    let ddl = format!(
        "{OWNED} alter table public.item drop column mail, drop column pair, drop column mood"
    );
    let bench = Bench::new("code_attached", &ddl).await;
    bench.capture(Direction::Forward).await;
    let stream = bench.stream(Direction::Forward).await;
    let app = bench.source.session().await;
    as_owner(&app, "insert into public.item values (100, 20, 'v')").await;
    bench.drain(&stream).await.expect("applied");
    as_owner(&bench.target.session().await, ATTACHED).await;
    as_owner(&app, "insert into public.item values (100, 21, 'v')").await;
    let refused = bench.drain(&stream).await;
    assert_refused(&bench, refused, ATTACHED).await;
}

#[tokio::test]
async fn a_comparison_and_its_repair_run_no_code_of_the_owner() {
    for (name, on_target, attack) in [
        ("code_here", false, CONSTANT),
        ("code_there", true, CONSTANT),
        ("code_repair", true, CHECK),
    ] {
        let bench = Bench::new(name, OWNED).await;
        let case = VerifyCase::of(
            bench,
            &format!("set role evil; {ROWS}; reset role"),
            "select 1",
        )
        .await;
        let attacked = if on_target {
            &case.target
        } else {
            &case.source
        };
        as_owner(attacked, attack).await;
        let verified = case.run(1, true).await;
        assert_refused(&case.bench, verified, attack).await;
    }
}

#[tokio::test]
async fn moved_rows_are_removed_without_code_of_the_owner() {
    for (name, keeps_keys) in [("code_delete", true), ("code_empty", false)] {
        let bench = bench(name).await;
        let app = bench.source.session().await;
        bench.guard(&bench.source, i64::MAX).await;
        bench.guard(&bench.target, 0).await;
        let told = format!("update shardwright.move set flipped = {}", VERSION + 1);
        ddl::run(&app, &told).await;
        as_owner(&app, TRIGGER).await;
        as_owner(&app, CONSTANT).await;
        let mut context = ddl::dispatched(&bench, StepKind::DropOld).await;
        Arc::make_mut(&mut context.dispatch).source_keeps_keys = keeps_keys;
        let dropped = drop_old::run(&context).await;
        assert_refused(&bench, dropped, name).await;
    }
}

#[tokio::test]
async fn a_table_of_an_owner_who_wrote_no_code_is_copied() {
    let bench = bench("code_none").await;
    let mut context = again(&bench, StepKind::Copy);
    Arc::make_mut(&mut context.dispatch).mode = Mode::Offline;
    let copied = steps::run(&context, StepKind::Copy).await;
    copied.expect("copied");
    let target = bench.target.session().await;
    let read = "select count(*) from public.item";
    let rows: i64 = target.query_one(read, &[]).await.expect("read").get(0);
    assert_eq!(rows, 9);
}
