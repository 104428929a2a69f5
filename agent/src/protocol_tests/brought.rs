//! The removal of a copy removes only what the migration created: it keeps tables that contain other rows, and rows
//! that other migrations copied.

use std::sync::Arc;

use connect::Connected;
use plans::id::{Epoch, MapName, MapVersion, MigrationId};
use plans::inspection::Inspection;
use plans::inspection::inventory::About;
use plans::inspection::sweep::{Guards, Sweep, SweepTask};
use plans::key::Key;
use plans::key_set::KeySet;
use plans::request::Schema;
use plans::step::StepKind;
use plans::step::unwind::Unwound;
use plans::table::{MovingTable, TableKey, TableName};

use super::bench::{Bench, ITEM, VERSION, code, state, tables};
use super::interrupted::again;
use crate::inspect;
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::{conflicting_migrations, created};
use crate::steps;

const CLOSED: i64 = i64::MAX;
const TWO: &str =
    "create table public.item (tenant_id bigint, id bigint, v text, primary key (tenant_id, id));
    create table public.other (id bigint primary key)";

fn keys(from: i64, to: i64) -> KeySet {
    KeySet::range(Some(Key::Int(from)), Some(Key::Int(to)))
}

async fn count(session: &Connected, what: &str) -> i64 {
    let sql = format!("select count(*) from {what}");
    session.query_one(&sql, &[]).await.expect("counted").get(0)
}

/// Creates a target with two tables that the migration created. Only one of them moves, and it has a row of the moving
/// keys.
async fn created(name: &str) -> (Bench, Connected) {
    let mut bench = Bench::new(name, TWO).await;
    let item = bench.tables.iter().filter(|t| t.table.name == "item");
    bench.tables = Arc::new(item.cloned().collect());
    let there = bench.ours(&bench.target).await;
    there
        .batch_execute(&format!(
            "begin; drop table public.item, public.other; {TWO}"
        ))
        .await
        .expect("created");
    created::record(&there, &bench.token.migration)
        .await
        .expect("recorded");
    there
        .batch_execute(
            "commit; insert into public.item values (150, 1, 'copied'); update shardwright.move set loaded = true",
        )
        .await
        .expect("copied");
    bench.guard(&bench.target, CLOSED).await;
    (bench, there)
}

/// Runs the step `drop_new`. Returns the objects that stay.
async fn drop_new(bench: &Bench) -> Vec<String> {
    let done = steps::run(&again(bench, StepKind::DropNew), StepKind::DropNew)
        .await
        .expect("taken back");
    let unwound: Unwound = serde_json::from_value(done).expect("its output");
    let left = unwound.leftovers.into_iter();
    left.map(|left| left.object).collect()
}

#[tokio::test]
async fn tables_that_hold_nothing_but_the_copy_go() {
    let (bench, there) = created("brought_go").await;
    drop_new(&bench).await;
    let left = "pg_tables where schemaname in ('public', 'shardwright')";
    assert_eq!(count(&there, left).await, 0);
}

#[tokio::test]
async fn tables_that_others_have_filled_stay_and_only_the_copied_rows_go() {
    let (bench, there) = created("brought_stay").await;
    there
        .batch_execute("insert into public.other values (7)")
        .await
        .expect("the only copy");
    drop_new(&bench).await;
    assert_eq!(count(&there, "public.other").await, 1);
    assert_eq!(count(&there, "public.item").await, 0);
}

/// The migration created one of its tables, for example an adopted partition. The other one has copied rows.
#[tokio::test]
async fn copied_rows_go_from_a_table_that_another_migration_uses() {
    let (bench, there) = created("brought_part").await;
    there
        .batch_execute(
            "insert into shardwright.shared_object
             select migration, class, oid from shardwright.created where identity = 'public.item'",
        )
        .await
        .expect("shared");
    drop_new(&bench).await;
    assert_eq!(count(&there, "public.item").await, 0);
    assert_eq!(count(&there, "public.other").await, 0);
}

/// After a rollback the plan no longer contains the reference tables, but the shard has recorded them.
#[tokio::test]
async fn a_reference_table_that_the_plan_has_no_more_goes_with_the_others() {
    let (bench, there) = created("brought_reference").await;
    let mut other = tables(&there).await;
    other.retain(|table| table.table.name == "other");
    other[0].key = TableKey::Reference;
    let about = About {
        tables: [other, bench.tables.to_vec()].concat(),
        ..about(&bench.keys)
    };
    there
        .execute(
            "update shardwright.move set about = $1",
            &[&serde_json::json!(about)],
        )
        .await
        .expect("said");
    there
        .batch_execute("insert into public.other values (7)")
        .await
        .expect("the same on every shard");
    drop_new(&bench).await;
    let left = "pg_tables where schemaname in ('public', 'shardwright')";
    assert_eq!(count(&there, left).await, 0);
}

#[tokio::test]
async fn tables_that_somebody_has_built_on_stay() {
    let (bench, there) = created("brought_view").await;
    there
        .batch_execute("create view public.seen as select * from public.other")
        .await
        .expect("built");
    let left = drop_new(&bench).await;
    let tables = ["table public.item", "table public.other"];
    assert!(
        tables
            .iter()
            .all(|table| left.iter().any(|left| left == table)),
        "{left:?}"
    );
    assert_eq!(count(&there, "public.seen").await, 0);
    assert_eq!(count(&there, "public.item").await, 0);
}

/// Returns the description that a migration records of itself.
fn about(keys: &KeySet) -> About {
    About {
        incarnation: "lost".to_owned(),
        source: "source".into(),
        target: "target".into(),
        keys: keys.clone(),
        tables: Vec::new(),
    }
}

/// Adds another migration to a shard, with its description.
async fn beside(session: &Connected, name: &str, keys: &KeySet) -> EpochToken {
    let token = EpochToken {
        migration: MigrationId::from(name),
        epoch: Epoch(1),
        until: MapVersion(VERSION),
    };
    epoch::enrol(session, &token, "target", "m")
        .await
        .expect("enrolled");
    session
        .execute(
            "update shardwright.move set about = $2 where migration = $1",
            &[&token.migration.0, &serde_json::json!(about(keys))],
        )
        .await
        .expect("said");
    token
}

/// Returns the step `create_target`, dispatched with the plan of both shards.
async fn preparing(bench: &Bench) -> StepContext {
    let context = again(bench, StepKind::CreateTarget);
    let session = bench.ours(&bench.source).await;
    let mut dispatch = (*context.dispatch).clone();
    dispatch.schema_fingerprint = catalog::fingerprint(&session, &bench.tables)
        .await
        .expect("read");
    StepContext::new(
        dispatch,
        context.session,
        context.controller,
        context.cancel,
    )
}

#[tokio::test]
async fn who_comes_to_a_shard_keeps_the_tables_that_others_made() {
    let bench = Bench::new("brought_keep", ITEM).await;
    let there = bench.ours(&bench.target).await;
    beside(&there, "first", &keys(500, 600)).await;
    there
        .batch_execute(
            "update shardwright.move set loaded = true where migration = 'first'; \
             insert into shardwright.created values ('first', 'pg_class'::regclass, 1, 'table', 'a')",
        )
        .await
        .expect("recorded");
    let made = steps::prepare_target(&preparing(&bench).await)
        .await
        .expect("ready");
    assert!(!made.created);
    let kept = "shardwright.move where migration = 'first' and loaded";
    assert_eq!(count(&there, kept).await, 1);
    let shared = "shardwright.created join shardwright.shared_object using (migration, class, oid)";
    assert_eq!(count(&there, shared).await, 1);
    let first = MigrationId::from("first");
    assert!(!created::is_recorded(&there, &first).await.expect("read"));
}

/// A migration of another schema can use the shared function, and neither the tables nor the schema.
#[tokio::test]
async fn a_move_of_other_whole_tables_shares_only_what_both_need() {
    let bench = Bench::new("brought_whole", ITEM).await;
    let there = bench.ours(&bench.target).await;
    let of_schema = |schema: &str| {
        let name = TableName::parse(&format!("{schema}.item"));
        MovingTable::bare(name, TableKey::Schema(schema.to_owned()))
    };
    beside(&there, "first", &keys(500, 600)).await;
    let about = About {
        // One of the tables does not exist on this shard.
        tables: vec![
            of_schema("One"),
            MovingTable::bare(
                TableName::parse("One.other"),
                TableKey::Schema("One".to_owned()),
            ),
        ],
        ..about(&bench.keys)
    };
    let recorded = "update shardwright.move set about = $1 where migration = 'first'";
    there
        .execute(recorded, &[&serde_json::json!(about)])
        .await
        .expect("recorded");
    let first = MigrationId::from("first");
    let create = "begin; create schema \"One\"; create table \"One\".item (id serial);
        create type \"One\".mood as enum (); create view public.items as select * from \"One\".item;
        create function public.shared() returns int language sql as 'select 1'";
    there.batch_execute(create).await.expect("created");
    created::record(&there, &first).await.expect("recorded");
    there.batch_execute("commit").await.expect("recorded");
    conflicting_migrations::share_objects_of_others(&there, &bench.token, &[of_schema("two")])
        .await
        .expect("shared");
    let shared = "select pg_identify_object(class, oid, 0)::text from shardwright.shared_object";
    let shared: String = there.query_one(shared, &[]).await.expect("one").get(0);
    assert!(shared.contains("public.shared()"), "{shared}");
    // What the migration created is still known, also for the comparison of its schema.
    let names = created::names(&there, &first).await;
    assert_eq!(names.expect("names").len(), 6);
    let drops = created::drop_statements(&there, &first)
        .await
        .expect("read");
    let drops = drops.expect("an order").join(";");
    assert!(!drops.contains("shared"), "{drops}");
    there.batch_execute(&drops).await.expect("dropped");

    // A move that uses the same tables can use everything.
    conflicting_migrations::share_objects_of_others(&there, &bench.token, &[of_schema("One")])
        .await
        .expect("shared");
    assert!(!created::is_recorded(&there, &first).await.expect("read"));
}

#[tokio::test]
async fn tables_that_should_exist_already_are_not_made() {
    let bench = Bench::new("brought_existing", ITEM).await;
    let there = bench.ours(&bench.target).await;
    let context = preparing(&bench).await;
    let mut dispatch = (*context.dispatch).clone();
    dispatch.options.schema = Schema::Existing;
    let context = StepContext::new(
        dispatch,
        context.session,
        context.controller,
        context.cancel,
    );
    let made = steps::prepare_target(&context)
        .await
        .expect("they are there");
    assert!(!made.created);
    let drop = "drop table public.item";
    there.batch_execute(drop).await.expect("dropped");
    assert_eq!(code(steps::prepare_target(&context).await), "target.absent");
}

const FINDINGS: &str = "
    insert into shardwright.snapshot (migration, number, snapshot, barrier) select migration, 0, '1:1:', '0/0' from shardwright.move;
    insert into shardwright.verification (migration, direction, run, fingerprint, storage, finished_at) select migration, 'forward', 0, '', '{}', now() from shardwright.move;
    insert into shardwright.verified (migration, direction, relation, ordinal, part) select migration, 'forward', 'r', 1, '' from shardwright.move;
    insert into shardwright.difference (migration, direction, relation, ordinal, key, digest, kind, columns)
      select migration, 'forward', 'r', 1, 'k', '', 'missing', '{}' from shardwright.move";

async fn findings(session: &Connected) -> i64 {
    let mut all = 0;
    for table in ["verification", "verified", "difference"] {
        all += count(session, &format!("shardwright.{table}")).await;
    }
    all
}

#[tokio::test]
async fn a_copy_that_begins_again_was_never_compared() {
    let bench = Bench::new("brought_anew", ITEM).await;
    let there = bench.ours(&bench.target).await;
    there.batch_execute(FINDINGS).await.expect("recorded");
    steps::prepare_target(&preparing(&bench).await)
        .await
        .expect("ready");
    assert_eq!(findings(&there).await, 0);
    assert_eq!(count(&there, "shardwright.snapshot").await, 0);
}

#[tokio::test]
async fn a_comparison_from_before_the_indexes_does_not_count() {
    let bench = Bench::new("brought_index", ITEM).await;
    let there = bench.ours(&bench.target).await;
    there.batch_execute(FINDINGS).await.expect("recorded");
    let step = StepKind::BuildIndexes;
    steps::run(&again(&bench, step), step).await.expect("built");
    assert_eq!(findings(&there).await, 0);
    assert_eq!(
        count(&there, "shardwright.snapshot").await,
        1,
        "the copy's own stays"
    );
}

#[tokio::test]
async fn a_target_with_what_another_migration_left_of_the_same_keys_is_refused() {
    let bench = Bench::new("brought_left", ITEM).await;
    let there = bench.ours(&bench.target).await;
    beside(&there, "left", &keys(180, 300)).await;
    let context = preparing(&bench).await;
    assert_eq!(
        code(steps::prepare_target(&context).await),
        "target.leftover"
    );
    let own = format!(
        "shardwright.move where migration = '{}'",
        bench.token.migration
    );
    assert_eq!(count(&there, &own).await, 0, "it stands in nobody's way");
    there
        .batch_execute("delete from shardwright.move where migration = 'left'")
        .await
        .expect("swept");
    beside(&there, "else", &keys(200, 300)).await;
    steps::prepare_target(&context)
        .await
        .expect("other keys are no matter");
}

async fn sweep(bench: &Bench, left_too: &[MigrationId]) -> Result<(), String> {
    let context = again(bench, StepKind::CreateTarget);
    let guards = Guards {
        map: MapName::from("m"),
        version: 0,
        refuse: None,
        keys: Some(bench.keys.clone()),
        tables: bench.tables.to_vec(),
        copied: true,
        left_too: left_too.to_vec(),
    };
    let task = SweepTask {
        shard: context.dispatch.target.clone(),
        sweeps: vec![Sweep::Migration {
            migration: bench.token.migration.clone(),
            guards: Some(guards),
        }],
    };
    let swept = inspect::run(&Inspection::Sweep(Box::new(task)), &std::env::temp_dir()).await;
    swept.map(|_| ()).map_err(|failure| failure.code)
}

#[tokio::test]
async fn a_sweep_deletes_no_rows_that_another_migration_may_have_brought() {
    let bench = Bench::new("brought_sweep", ITEM).await;
    let there = bench.ours(&bench.target).await;
    there
        .batch_execute("insert into public.item values (150, 1, 'theirs'); update shardwright.move set loaded = true")
        .await
        .expect("copied");
    bench.guard(&bench.target, CLOSED).await;
    let other = beside(&there, "live", &keys(140, 160)).await;
    assert_eq!(sweep(&bench, &[]).await, Err("drop.others".to_owned()));
    // The sweep has ended the bench's session, like those of an older owner.
    let app = bench.target.session().await;
    assert_eq!(count(&app, "public.item").await, 1);
    let write = app.execute("insert into public.item values (150, 2, 'x')", &[]);
    assert_eq!(state(write.await), "SM002", "the guard stands");
    sweep(&bench, &[other.migration])
        .await
        .expect("both were left");
    assert_eq!(count(&app, "public.item").await, 0);
}

#[tokio::test]
async fn tables_made_anew_refuse_what_was_given_away_with_the_old_ones() {
    let bench = Bench::new("brought_away", ITEM).await;
    let there = bench.ours(&bench.target).await;
    there
        .batch_execute("drop table public.item")
        .await
        .expect("dropped with its rows");
    there
        .execute(
            "insert into shardwright.away (map, keys, map_version) values ('m', $1, 3)",
            &[&serde_json::json!(keys(50, 300))],
        )
        .await
        .expect("given");
    let made = steps::prepare_target(&preparing(&bench).await)
        .await
        .expect("ready");
    assert!(made.created);
    let app = bench.target.session().await;
    let insert = async |tenant: i64| {
        let sql = format!("insert into public.item values ({tenant}, 1, 'x')");
        app.execute(&sql, &[]).await
    };
    assert_eq!(state(insert(60).await), "SM001", "still another shard's");
    assert_eq!(state(insert(250).await), "SM001", "still another shard's");
    assert_eq!(state(insert(150).await), "SM002", "coming");
    insert(400).await.expect("never given away");
    let refused: serde_json::Value = there
        .query_one("select keys from shardwright.away", &[])
        .await
        .expect("read")
        .get(0);
    let refused: KeySet = serde_json::from_value(refused).expect("keys");
    assert_eq!(
        refused,
        keys(50, 300).minus(&bench.keys),
        "those that come are its own again"
    );
}

#[tokio::test]
async fn everything_that_is_made_on_the_target_is_recorded() {
    let bench = Bench::new("brought_recorded", ITEM).await;
    let source = bench.source.session().await;
    let more = "create type public.mood as enum ('calm'); create table public.beside (id bigint primary key, mood public.mood)";
    source.batch_execute(more).await.expect("made");
    let there = bench.ours(&bench.target).await;
    let none = "drop table public.item";
    there.batch_execute(none).await.expect("dropped");
    let context = preparing(&bench).await;
    assert!(
        steps::prepare_target(&context)
            .await
            .expect("ready")
            .created
    );
    let recorded = there
        .query(
            "select identity from shardwright.created where identity like 'public.%' order by 1",
            &[],
        )
        .await
        .expect("read");
    let recorded: Vec<String> = recorded.iter().map(|row| row.get(0)).collect();
    for object in ["public.beside", "public.item", "public.mood"] {
        assert!(recorded.iter().any(|name| name == object), "{recorded:?}");
    }
    // The error names the entry that failed.
    let taken = "create function public.taken() returns int language sql as 'select 1'";
    source.batch_execute(taken).await.expect("made");
    drop_new(&bench).await;
    there.batch_execute(taken).await.expect("made");
    let refused = steps::prepare_target(&context)
        .await
        .expect_err("it is taken");
    let failure = refused.failure().expect("a failure");
    assert!(
        failure.message.contains("creating FUNCTION public taken()"),
        "{failure:?}"
    );
}
