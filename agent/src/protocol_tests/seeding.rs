//! A standby of the source is promoted and becomes the target. From its first writable moment it refuses every write,
//! and it has each transaction of the source exactly once.

mod endings;
mod failures;
mod hanging;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plans::id::{MapName, StepId};
use plans::key::Key;
use plans::key_set::KeySet;
use plans::names::Direction;
use plans::request::{Options, Seed};
use plans::step::StepKind;
use plans::step::promote::Promoted;
use plans::wire::Dispatch;
use serde_json::{Value, json};

use super::bench::{Bench, ITEM, code, state};
use super::interrupted::after_preflight;
use super::shard::{Shard as Database, until};
use super::spool::Folder;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::guard::clone;
use crate::shard::identity;
use crate::shard::register::Register;
use crate::shard::seed::{self, SeedRecord};
use crate::steps;

const ROWS: &str = "\
    insert into public.item select k, i, 'v' from generate_series(0, 299) k, generate_series(1, 3) i";

/// A move of the keys 100 to 199 to a standby of its source.
struct SeedBench {
    bench: Bench,
    spools: Folder,
    outputs: BTreeMap<StepId, Value>,
}

impl SeedBench {
    async fn new(name: &'static str) -> Self {
        let settings = [("max_prepared_transactions", "10")];
        let source = Database::with_settings(&format!("{name}_s"), &settings).await;
        let app = source.session().await;
        app.batch_execute(ITEM).await.expect("schema");
        app.batch_execute(ROWS).await.expect("rows");
        let keys = KeySet::range(Some(Key::Int(100)), Some(Key::Int(200)));
        let mut bench = Bench::on_source(source.clone(), name, keys).await;
        let ours = bench.ours(&source).await;
        identity::register(&ours).await.expect("registered");
        bench.target = source.standby(name).await;
        let spools = Folder::new(&bench);
        Self {
            bench,
            spools,
            outputs: BTreeMap::new(),
        }
    }

    /// Returns the step of the migration, with the results of the steps before it.
    async fn context(&self, step: StepKind) -> StepContext {
        let mut context = after_preflight(&self.bench, step, &self.spools).await;
        let moving = &self.bench.keys;
        let mut outputs = context.dispatch.outputs.clone();
        outputs.extend(self.outputs.clone());
        context.dispatch = Arc::new(Dispatch {
            options: Options {
                seed: Seed::Standby,
                ..Options::default()
            },
            surplus_keys: Some(KeySet::range(None, None).minus(moving)),
            outputs,
            ..(*context.dispatch).clone()
        });
        context
    }

    /// Executes a step and keeps its result.
    async fn run(&mut self, step: StepKind) -> Result<Value, StepError> {
        let output = steps::run(&self.context(step).await, step).await?;
        let id = StepId::from(step.name());
        self.outputs.insert(id, output.clone());
        Ok(output)
    }

    /// Creates publication, slot and guards on the source, and then promotes the standby.
    async fn promote(&mut self) -> Promoted {
        self.open_capture().await;
        let output = self.run(StepKind::Promote).await.expect("promoted");
        serde_json::from_value(output).expect("a result")
    }

    /// The step `open_capture` records cleanup records, so the test does its work by the same functions.
    async fn open_capture(&mut self) {
        self.guard_source().await;
        let point = self.bench.open_slot(Direction::Forward).await;
        let output = json!({ "consistent_point": point.to_string() });
        let id = StepId::from(StepKind::OpenCapture.name());
        self.outputs.insert(id, output);
    }

    /// Creates the guards of the source.
    async fn guard_source(&self) {
        self.bench.guard(&self.bench.source, 0).await;
        let (ours, map) = (
            self.bench.ours(&self.bench.source).await,
            MapName::from("m"),
        );
        clone::create(&ours, &self.bench.token, &map, &self.bench.tables)
            .await
            .expect("a clone guard");
    }

    /// Binds the source as the step `promote` does.
    async fn bind(&self) -> SeedRecord {
        let context = self.context(StepKind::Promote).await;
        let ours = self.bench.ours(&self.bench.source).await;
        let bound = steps::bind_source(&context, &ours, None).await;
        bound.expect("bound")
    }

    /// Binds the source, and records that the promotion is requested.
    async fn request(&self) -> SeedRecord {
        let record = self.bind().await;
        let ours = self.bench.ours(&self.bench.source).await;
        seed::set_requested(&ours, &self.bench.token, true)
            .await
            .expect("recorded");
        record
    }

    /// Promotes the standby as an operator or a cluster manager does.
    async fn promote_by_hand(&self) {
        let cluster = self.bench.target.cluster.clone();
        tokio::task::spawn_blocking(move || cluster.promote())
            .await
            .expect("joined")
            .expect("promoted");
    }

    async fn register(&self, database: &Database) -> Register {
        let session = database.session().await;
        Register::from_value(self.bench.register(&session).await)
    }
}

/// Writes every key of both shards through one connection string until it is stopped. Returns how many writes succeeded.
async fn write_until(database: Database, stop: Arc<AtomicBool>) -> usize {
    let mut succeeded = 0;
    while !stop.load(Ordering::SeqCst) {
        let session = database.session().await;
        for key in [50, 150, 250] {
            let insert = format!("insert into public.item values ({key}, 1000 + {key}, 'stray')");
            succeeded += usize::from(session.batch_execute(&insert).await.is_ok());
        }
    }
    succeeded
}

#[tokio::test]
async fn a_promoted_standby_has_every_transaction_once_and_never_takes_a_write() {
    let mut seed = SeedBench::new("seeded").await;
    let stop = Arc::new(AtomicBool::new(false));
    let stray = tokio::spawn(write_until(seed.bench.target.clone(), stop.clone()));
    let source = seed.bench.source.clone();
    let end = stop.clone();
    let writer = tokio::spawn(async move {
        let session = source.session().await;
        let mut written = 0;
        while !end.load(Ordering::SeqCst) {
            written += 1;
            let sql = format!("insert into public.item values (150, 10000 + {written}, 'live')");
            session
                .batch_execute(&sql)
                .await
                .expect("the source takes writes");
        }
        written
    });
    let promoted = seed.promote().await;
    assert_eq!(promoted.target.timeline, 2);
    assert_eq!(seed.register(&seed.bench.source).await, Register::Open);
    assert_eq!(seed.register(&seed.bench.target).await, Register::Closed);

    seed.run(StepKind::CatchUp).await.expect("caught up");
    stop.store(true, Ordering::SeqCst);
    let written: i32 = writer.await.expect("written");
    assert_eq!(stray.await.expect("ended"), 0, "the target took no write");
    let stream = seed.context(StepKind::CatchUp).await;
    stream
        .ensure_stream(Direction::Forward)
        .await
        .expect("a stream");
    until("the target is equal", || async {
        let (source, target) = (
            seed.bench.source.session().await,
            seed.bench.target.session().await,
        );
        seed.bench.rows(&source).await == seed.bench.rows(&target).await
    })
    .await;
    stream.session.stop_stream().await;
    assert!(written > 0);
    let target = seed.bench.target.session().await;
    let count = "select count(*) from public.item where tenant_id not between 100 and 199";
    let surplus: i64 = target.query_one(count, &[]).await.expect("counted").get(0);
    assert_eq!(surplus, 600, "the surplus rows stay until they are dropped");
}

#[tokio::test]
async fn an_open_target_refuses_the_keys_that_it_does_not_own() {
    let mut seed = SeedBench::new("seededopen").await;
    seed.promote().await;
    let app = seed.bench.target.session().await;
    let open = format!(
        "select setval('shardwright.{}', 0)",
        seed.bench.token.migration.register()
    );
    app.batch_execute(&open).await.expect("opened");
    let insert = |key: i32| format!("insert into public.item values ({key}, 10, 'new')");
    app.batch_execute(&insert(150)).await.expect("its own key");
    for key in [50, 99, 200, 250] {
        assert_eq!(
            state(app.batch_execute(&insert(key)).await),
            "SM001",
            "{key}"
        );
    }
}

#[tokio::test]
async fn a_prepared_transaction_is_rolled_back_on_the_target_and_arrives_with_the_stream() {
    let mut seed = SeedBench::new("seededprepared").await;
    seed.open_capture().await;
    let app = seed.bench.source.session().await;
    let prepare =
        "begin; insert into public.item values (150, 7, 'prepared'); prepare transaction 'p1'";
    app.batch_execute(prepare).await.expect("prepared");
    let output = seed.run(StepKind::Promote).await.expect("promoted");
    let promoted: Promoted = serde_json::from_value(output).expect("a result");
    assert_eq!(promoted.rolled_back, 1);
    let target = seed.bench.target.session().await;
    let read = "select count(*) from pg_prepared_xacts";
    let left: i64 = target.query_one(read, &[]).await.expect("read").get(0);
    assert_eq!(left, 0);
    app.batch_execute("commit prepared 'p1'")
        .await
        .expect("committed");
    seed.run(StepKind::CatchUp).await.expect("caught up");
    until("the row has arrived", || async {
        let read = "select count(*) from public.item where (tenant_id, id) = (150, 7)";
        target
            .query_one(read, &[])
            .await
            .expect("read")
            .get::<_, i64>(0)
            == 1
    })
    .await;
}

#[tokio::test]
async fn a_standby_that_someone_else_has_promoted_is_refused() {
    let mut seed = SeedBench::new("seededelse").await;
    seed.open_capture().await;
    let standby = seed.bench.target.cluster.clone();
    tokio::task::spawn_blocking(move || standby.promote())
        .await
        .expect("joined")
        .expect("promoted");
    let refused = seed.run(StepKind::Promote).await;
    assert_eq!(code(refused), "seed.promoted");
    assert_eq!(seed.register(&seed.bench.source).await, Register::Open);
}

#[tokio::test]
async fn a_paused_replay_is_refused_and_the_source_is_released() {
    let mut seed = SeedBench::new("seededpaused").await;
    seed.open_capture().await;
    let standby = seed.bench.target.session().await;
    let pause = "select pg_wal_replay_pause()";
    standby.batch_execute(pause).await.expect("paused");
    until("the replay is paused", || async {
        let read = "select pg_get_wal_replay_pause_state() = 'paused'";
        standby.query_one(read, &[]).await.expect("read").get(0)
    })
    .await;
    let refused = seed.run(StepKind::Promote).await;
    assert_eq!(code(refused), "seed.paused");
    assert_eq!(seed.register(&seed.bench.source).await, Register::Open);
    let resume = "select pg_wal_replay_resume()";
    standby.batch_execute(resume).await.expect("resumed");
    seed.run(StepKind::Promote).await.expect("promoted");
}

#[tokio::test]
async fn a_bound_source_takes_writes_and_its_promoted_copy_refuses_all_keys() {
    let seed = SeedBench::new("seededbound").await;
    seed.guard_source().await;
    seed.bind().await;
    let app = seed.bench.source.session().await;
    for key in [50, 150] {
        let insert = format!("insert into public.item values ({key}, 9, 'on the source')");
        app.batch_execute(&insert)
            .await
            .expect("the source is open");
    }
    let standby = seed.bench.target.session().await;
    until("the standby has the rows", || async {
        let read = "select count(*) from public.item where id = 9";
        standby
            .query_one(read, &[])
            .await
            .expect("read")
            .get::<_, i64>(0)
            == 2
    })
    .await;
    seed.promote_by_hand().await;
    for key in [50, 150] {
        let insert = format!("insert into public.item values ({key}, 10, 'on the copy')");
        assert_eq!(state(standby.batch_execute(&insert).await), "SM002");
    }
}
