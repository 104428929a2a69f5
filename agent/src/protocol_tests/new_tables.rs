//! New tables that refer to moving ones, with `ddl: follow`: the agent creates them on the other shard and publishes them.

use std::sync::Arc;

use connect::Connected;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::names::Direction;
use plans::request::Ddl;
use plans::step::StepKind;
use plans::table::{MovingTable, TableKey, TableName};

use super::bench::{Bench, ITEM, code};
use super::ddl::{dispatched, drift, plan, run};
use super::new_partitions::after_flip::held;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog::{self, RetiredPartitions};
use crate::postgres::versions::versions;
use crate::shard::guard;
use crate::steps::definitions::{self, references};

const FORWARD: Direction = Direction::Forward;
const STEP: StepKind = StepKind::CatchUp;
const CLOSED: i64 = i64::MAX;

/// A table by the names of its columns, one that refers to this table, and one that is partitioned.
const NEW: &str = "
    create table public.note (
        owner bigint not null, id bigserial, item bigint, v text default 'none', primary key (owner, id),
        foreign key (owner, item) references public.item (tenant_id, id));
    create index note_v on public.note (v);
    comment on column public.note.v is 'what'; comment on index public.note_v is 'by what';
    comment on table public.note is 'notes';
    grant select on public.note to public;
    insert into public.note (owner, item) select tenant_id, id from public.item;
    create table public.mark (
        owner bigint, id int generated always as identity, note bigint, primary key (owner, id),
        foreign key (owner, note) references public.note);
    alter table public.mark enable row level security;
    create table public.entry (
        tenant bigint, at int, id bigint, item bigint, primary key (tenant, at, id),
        foreign key (tenant, item) references public.item) partition by range (at);
    create table public.entry_0 partition of public.entry for values from (0) to (10);
    create table public.entry_1 partition of public.entry for values from (10) to (20) partition by list (at);
    create table public.entry_1_0 partition of public.entry_1 for values in (11)";

/// A step of a move that can adopt tables.
async fn adopting(bench: &Bench) -> StepContext {
    let mut context = dispatched(bench, STEP).await;
    let dispatch = Arc::make_mut(&mut context.dispatch);
    dispatch.options.ddl = Ddl::Follow;
    let opened = serde_json::json!({ "consistent_point": "0/1" });
    dispatch
        .outputs
        .insert(StepKind::OpenCapture.name().into(), opened);
    definitions::check(&context, STEP)
        .await
        .expect("as planned");
    context
}

async fn guarded(name: &str) -> Bench {
    let bench = Bench::new(name, ITEM).await;
    bench.guard(&bench.source, 0).await;
    bench.guard(&bench.target, CLOSED).await;
    bench.capture(FORWARD).await;
    bench
}

/// Checks the definitions, and lets the plan have the adopted tables. Returns the names of the tables.
async fn adopt(context: &mut StepContext, owner: &Connected) -> Vec<String> {
    let tables = match definitions::check(context, STEP).await {
        Err(StepError::Reshaped { tables, .. }) => tables,
        other => panic!("nothing is adopted: {other:?}"),
    };
    let known = context.planned_tables.len();
    let names = tables[known..].iter().map(|table| table.table.name.clone());
    let names = names.collect();
    let fingerprint = catalog::fingerprint(owner, &tables).await.expect("read");
    plan(context, tables, fingerprint);
    names
}

async fn number(session: &Connected, sql: &str) -> i64 {
    session.query_one(sql, &[]).await.expect(sql).get(0)
}

async fn facts(session: &Connected, tables: &[MovingTable]) -> impl PartialEq + std::fmt::Debug {
    let names: Vec<TableName> = tables.iter().map(|table| table.table.clone()).collect();
    catalog::facts(session, &names, RetiredPartitions::OfOwner(&[]))
        .await
        .expect("read")
}

#[tokio::test]
async fn new_tables_are_created_on_the_target_guarded_and_published() {
    let bench = guarded("newtables").await;
    let mut context = adopting(&bench).await;
    let (app, there) = (
        bench.source.session().await,
        bench.ours(&bench.target).await,
    );
    run(&app, NEW).await;
    let adopted = adopt(&mut context, &app).await;
    assert_eq!(adopted, ["entry_0", "entry_1_0", "mark", "note"]);
    let tables = context.planned_tables.to_vec();
    let keys: Vec<_> = tables.iter().map(|table| table.key_names()).collect();
    assert_eq!(keys[1..], [["tenant"], ["tenant"], ["owner"], ["owner"]]);
    for database in [&bench.source, &bench.target] {
        let session = bench.ours(database).await;
        guard::check(&session, &bench.token.migration, &tables)
            .await
            .expect("guarded");
    }
    assert_eq!(facts(&app, &tables).await, facts(&there, &tables).await);
    let described = "select concat_ws(' ', obj_description('public.note'::regclass), col_description('public.note'::regclass, 4),
            obj_description('public.note_v'::regclass), pg_get_serial_sequence('public.note', 'id'),
            (select relrowsecurity from pg_class where oid = 'public.mark'::regclass))";
    let row = there.query_one(described, &[]).await.expect("described");
    let described: String = row.get(0);
    assert_eq!(described, "notes what by what public.note_id_seq t");
    let shared = "select count(*) from information_schema.table_privileges \
                  where table_name = 'note' and grantee = 'PUBLIC' and privilege_type = 'SELECT'";
    assert_eq!(number(&there, shared).await, 1);
    let published = "select count(*) from pg_publication_tables where tablename in ('note', 'mark', 'entry_0', 'entry_1_0')";
    assert_eq!(number(&app, published).await, 4);
    assert_eq!(number(&there, "select count(*) from public.note").await, 0);
    definitions::check(&context, STEP)
        .await
        .expect("as planned now");

    // The agent follows later changes of the new tables, as those of the others.
    run(&app, "alter table public.note add column later text").await;
    definitions::check(&context, STEP)
        .await
        .expect_err("the plan has the new column afterwards");
    assert_eq!(facts(&app, &tables).await, facts(&there, &tables).await);
}

/// The adoption was interrupted after the table had been created on the other shard, and the application changed it.
#[tokio::test]
async fn a_table_that_changes_before_it_is_adopted_is_followed() {
    let bench = guarded("newchanges").await;
    let mut context = adopting(&bench).await;
    let (app, there) = (
        bench.source.session().await,
        bench.ours(&bench.target).await,
    );
    let note = "create table public.note (owner bigint, id bigint, primary key (owner, id), \
                foreign key (owner, id) references public.item)";
    for session in [&app, &there] {
        run(session, note).await;
    }
    run(
        &app,
        "alter table public.note add column v text default 'more'",
    )
    .await;
    assert_eq!(adopt(&mut context, &app).await, ["note"]);
    let tables = context.planned_tables.to_vec();
    assert_eq!(facts(&app, &tables).await, facts(&there, &tables).await);
}

#[tokio::test]
async fn a_partitioned_table_is_adopted_when_it_has_a_partition() {
    let bench = guarded("newparted").await;
    let mut context = adopting(&bench).await;
    let app = bench.source.session().await;
    run(
        &app,
        "create table public.entry (tenant bigint, id bigint, primary key (tenant, id), \
         foreign key (tenant, id) references public.item) partition by range (id)",
    )
    .await;
    definitions::check(&context, STEP)
        .await
        .expect("it has no rows");
    // Its definition is not followed before.
    run(&app, "alter table public.entry add column v text").await;
    definitions::check(&context, STEP)
        .await
        .expect("it has no rows");
    run(
        &app,
        "create table public.entry_0 partition of public.entry default",
    )
    .await;
    assert_eq!(adopt(&mut context, &app).await, ["entry_0"]);
    definitions::check(&context, STEP)
        .await
        .expect("as planned now");
}

/// Returns the statement that creates a table with these columns and constraints.
fn note(columns: &str) -> String {
    format!(
        "create table public.note (tenant bigint, id bigint, item bigint, {columns}foreign key (tenant, item) references public.item)"
    )
}

/// Returns statements that create tables which cannot move.
fn refused_tables() -> Vec<String> {
    vec![
        // Nothing identifies a row.
        note(""),
        // A cascade would change moving rows on a shard that does not own them.
        note("kind int references public.kind on delete cascade, primary key (tenant, id), "),
        // The rows to which one partition alone refers stay.
        note("log bigint, primary key (tenant, id), ")
            + " partition by range (id); \
            create table public.note_0 partition of public.note default; \
            alter table public.note_0 add foreign key (log) references public.log",
        note("primary key (id), "),
        note("log bigint references public.log, primary key (tenant, id), "),
        note(
            "other bigint, foreign key (other, item) references public.item, primary key (tenant, id), ",
        ),
        note("primary key (tenant, id), ").replace("create table", "create unlogged table"),
        note("v text, primary key (tenant, id), ")
            + "; alter table public.note enable row level security; \
            create function public.own() returns trigger language plpgsql as 'begin return new; end'; \
            create trigger own before insert on public.note for each row execute function public.own(); \
            alter table public.note enable always trigger own",
    ]
}

#[tokio::test]
async fn what_a_plan_would_refuse_is_not_adopted() {
    let bench = guarded("newrefused").await;
    let mut context = adopting(&bench).await;
    let (app, there) = (
        bench.source.session().await,
        bench.ours(&bench.target).await,
    );
    for session in [&app, &there] {
        let others = "create table public.log (id bigint primary key); create table public.kind (id int primary key)";
        run(session, others).await;
    }
    let references = &mut Arc::make_mut(&mut context.dispatch).reference_tables;
    references.insert(TableName::parse("kind"));
    let created = "select count(*) from pg_class where relname = 'note'";
    for sql in refused_tables() {
        run(&app, &sql).await;
        let message = drift(&context).await;
        assert!(message.contains("public.note"), "{sql}: {message}");
        assert_eq!(number(&there, created).await, 0, "{sql}");
        run(&app, "drop table public.note").await;
    }

    // A migration that does not follow changes halts, and so does one whose map excludes the table.
    let sql = note("primary key (tenant, id), ");
    run(&app, &sql).await;
    let mut halts = context.clone();
    Arc::make_mut(&mut halts.dispatch).options.ddl = Ddl::Halt;
    drift(&halts).await;
    let mut excluded = context.clone();
    let ignored = &mut Arc::make_mut(&mut excluded.dispatch).ignored_tables;
    ignored.insert(TableName::parse("note"));
    drift(&excluded).await;
    assert_eq!(number(&there, created).await, 0);

    // The target has moving rows in a table of the same name.
    run(&there, &sql).await;
    run(
        &there,
        "insert into public.item (tenant_id, id) values (60, 1); insert into public.note values (60, 1, 1)",
    )
    .await;
    run(
        &there,
        "set session_replication_role = replica; insert into public.note values (150, 1, 1); reset session_replication_role",
    )
    .await;
    let refused = definitions::check(&context, STEP).await;
    assert_eq!(code(refused), "target.stray");
    run(
        &there,
        "begin; set local shardwright.bypass = 'on'; delete from public.note where tenant = 150; commit",
    )
    .await;
    assert_eq!(adopt(&mut context, &app).await, ["note"]);
    assert_eq!(number(&there, "select count(*) from public.note").await, 1);
}

/// A reference table of the map is no obstacle, although the move does not copy it to a live target.
#[tokio::test]
async fn a_new_table_may_refer_to_a_reference_table() {
    let bench = guarded("newreference").await;
    let mut context = adopting(&bench).await;
    let (app, there) = (
        bench.source.session().await,
        bench.ours(&bench.target).await,
    );
    for session in [&app, &there] {
        run(session, "create table public.kind (id int primary key)").await;
    }
    run(
        &app,
        "create table public.note (tenant bigint, id bigint, kind int references public.kind, primary key (tenant, id), \
         foreign key (tenant, id) references public.item)",
    )
    .await;
    drift(&context).await;
    let references = &mut Arc::make_mut(&mut context.dispatch).reference_tables;
    references.insert(TableName::parse("kind"));
    assert_eq!(adopt(&mut context, &app).await, ["note"]);
}

/// After the flip, the transaction that publishes a table copies its rows.
#[tokio::test]
async fn in_a_hold_the_rows_of_a_new_table_are_copied_when_it_is_published() {
    let (bench, mut context) = held("newheld", CLOSED).await;
    Arc::make_mut(&mut context.dispatch).options.ddl = Ddl::Follow;
    let (owner, source) = (bench.target.session().await, bench.source.session().await);
    definitions::check(&context, StepKind::Hold)
        .await
        .expect("as planned");
    run(
        &owner,
        "create table public.note (tenant bigint, at date, id bigint, v text, primary key (tenant, at, id), \
         foreign key (tenant, at, id) references public.sale); \
         insert into public.sale values (150, '2026-01-05', 70, 'parent'), (50, '2026-01-05', 71, 'parent'); \
         insert into public.note values (150, '2026-01-05', 70, 'child'), (50, '2026-01-05', 71, 'of another key')",
    )
    .await;
    let tables = match definitions::check(&context, StepKind::Hold).await {
        Err(StepError::Reshaped { tables, .. }) => tables,
        other => panic!("nothing is adopted: {other:?}"),
    };
    assert_eq!(
        tables.last().map(|table| table.table.name.as_str()),
        Some("note")
    );
    let read = "select count(*) from public.note where v = 'child'";
    assert_eq!(number(&source, read).await, 1);
    assert_eq!(number(&source, "select count(*) from public.note").await, 1);
    let fingerprint = catalog::fingerprint(&owner, &tables).await.expect("read");
    plan(&mut context, tables, fingerprint);
    definitions::check(&context, StepKind::Hold)
        .await
        .expect("as planned now");
}

/// The last check before the flip reads definitions again only if a catalog row of the moving tables has changed.
#[tokio::test]
async fn an_attempt_ends_if_a_table_that_refers_to_a_moving_one_comes_after_the_gate() {
    let bench = guarded("newingate").await;
    let mut context = adopting(&bench).await;
    let app = bench.source.session().await;
    let ours = bench.ours(&bench.source).await;
    let known = async || versions(&ours, &bench.tables).await.expect("read");
    references::refuse_new(&context, &ours)
        .await
        .expect("no table");
    let before = known().await;
    let keyed = "create table public.note (tenant bigint, id bigint, primary key (tenant, id), \
                 foreign key (tenant, id) references public.item)";
    run(&app, keyed).await;
    assert_ne!(known().await, before);
    let refused = references::refuse_new(&context, &ours).await;
    assert_eq!(code(refused), "schema.changed");
    // After the flip only tables that the migration can adopt are refused.
    let done = Arc::make_mut(&mut context.dispatch);
    done.outputs
        .insert(StepKind::Cutover.name().into(), serde_json::Value::Null);
    let refused = references::refuse_new(&context, &ours).await;
    assert_eq!(code(refused), "schema.changed");
    Arc::make_mut(&mut context.dispatch).options.ddl = Ddl::Halt;
    references::refuse_new(&context, &ours)
        .await
        .expect("it halts nothing in the hold");
}

/// A new table in a moving schema changes no catalog row of the moving tables, so the last check before the flip looks for
/// it in any case.
#[tokio::test]
async fn an_attempt_ends_if_a_table_comes_in_a_moving_schema_after_the_gate() {
    let bench = guarded("newinschema").await;
    let mut context = dispatched(&bench, STEP).await;
    let fingerprint = context.dispatch.schema_fingerprint.clone();
    let whole = |table: &MovingTable| MovingTable {
        key: TableKey::Schema("public".to_owned()),
        ..table.clone()
    };
    let tables = context.planned_tables.iter().map(whole).collect();
    Arc::make_mut(&mut context.dispatch).keys = KeySet::list([Key::Text("public".to_owned())]);
    plan(&mut context, tables, fingerprint);
    let app = bench.source.session().await;
    let ours = bench.ours(&bench.source).await;
    let known = async || versions(&ours, &bench.tables).await.expect("read");
    let refuse = async || references::refuse_new_in_schemas(&context, &ours).await;
    let before = known().await;
    let elsewhere = "create schema other; create table other.note (id int primary key); \
                     create table public.nothing (id int) partition by range (id)";
    run(&app, elsewhere).await;
    refuse().await.expect("no table with rows");
    run(&app, "create table public.note (id int primary key)").await;
    assert_eq!(known().await, before);
    assert_eq!(code(refuse().await), "schema.changed");
}
