//! DDL on the moving tables during a move: the agent detects and reports it. If both shards have the same change, the
//! move continues. With `ddl: refuse` the guard refuses the DDL.

use std::sync::Arc;

use connect::Connected;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use plans::table::MovingTable;

use super::bench::{Bench, ITEM, code, state, tables};
use super::interrupted::again;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::shard::guard::{self, ddl_guard};
use crate::steps::definitions;
use crate::stream::wait_for_failure;

const FORWARD: Direction = Direction::Forward;

/// Returns `step`, dispatched with a plan of the tables as the bench found them.
pub(super) async fn dispatched(bench: &Bench, step: StepKind) -> StepContext {
    let mut context = again(bench, step);
    let session = bench.ours(&bench.source).await;
    let live = TargetCreated {
        created: false,
        ..TargetCreated::default()
    };
    let dispatch = Arc::make_mut(&mut context.dispatch);
    dispatch.outputs.insert(
        StepKind::CreateTarget.name().into(),
        serde_json::to_value(live).expect("json"),
    );
    let fingerprint = catalog::fingerprint(&session, &bench.tables).await;
    plan(
        &mut context,
        bench.tables.to_vec(),
        fingerprint.expect("a fingerprint"),
    );
    context
}

/// Gives the plan of a step these tables. Retired partitions stay in it.
pub(super) fn plan(context: &mut StepContext, tables: Vec<MovingTable>, fingerprint: String) {
    let mut planned = context.planned_tables.to_vec();
    for table in &tables {
        match planned.iter_mut().find(|known| known.table == table.table) {
            Some(known) => table.clone_into(known),
            None => planned.push(table.clone()),
        }
    }
    context.planned_tables = Arc::new(planned);
    let dispatch = Arc::make_mut(&mut context.dispatch);
    (dispatch.tables, dispatch.schema_fingerprint) = (tables, fingerprint);
}

pub(super) async fn run(session: &Connected, sql: &str) {
    session.batch_execute(sql).await.expect(sql);
}

/// Returns the message of the failure of a check of both shards.
pub(super) async fn drift(context: &StepContext) -> String {
    match definitions::check(context, StepKind::CatchUp).await {
        Err(StepError::Failed(failure)) => {
            assert_eq!(failure.code, "schema.drift");
            failure.message
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the current definition of the tables, which is the same on both shards.
async fn reshaped(context: &StepContext) -> (Vec<MovingTable>, String) {
    match definitions::check(context, StepKind::CatchUp).await {
        Err(StepError::Reshaped {
            tables,
            fingerprint,
            ..
        }) => (tables, fingerprint),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_difference_is_told_line_by_line_and_a_change_of_both_sides_is_carried() {
    let bench = Bench::new("drifts", ITEM).await;
    let context = dispatched(&bench, StepKind::CatchUp).await;
    let (here, there) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    definitions::check(&context, StepKind::CatchUp)
        .await
        .expect("as planned");

    run(
        &here,
        "alter table public.item add column note text default 'none'",
    )
    .await;
    run(&here, "create index item_note on public.item (note)").await;
    let message = drift(&context).await;
    for line in [
        "public.item, column note: on shard source place 4 text",
        "on shard target missing",
        "public.item, index item_note: on shard source CREATE INDEX item_note",
    ] {
        assert!(message.contains(line), "{message}");
    }
    run(
        &there,
        "alter table public.item add column note text default 'none'",
    )
    .await;
    let message = drift(&context).await;
    assert!(!message.contains("column note"), "{message}");
    run(&there, "create index item_note on public.item (note)").await;
    let (tables, fingerprint) = reshaped(&context).await;
    let names: Vec<&str> = tables[0].columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["tenant_id", "id", "v", "note"]);

    let mut context = context;
    plan(&mut context, tables, fingerprint);
    definitions::check(&context, StepKind::CatchUp)
        .await
        .expect("the plan follows");
}

/// REINDEX CONCURRENTLY and CREATE INDEX CONCURRENTLY have such an index while they wait for the copy's snapshot.
#[tokio::test]
async fn an_index_that_is_not_valid_yet_is_no_change() {
    let bench = Bench::new("unready", ITEM).await;
    let context = dispatched(&bench, StepKind::CatchUp).await;
    let app = bench.source.session().await;
    run(&app, "create index item_v on public.item (v)").await;
    let valid = |is: bool| {
        format!(
            "update pg_index set indisvalid = {is}, indisready = {is} where indexrelid = 'public.item_v'::regclass"
        )
    };
    run(&app, &valid(false)).await;
    definitions::check(&context, StepKind::CatchUp)
        .await
        .expect("nothing to compare");
    run(&app, &valid(true)).await;
    assert!(drift(&context).await.contains("item_v"));
}

#[tokio::test]
async fn what_captured_rows_cannot_follow_is_refused_on_both_sides_too() {
    for (name, change, words) in [
        (
            "retyped",
            "alter table public.item alter v type varchar(9)",
            "its type changed from text",
        ),
        (
            "renamed",
            "alter table public.item rename v to w",
            "dropped or renamed",
        ),
        (
            "volatile",
            "alter table public.item add at timestamptz default now()",
            "older rows",
        ),
        (
            "computed",
            "alter table public.item add n int generated always as (1) stored",
            "older rows",
        ),
    ] {
        let bench = Bench::new(name, ITEM).await;
        let context = dispatched(&bench, StepKind::CatchUp).await;
        for database in [&bench.source, &bench.target] {
            run(&bench.ours(database).await, change).await;
        }
        let message = drift(&context).await;
        assert!(message.contains(words), "{message}");
    }
}

#[tokio::test]
async fn a_stream_halts_at_a_column_of_one_side_and_goes_on_where_both_have_it() {
    let mut bench = Bench::new("addscolumn", ITEM).await;
    bench.capture(FORWARD).await;
    let (app, there) = (
        bench.source.session().await,
        bench.ours(&bench.target).await,
    );
    let insert = |id: i64| format!("insert into public.item values (100, {id}, 'before')");
    run(&app, &insert(1)).await;
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    stream.stop().await;

    // At this time the stream has three changes to apply: a row of the old definition, one of the new definition, and a
    // change of the old row.
    run(&app, &insert(2)).await;
    run(
        &app,
        "alter table public.item add column note text default 'none'",
    )
    .await;
    run(
        &app,
        "insert into public.item values (100, 3, 'after', 'new')",
    )
    .await;
    run(&app, "update public.item set note = 'changed' where id = 1").await;
    let stream = bench.stream(FORWARD).await;
    let failure = wait_for_failure(stream.subscribe()).await;
    let failure = failure.failure().expect("a failure").clone();
    assert_eq!(failure.code, "schema.drift");
    assert!(
        failure.message.contains("column note"),
        "{}",
        failure.message
    );
    drop(stream);

    run(
        &there,
        "alter table public.item add column note text default 'none'",
    )
    .await;
    bench.tables = Arc::new(tables(&bench.ours(&bench.source).await).await);
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("it goes on from there");
    assert_eq!(bench.assert_equal().await, 3);
}

#[tokio::test]
async fn a_column_that_came_and_went_is_history() {
    let bench = Bench::new("cameandwent", ITEM).await;
    bench.capture(FORWARD).await;
    let app = bench.source.session().await;
    run(&app, "insert into public.item values (100, 1, 'before')").await;
    run(&app, "alter table public.item add column note text").await;
    run(
        &app,
        "insert into public.item values (100, 2, 'between', 'gone')",
    )
    .await;
    run(
        &app,
        "update public.item set v = 'changed', note = 'gone' where id = 1",
    )
    .await;
    run(&app, "alter table public.item drop column note").await;
    run(&app, "insert into public.item values (100, 3, 'after')").await;
    let stream = bench.stream(FORWARD).await;
    bench
        .drain(&stream)
        .await
        .expect("nothing is missing today");
    assert_eq!(bench.assert_equal().await, 3);
}

#[tokio::test]
async fn another_type_halts_the_stream() {
    let bench = Bench::new("retypes", ITEM).await;
    bench.capture(FORWARD).await;
    let app = bench.source.session().await;
    run(&app, "alter table public.item alter v type varchar(9)").await;
    run(&app, "insert into public.item values (100, 1, 'x')").await;
    let stream = bench.stream(FORWARD).await;
    let failure = wait_for_failure(stream.subscribe()).await;
    let message = failure.failure().expect("a failure").message.clone();
    assert!(
        message.contains("column v: on shard s place 3 character varying(9)"),
        "{message}"
    );
}

#[tokio::test]
async fn a_guard_that_was_dropped_is_named_and_put_back_before_the_comparison() {
    let bench = Bench::new("unguarded", ITEM).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, i64::MAX).await;
    let context = dispatched(&bench, StepKind::Verify).await;
    let there = bench.ours(&bench.target).await;
    let id = &bench.token.migration;
    for sql in [
        format!("drop trigger {} on public.item", id.trigger("update")),
        format!(
            "alter table public.item disable trigger {}",
            id.trigger("truncate")
        ),
    ] {
        run(&there, &sql).await;
    }
    let refused = guard::check(&there, id, &bench.tables).await;
    let message = refused.as_ref().expect_err("refused").to_string();
    assert!(
        message.contains(&id.trigger("update")) && message.contains(&id.trigger("truncate")),
        "{message}"
    );
    assert_eq!(code(refused), "guard.changed");
    definitions::check(&context, StepKind::Verify)
        .await
        .expect("put back");
    guard::check(&there, id, &bench.tables)
        .await
        .expect("they stand");
    let app = bench.target.session().await;
    assert_eq!(
        state(app.batch_execute("truncate public.item").await),
        "SM003"
    );
}

/// Returns statements that change the moving table or its guard.
fn changes_of_the_moving_table(bench: &Bench) -> [String; 12] {
    let guard_trigger = bench.token.migration.trigger("insert");
    [
        "alter table public.item add column note text".to_owned(),
        "alter table public.item rename to thing".to_owned(),
        "alter table public.item disable trigger all".to_owned(),
        "create index on public.item (v, id)".to_owned(),
        "alter index public.item_v rename to item_w".to_owned(),
        "drop index public.item_v".to_owned(),
        "drop table public.item".to_owned(),
        format!(
            "drop function shardwright.{}() cascade",
            bench.token.migration.guard_function()
        ),
        format!("drop trigger {guard_trigger} on public.item"),
        "create rule r as on delete to public.item do instead nothing".to_owned(),
        "alter schema public rename to private".to_owned(),
        "truncate public.item".to_owned(),
    ]
}

#[tokio::test]
async fn changes_are_refused_while_the_migration_is_under_way() {
    let bench = Bench::new("refuses", ITEM).await;
    bench.guard(&bench.source, 0).await;
    let (ours, app) = (
        bench.ours(&bench.source).await,
        bench.source.session().await,
    );
    run(
        &app,
        "create index item_v on public.item (v); create table public.other (id int)",
    )
    .await;
    ddl_guard::create(&ours, &bench.token, &bench.tables)
        .await
        .expect("put");
    for change in changes_of_the_moving_table(&bench) {
        let Err(error) = app.batch_execute(&change).await else {
            panic!("{change} passes")
        };
        let code = error.code().map(|code| code.code());
        assert_eq!(code, Some("SM003"), "{change}: {error}");
    }
    let refused = app
        .batch_execute("alter table public.item add column note text")
        .await;
    let message = refused
        .expect_err("refused")
        .as_db_error()
        .expect("from the server")
        .message()
        .to_owned();
    assert!(
        message.contains("ALTER TABLE of public.item is refused while migration refuses"),
        "{message}"
    );
    for other in [
        "alter table public.other add column note text",
        "comment on table public.item is 'x'",
        "reindex index public.item_v",
        "reindex table public.item",
        "create table public.third (id int)",
        "drop table public.third",
    ] {
        run(&app, other).await;
    }
    // Statements of the agent are permitted, and no event trigger remains.
    bench.put_guard(&ours).await;
    guard::drop_all(&ours, &bench.token).await.expect("dropped");
    assert!(
        !ddl_guard::is_enabled(&ours, &bench.token.migration)
            .await
            .expect("read")
    );
    run(&app, "alter table public.item add column note text").await;
}

/// A plan refuses such a foreign key. After the flip the rows of the other table would refer to nothing.
#[tokio::test]
async fn a_table_outside_of_the_move_that_refers_to_a_moving_one_halts_it_before_the_flip() {
    const PARTED: &str = "
        create table public.item (tenant_id bigint, id bigint, v text, primary key (tenant_id, id)) partition by list (tenant_id);
        create table public.item_1 partition of public.item for values in (100);
        create table public.line (tenant_id bigint, id bigint, item bigint, primary key (tenant_id, id),
            foreign key (tenant_id, item) references public.item)";
    for (name, ddl) in [("refers", ITEM), ("refersparted", PARTED)] {
        let bench = Bench::new(name, ddl).await;
        let mut context = dispatched(&bench, StepKind::CatchUp).await;
        definitions::check(&context, StepKind::CatchUp)
            .await
            .expect("as planned");
        let app = bench.source.session().await;
        run(
            &app,
            "create table public.note (tenant_id bigint, item bigint, foreign key (tenant_id, item) references public.item)",
        )
        .await;
        let message = drift(&context).await;
        let line =
            "table public.note refers to public.item by foreign key note_tenant_id_item_fkey";
        assert!(message.contains(line), "{message}");
        let done = Arc::make_mut(&mut context.dispatch);
        done.outputs
            .insert(StepKind::Cutover.name().into(), serde_json::Value::Null);
        assert!(context.has_flipped());
        definitions::check(&context, StepKind::Hold)
            .await
            .expect("the other shard has the rows now");
    }
}
