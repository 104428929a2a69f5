//! The identity of a database: a session acts only in the database that was registered.

use std::sync::Arc;

use plans::fleet::ShardRef;
use plans::identity::DatabaseIdentity;
use plans::inspection::identify::{Identified, IdentifyTask};
use plans::inspection::sweep::{Sweep, SweepTask};
use plans::inspection::{Inspected, Inspection};
use plans::step::StepKind;
use plans::table::TableName;

use super::bench::{Bench, ITEM, VERSION};
use super::ddl::{dispatched, run};
use super::shard::Shard as Database;
use crate::error::StepError;
use crate::inspect;
use crate::postgres::replication::ReplicationSession;
use crate::shard::database::Shard;
use crate::shard::sidecar_schema;
use crate::steps::drop_old;

const CLOSED: i64 = i64::MAX;

fn code<T>(result: Result<T, StepError>) -> String {
    let error = result.err().expect("refused");
    error.failure().expect("a failure").code.clone()
}

fn reference(database: &Database, identity: Option<DatabaseIdentity>) -> ShardRef {
    ShardRef {
        name: "s".into(),
        number: 1,
        dsn: database.dsn_text(),
        identity,
    }
}

async fn identify(database: &Database, register: bool) -> Identified {
    let task = IdentifyTask {
        shard: reference(database, None),
        register,
        tables: vec![TableName {
            schema: "public".to_owned(),
            name: "item".to_owned(),
        }],
    };
    let answer = inspect::run(&Inspection::Identify(task), &std::env::temp_dir()).await;
    let Ok(Inspected::Identified(found)) = answer else {
        panic!("not identified: {answer:?}");
    };
    found
}

pub(super) async fn registered(database: &Database) -> DatabaseIdentity {
    identify(database, true).await.identity
}

/// Returns a shard for this database that must have the identity `identity`.
fn shard(bench: &Bench, database: &Database, identity: &DatabaseIdentity) -> Shard {
    let reference = reference(database, Some(identity.clone()));
    Shard::new(&reference, &bench.token.migration, bench.token.epoch).expect("a shard")
}

#[tokio::test]
async fn a_database_is_registered_once_and_keeps_its_id() {
    let bench = Bench::new("registers", ITEM).await;
    assert_eq!(identify(&bench.source, false).await.identity.id, None);
    let first = registered(&bench.source).await;
    assert!(first.id.is_some() && first.database.is_some(), "{first}");
    assert_eq!(registered(&bench.source).await, first);
    let other = registered(&bench.target).await;
    assert_eq!(other.system, first.system);
    assert!(other.database != first.database && other.id != first.id);

    // The last migration removes everything in the sidecar schema except the id of the database.
    let ours = bench.ours(&bench.source).await;
    bench.guard(&bench.source, CLOSED).await;
    let drop = crate::shard::guard::drop_all(&ours, &bench.token).await;
    drop.expect("without guards");
    sidecar_schema::remove_migration(&ours, &bench.token)
        .await
        .expect("ended");
    let left = "select pg_catalog.string_agg(relname, ', ') from pg_catalog.pg_class \
        where relnamespace = 'shardwright'::regnamespace and relkind in ('r', 'S')";
    let left: String = ours.query_one(left, &[]).await.expect("read").get(0);
    assert_eq!(left, "database");
    assert_eq!(identify(&bench.source, false).await.identity, first);
    sidecar_schema::create(&ours).await.expect("made anew");
}

#[tokio::test]
async fn a_session_in_any_other_database_is_refused() {
    let bench = Bench::new("elsewhere", ITEM).await;
    let known = registered(&bench.source).await;
    registered(&bench.target).await;
    shard(&bench, &bench.source, &known)
        .session("test")
        .await
        .expect("the registered one");
    let strangers = [
        ("the other shard's", &bench.target, known.clone()),
        (
            "another server's",
            &bench.source,
            DatabaseIdentity {
                system: "1".to_owned(),
                ..known.clone()
            },
        ),
        (
            "the primary that a standby has replaced",
            &bench.source,
            DatabaseIdentity {
                timeline: known.timeline + 1,
                ..known.clone()
            },
        ),
        (
            "a restored dump",
            &bench.source,
            DatabaseIdentity {
                id: Some("00000000-0000-4000-8000-000000000000".to_owned()),
                ..known.clone()
            },
        ),
    ];
    for (what, database, known) in strangers {
        let shard = shard(&bench, database, &known);
        assert_eq!(
            code(shard.session("test").await),
            "shard.other_database",
            "{what}"
        );
        assert_eq!(
            code(shard.replica_session("test").await),
            "shard.other_database",
            "{what}"
        );
        let walsender = ReplicationSession::open(&shard.dsn, "test").await;
        let error = walsender.map(|_| ()).expect_err(what).to_string();
        assert!(
            error.contains("another database answers"),
            "{what}: {error}"
        );
    }
}

#[tokio::test]
async fn on_a_promoted_standby_nothing_of_an_owner_is_deleted_before_it_is_accepted() {
    let bench = Bench::new("promoted", ITEM).await;
    let known = registered(&bench.source).await;
    let before = DatabaseIdentity {
        timeline: known.timeline - 1,
        ..known
    };
    let app = bench.source.session().await;
    run(&app, "insert into public.item values (150, 1, 'moved')").await;
    bench.guard(&bench.source, CLOSED).await;
    let told = format!("update shardwright.move set flipped = {}", VERSION + 1);
    run(&app, &told).await;
    bench.guard(&bench.target, 0).await;
    let mut context = dispatched(&bench, StepKind::DropOld).await;
    let dispatch = Arc::make_mut(&mut context.dispatch);
    dispatch.source.identity = Some(before.clone());
    let acts = shard(&bench, &bench.source, &before).session("test").await;
    acts.expect("a standby that was promoted in its place");
    assert_eq!(code(drop_old::run(&context).await), "shard.other_database");
    let mend = Inspection::Sweep(Box::new(SweepTask {
        shard: reference(&bench.source, Some(before)),
        sweeps: vec![Sweep::ReleasedKeys { map: "m".into() }],
    }));
    let refused = inspect::run(&mend, &std::env::temp_dir())
        .await
        .expect_err("refused");
    assert_eq!(refused.code, "shard.other_database");
}

#[tokio::test]
async fn nothing_is_deleted_where_another_database_answers_within_the_session() {
    let bench = Bench::new("pooled", ITEM).await;
    let known = registered(&bench.source).await;
    let app = bench.source.session().await;
    run(&app, "insert into public.item values (150, 1, 'moved')").await;
    bench.guard(&bench.source, CLOSED).await;
    let told = format!("update shardwright.move set flipped = {}", VERSION + 1);
    run(&app, &told).await;
    let mut context = dispatched(&bench, StepKind::DropOld).await;
    let dispatch = Arc::make_mut(&mut context.dispatch);
    dispatch.source.identity = Some(known);
    // This simulates a pooler that connects to another database from one transaction to the next.
    let source = context.source().expect("a shard");
    let session = source.session("test").await.expect("the right one");
    run(
        &app,
        "update shardwright.database set id = gen_random_uuid()",
    )
    .await;
    let token = context.token_after_flip();
    let done = crate::shard::epoch::execute(&session, &token, "select 1").await;
    let state = done
        .expect_err("refused")
        .code()
        .map(|c| c.code().to_owned());
    assert_eq!(state.as_deref(), Some("SM008"));
    assert_eq!(code(drop_old::run(&context).await), "shard.other_database");
    let left = "select count(*) from public.item";
    let left: i64 = app.query_one(left, &[]).await.expect("read").get(0);
    assert_eq!(left, 1);
}

#[tokio::test]
async fn nothing_is_deleted_where_the_database_is_the_moves_target() {
    let bench = Bench::new("exchanged", ITEM).await;
    let app = bench.target.session().await;
    run(
        &app,
        "insert into public.item values (150, 1, 'the owner''s')",
    )
    .await;
    // This is the state that a recovery would create on the owner if it mistook the owner for the source.
    bench.guard(&bench.target, CLOSED).await;
    let told = format!("update shardwright.move set flipped = {}", VERSION + 1);
    run(&app, &told).await;
    bench.guard(&bench.source, 0).await;
    let mut context = dispatched(&bench, StepKind::DropOld).await;
    let dispatch = Arc::make_mut(&mut context.dispatch);
    std::mem::swap(&mut dispatch.source, &mut dispatch.target);
    // The second time the other database counts as the owner, so that only the deletion itself is refused.
    for owner in ["source", "target"] {
        let role = format!("update shardwright.move set role = '{owner}'");
        run(&bench.source.session().await, &role).await;
        for keeps_keys in [false, true] {
            Arc::make_mut(&mut context.dispatch).source_keeps_keys = keeps_keys;
            assert_eq!(code(drop_old::run(&context).await), "drop.role");
        }
    }
    let left = "select count(*) from public.item";
    let left: i64 = app.query_one(left, &[]).await.expect("read").get(0);
    assert_eq!(left, 1);
}

#[tokio::test]
async fn what_a_role_lacks_for_a_migration_is_told_as_statements() {
    let bench = Bench::new("lacks", ITEM).await;
    assert_eq!(identify(&bench.source, true).await.lacks, [""; 0]);
    let app = bench.source.session().await;
    run(
        &app,
        "create role bare_mover login password 'x'; create role item_owner; alter table public.item owner to item_owner",
    )
    .await;
    let task = IdentifyTask {
        shard: ShardRef {
            dsn: bench.source.dsn_as("bare_mover", "x").expose().to_owned(),
            ..reference(&bench.source, None)
        },
        register: false,
        tables: vec![TableName {
            schema: "public".to_owned(),
            name: "item".to_owned(),
        }],
    };
    let answer = inspect::run(&Inspection::Identify(task), &std::env::temp_dir()).await;
    let Ok(Inspected::Identified(found)) = answer else {
        panic!("not identified: {answer:?}");
    };
    let name = app.query_one("select current_database()::text", &[]).await;
    let database: String = name.expect("read").get(0);
    assert_eq!(
        found.lacks,
        [
            "alter role bare_mover replication".to_owned(),
            format!("grant create on database {database} to bare_mover"),
            "grant item_owner to bare_mover".to_owned(),
            "grant set on parameter session_replication_role to bare_mover".to_owned(),
        ]
    );
}
