//! New partitions of moving tables: the agent creates them on the target and publishes them.

pub(super) mod after_flip;
mod retired;

use std::cell::Cell;
use std::sync::Arc;

use connect::Connected;
use plans::names::Direction;
use plans::request::Ddl;
use plans::step::StepKind;
use plans::table::TableName;

use super::bench::{Bench, code};
use super::ddl::{dispatched, plan, run};
use super::partitions::{COMING, LEAVES, SALE};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog::{self, RetiredPartitions};
use crate::shard::guard;
use crate::shard::publication::{self, AddedTable};
use crate::steps::definitions;

const FORWARD: Direction = Direction::Forward;
const CLOSED: i64 = i64::MAX;

/// A writer that was there first ends before the publication has the partition, and its rows count as written before.
#[tokio::test]
async fn a_partition_is_published_when_no_transaction_writes_to_it() {
    let bench = Bench::new("publishes", SALE).await;
    bench.guard(&bench.source, 0).await;
    bench.capture(FORWARD).await;
    let (ours, app) = (
        bench.ours(&bench.source).await,
        bench.source.session().await,
    );
    run(&app, COMING).await;
    let insert = "insert into public.sale (tenant_id, at) values (150, '2026-03-05')";
    run(&app, &format!("begin; {insert}")).await;
    let predicate = bench.predicate();
    let added = AddedTable {
        name: "\"public\".\"sale_3\"",
        published: format!("only public.sale_3 where {predicate}"),
        statements: String::new(),
        locked_top: None,
    };
    let count = "select count(*) from pg_publication_rel r join pg_class c on c.oid = r.prrelid where c.relname = 'sale_3'";
    let published = async || -> i64 {
        let row = bench.source.session().await.query_one(count, &[]).await;
        row.expect("read").get(0)
    };
    let adding = publication::add_table(&ours, &bench.token, FORWARD, &added);
    let writer_ends = async {
        super::shard::until("the agent waits for the writer", || async {
            let read = "select count(*) from pg_locks where mode = 'ShareRowExclusiveLock' and not granted \
                        and relation = 'public.sale_3'::regclass";
            let session = bench.source.session().await;
            session.query_one(read, &[]).await.expect("read").get::<_, i64>(0) > 0
        })
        .await;
        assert_eq!(published().await, 0);
        run(&app, "commit").await;
    };
    let (added_now, ()) = tokio::join!(adding, writer_ends);
    added_now.expect("published");
    assert_eq!(published().await, 1);
    publication::check(&ours, &bench.token, FORWARD)
        .await
        .expect("the new state is recorded");
    // A second time changes nothing; and a publication that another session has altered is not taken for the agent's.
    publication::add_table(&ours, &bench.token, FORWARD, &added)
        .await
        .expect("it has the table");
    let altered = format!(
        "alter publication {} drop table only public.sale_1",
        bench.token.migration.publication(FORWARD)
    );
    run(&ours, &altered).await;
    let refused = publication::add_table(&ours, &bench.token, FORWARD, &added).await;
    assert_eq!(code(refused), "publication.changed");
}

/// Returns the context of a step whose migration can adopt partitions.
async fn adopting(bench: &Bench) -> StepContext {
    let mut context = dispatched(bench, StepKind::CatchUp).await;
    let opened = serde_json::json!({ "consistent_point": "0/1" });
    Arc::make_mut(&mut context.dispatch)
        .outputs
        .insert(StepKind::OpenCapture.name().into(), opened);
    context
}

#[tokio::test]
async fn a_new_partition_is_created_on_the_target_guarded_and_published() {
    let bench = Bench::new("adopts", SALE).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    bench.capture(FORWARD).await;
    let context = adopting(&bench).await;
    let (app, there) = (
        bench.source.session().await,
        bench.ours(&bench.target).await,
    );
    run(
        &app,
        "create table public.sale_3 (like public.sale including defaults); \
         alter table public.sale_3 add constraint third primary key (tenant_id, at, id); \
         create index third_v on public.sale_3 (v); \
         insert into public.sale_3 values (150, '2026-03-05', 1, 'early'); \
         alter table public.sale attach partition public.sale_3 for values from ('2026-03-01') to ('2026-04-01')",
    )
    .await;
    let Err(StepError::Reshaped {
        tables, changes, ..
    }) = definitions::check(&context, StepKind::CatchUp).await
    else {
        panic!("it is not adopted");
    };
    assert!(
        changes.contains(&"public.sale: new partition public.sale_3".to_owned()),
        "{changes:?}"
    );
    let last = tables.last().expect("a table");
    assert_eq!(
        (last.table.name.as_str(), tables.len()),
        ("sale_3", LEAVES.len() + 1)
    );
    let id = &bench.token.migration;
    for database in [&bench.source, &bench.target] {
        guard::check(&bench.ours(database).await, id, &tables)
            .await
            .expect("guarded");
    }
    let names = [TableName::parse("sale_3")];
    let facts = async |of| {
        catalog::facts(of, &names, RetiredPartitions::OfOwner(&[]))
            .await
            .expect("read")
    };
    assert_eq!(facts(&there).await, facts(&app).await);
    let recorded = "select snapshot from shardwright.adopted where relation = 'public.sale_3'";
    let first: i32 = there.query_one(recorded, &[]).await.expect("read").get(0);
    assert_eq!(first, 1, "the slot's snapshot is older");
    // It is live: it may have rows of other keys, so an abort does not drop it.
    let created = "select count(*) from shardwright.created";
    let created: i64 = there.query_one(created, &[]).await.expect("read").get(0);
    assert_eq!(created, 0);

    // The plan follows. A partition that the target already has is adopted too, but not with moving rows.
    let mut context = context;
    let fingerprint = catalog::fingerprint(&app, &tables).await.expect("read");
    plan(&mut context, tables, fingerprint);
    definitions::check(&context, StepKind::CatchUp)
        .await
        .expect("the plan follows");
    let stray = "create table public.sale_4 (like public.sale including all); \
        insert into public.sale_4 values (150, '2026-04-05', 1, 'stray')";
    let attach = "alter table public.sale attach partition public.sale_4 for values from ('2026-04-01') to ('2026-05-01')";
    let plain = "create table public.sale_4 (like public.sale including all)";
    run(&there, stray).await;
    run(&there, attach).await;
    run(&app, plain).await;
    run(&app, attach).await;
    let refused = definitions::check(&context, StepKind::CatchUp).await;
    assert_eq!(code(refused), "target.stray");
}

/// A foreign key of the partition alone is validated on the target too.
#[tokio::test]
async fn a_partition_with_a_foreign_key_of_its_own_is_adopted() {
    let bench = Bench::new("adoptsreferring", SALE).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    bench.capture(FORWARD).await;
    let context = adopting(&bench).await;
    for database in [&bench.source, &bench.target] {
        let kind = "create table public.kind (v text primary key)";
        run(&bench.ours(database).await, kind).await;
    }
    let app = bench.source.session().await;
    run(&app, COMING).await;
    let refer = "alter table public.sale_3 add foreign key (v) references public.kind";
    run(&app, refer).await;
    let checked = definitions::check(&context, StepKind::CatchUp).await;
    assert!(
        matches!(checked, Err(StepError::Reshaped { .. })),
        "{checked:?}"
    );
}

/// A move of [`SALE`] whose rows refer to a table of both shards that is not part of the move.
async fn with_kind(name: &str) -> Bench {
    let schema = format!(
        "create table public.kind (id int primary key); {SALE}; \
         alter table public.sale add column kind int references public.kind"
    );
    let mut bench = Bench::new(name, &schema).await;
    Arc::make_mut(&mut bench.tables).retain(|table| table.table.name != "kind");
    bench
}

#[tokio::test]
async fn a_move_that_follows_changes_adopts_partitions_too() {
    let bench = Bench::new("adopts_followed", SALE).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    bench.capture(FORWARD).await;
    let mut context = adopting(&bench).await;
    Arc::make_mut(&mut context.dispatch).options.ddl = Ddl::Follow;
    assert!(context.follows_definitions());
    run(&bench.source.session().await, COMING).await;
    let checked = definitions::check(&context, StepKind::CatchUp).await;
    assert!(
        matches!(checked, Err(StepError::Reshaped { .. })),
        "{checked:?}"
    );
}

/// PostgreSQL cancels the session that has waited for `deadlock_timeout`, which could be the application's.
#[tokio::test]
async fn the_agent_gives_way_to_a_transaction_of_a_live_target() {
    let bench = with_kind("yields").await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    bench.capture(FORWARD).await;
    let context = adopting(&bench).await;
    let (app, there) = (bench.source.session().await, bench.target.session().await);
    run(&app, COMING).await;
    run(&there, "begin; insert into public.kind values (1)").await;
    let transaction = async {
        super::shard::until("the agent waits for the transaction", || async {
            let read = "select count(*) from pg_locks where not granted \
                        and mode = 'ShareRowExclusiveLock' and relation = 'public.kind'::regclass";
            let session = bench.target.session().await;
            session
                .query_one(read, &[])
                .await
                .expect("read")
                .get::<_, i64>(0)
                > 0
        })
        .await;
        // The agent has locked the default partition.
        let insert = "insert into public.sale (tenant_id, at, kind) values (50, '2026-06-06', 1)";
        run(&there, insert).await;
        run(&there, "commit").await;
    };
    let (checked, ()) = tokio::join!(definitions::check(&context, StepKind::CatchUp), transaction);
    assert!(
        matches!(checked, Err(StepError::Reshaped { .. })),
        "{checked:?}"
    );
}

/// The statements that an application uses on partitions, with the number of a month.
fn partition_statements(month: i64) -> [String; 7] {
    let table = format!("public.coming_{month}");
    let bounds = format!(
        "for values from ('2027-{month:02}-01') to ('2027-{:02}-01')",
        month + 1
    );
    [
        format!("create table {table} partition of public.sale {bounds}"),
        format!("insert into public.sale values (150, '2027-{month:02}-05', 1, 'v', 1)"),
        format!("alter table public.sale detach partition {table}"),
        format!(
            "begin; lock table public.kind in share row exclusive mode; \
                 alter table public.sale attach partition {table} {bounds}; commit"
        ),
        format!("insert into public.sale values (50, '2027-{month:02}-05', 2, 'v', 1)"),
        format!("truncate {table}"),
        format!("drop table {table}"),
    ]
}

/// The guard refuses TRUNCATE; no other statement fails, whatever the agent does with the partition at that time.
#[tokio::test]
async fn no_statement_on_partitions_fails_while_the_agent_adopts_them() {
    for round in 0..4 {
        let bench = with_kind(&format!("undisturbed{round}")).await;
        bench.guard(&bench.source, 0).await;
        bench.guard(&bench.target, CLOSED).await;
        bench.capture(FORWARD).await;
        let context = adopting(&bench).await;
        let app = bench.source.session().await;
        run(&app, "insert into public.kind values (1)").await;
        let (has_ended, adopted) = (Cell::new(false), Cell::new(0));
        let application = async {
            for month in 1..=3 {
                for statement in partition_statements(month) {
                    // In every other round the rest of the statements come after the adoption. A published partition
                    // that is dropped ends the adoptions of a migration.
                    if round % 2 == 0 && month == 1 && statement.contains("detach") {
                        super::shard::until("adopted", || async { adopted.get() > 0 }).await;
                    }
                    change_partition(&app, &statement).await;
                }
            }
            has_ended.set(true);
        };
        let agent = async {
            while !has_ended.get() {
                adopted.set(adopted.get() + try_to_adopt(&bench, &context).await);
            }
        };
        tokio::join!(application, agent);
    }
}

/// Executes a statement of the application, which the agent must not make fail.
async fn change_partition(app: &Connected, statement: &str) {
    match app.batch_execute(statement).await {
        Err(error) if statement.starts_with("truncate") => {
            let state = error.code().map(|state| state.code().to_owned());
            assert_eq!(state.as_deref(), Some("SM003"), "{statement}: {error:?}");
        }
        done => done.expect(statement),
    }
}

/// Returns the number of adoptions, 0 or 1. The target is then as before.
async fn try_to_adopt(bench: &Bench, context: &StepContext) -> u32 {
    let checked = definitions::check(context, StepKind::CatchUp).await;
    let there = bench.target.session().await;
    for month in 1..=3 {
        run(
            &there,
            &format!("drop table if exists public.coming_{month}"),
        )
        .await;
    }
    match checked {
        Err(StepError::Failed(failure)) => {
            assert_ne!(failure.code, "sql.40P01", "{failure:?}");
            0
        }
        Err(StepError::Reshaped { .. }) => 1,
        Err(StepError::Interrupted | StepError::Rewind { .. }) | Ok(()) => 0,
    }
}
